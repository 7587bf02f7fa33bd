"""Frozen distributions of `scipy.stats`, written in Python: the front end interprets them."""

from srcad.frontend.prelude.containers import LibraryObject

# mypy: ignore-errors


class Frozen(LibraryObject):
    """A distribution and the parameters that each of its methods is called with."""

    described = "a frozen distribution"

    def __init__(self, dist, args, kwds):
        self.dist = dist
        self.args = args
        self.kwds = kwds

    def pdf(self, x):
        return self.dist.pdf(x, *self.args, **self.kwds)

    def logpdf(self, x):
        return self.dist.logpdf(x, *self.args, **self.kwds)

    def pmf(self, k):
        return self.dist.pmf(k, *self.args, **self.kwds)

    def logpmf(self, k):
        return self.dist.logpmf(k, *self.args, **self.kwds)

    def cdf(self, x):
        return self.dist.cdf(x, *self.args, **self.kwds)

    def logcdf(self, x):
        return self.dist.logcdf(x, *self.args, **self.kwds)

    def sf(self, x):
        return self.dist.sf(x, *self.args, **self.kwds)

    def logsf(self, x):
        return self.dist.logsf(x, *self.args, **self.kwds)

    def ppf(self, q):
        return self.dist.ppf(q, *self.args, **self.kwds)

    def isf(self, q):
        return self.dist.isf(q, *self.args, **self.kwds)

    def mean(self):
        return self.dist.mean(*self.args, **self.kwds)

    def median(self):
        return self.dist.median(*self.args, **self.kwds)

    def var(self):
        return self.dist.var(*self.args, **self.kwds)

    def std(self):
        return self.dist.std(*self.args, **self.kwds)

    def entropy(self):
        return self.dist.entropy(*self.args, **self.kwds)

    def support(self):
        return self.dist.support(*self.args, **self.kwds)

    def interval(self, confidence=None):
        return self.dist.interval(confidence, *self.args, **self.kwds)

    def rvs(self, size=None, random_state=None):
        kwds = {**self.kwds, "size": size, "random_state": random_state}
        return self.dist.rvs(*self.args, **kwds)
