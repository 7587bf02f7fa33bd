"""Polynomial objects of NumPy, written in Python: the front end interprets them.

NumPy cuts coefficients that are 0 off the results of arithmetic. A derivative flows through these,
too, so an object keeps all of them, and `coef` is cut where it is read.
"""

import functools
import numbers
import sys

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial
from numpy.polynomial._polybase import ABCPolyBase

from srcad.frontend.prelude.containers import LibraryObject
from srcad.rules.bases import padded_power, padded_product

# mypy: ignore-errors


def stood_in(value):
    """Return the stand-in of a polynomial that exists before the call; anything else as it is."""
    return value


def as_coefficients(coef):
    """Return an array with one axis."""
    c = np.atleast_1d(coef)
    if c.ndim != 1:
        raise ValueError("Coefficient array is not 1-d")
    return c


def mapparms(old, new):
    """Return offset and scale of the linear map from one domain to another."""
    oldlen = old[1] - old[0]
    newlen = new[1] - new[0]
    return (old[1] * new[0] - old[0] * new[1]) / oldlen, newlen / oldlen


def mapdomain(x, old, new):
    """Apply the linear map from one domain to another."""
    off, scl = mapparms(old, new)
    return off + scl * (np.asarray(x) if isinstance(x, (list, tuple)) else x)


def total(a, b):
    """Add coefficients from the lowest degree up."""
    return np.polyadd(a[::-1], b[::-1])[::-1]


def made_like(series, full, kept):
    """Return a polynomial with the same basis, domain and window."""


class Native:
    """A method of stand-ins that generated code runs as it stands, and that is not interpreted."""

    def __init__(self, method):
        self.method = method

    def __get__(self, series, cls=None):
        return functools.partial(self.method, series)


# How many coefficients are kept behind the last one that is not 0, and that one.
CUT = 1
ALL = sys.maxsize


def series_of(cls, full, domain, window, symbol, kept):
    """Return a polynomial as NumPy has it, from the fields of its stand-in."""
    coef = full if kept == ALL else full[: np.max(np.nonzero(full)[0], initial=0) + kept]
    return cls(coef, domain, window, symbol)


def poly1d_of(cls, full, variable):
    """Return a `numpy.poly1d` from the fields of its stand-in."""
    return cls(full, variable=variable)


def of_numpy(p):
    """Return the object of NumPy that a stand-in stands for."""
    return p.original(p.stands_for, *vars(p).values())


class Series(LibraryObject):
    """A polynomial in one of the bases of `numpy.polynomial`."""

    described = "a polynomial"
    __hash__ = None
    __array_ufunc__ = None
    original = staticmethod(series_of)
    __repr__ = Native(lambda p: repr(of_numpy(p)))
    __str__ = Native(lambda p: str(of_numpy(p)))

    def __init__(self, coef, domain=None, window=None, symbol="x"):
        self.full = as_coefficients(coef)
        self.domain = self.stands_for.domain if domain is None else as_coefficients(domain)
        self.window = self.stands_for.window if window is None else as_coefficients(window)
        self.symbol = symbol
        self.kept = ALL

    @property
    def coef(self):
        if self.kept == ALL:
            return self.full
        return self.full[: np.max(np.nonzero(self.full)[0], initial=0) + self.kept]

    def coefficients_of(self, value):
        other = stood_in(value)
        if not isinstance(other, ABCPolyBase):
            return as_coefficients(other)
        if type(other) is not type(self):
            raise TypeError("Polynomial types differ")
        if not np.all(self.domain == other.domain):
            raise TypeError("Domains differ")
        if not np.all(self.window == other.window):
            raise TypeError("Windows differ")
        return other.full

    def __call__(self, arg):
        return self.value_at(mapdomain(arg, self.domain, self.window), self.full)

    def __iter__(self):
        return iter(self.coef)

    def at_once(self):
        return self.coef

    def __len__(self):
        return len(self.coef)

    def __neg__(self):
        return made_like(self, -self.full, self.kept)

    def __pos__(self):
        return self

    def __eq__(self, other):
        other = stood_in(other)
        if not isinstance(other, ABCPolyBase) or type(other) is not type(self):
            return False
        if self.symbol != other.symbol or len(self) != len(other):
            return False
        alike = np.all(self.domain == other.domain) and np.all(self.window == other.window)
        return alike and np.all(self.coef == other.coef)

    def __ne__(self, other):
        return not (self == other)

    def __add__(self, other):
        return made_like(self, total(self.full, self.coefficients_of(other)), CUT)

    def __radd__(self, other):
        return made_like(self, total(self.coefficients_of(other), self.full), CUT)

    def __sub__(self, other):
        return made_like(self, total(self.full, -self.coefficients_of(other)), CUT)

    def __rsub__(self, other):
        return made_like(self, total(self.coefficients_of(other), -self.full), CUT)

    def __mul__(self, other):
        return made_like(
            self, padded_product(self.basis, self.full, self.coefficients_of(other)), CUT
        )

    def __rmul__(self, other):
        return made_like(
            self, padded_product(self.basis, self.coefficients_of(other), self.full), CUT
        )

    def __truediv__(self, other):
        if not isinstance(other, numbers.Number) or isinstance(other, bool):
            raise TypeError("unsupported types for true division of a polynomial")
        if other == 0:
            raise ZeroDivisionError
        return made_like(self, self.full / other, CUT)

    def __pow__(self, other):
        return made_like(self, padded_power(self.basis, self.full, other), CUT)

    def copy(self):
        return made_like(self, self.full, self.kept)

    def degree(self):
        return len(self.coef) - 1

    def truncate(self, size):
        return made_like(self, self.coef[:size], ALL)

    def cutdeg(self, deg):
        return self.truncate(deg + 1)

    def trim(self, tol=0):
        if tol == 0:
            return made_like(self, self.full, CUT)
        places = np.nonzero(np.abs(self.full) > tol)[0]
        kept = self.full[: np.max(places, initial=0) + 1]
        return made_like(self, kept if len(places) > 0 else 0 * kept, ALL)

    def mapparms(self):
        return mapparms(self.domain, self.window)

    def integ(self, m=1, k=[], lbnd=None):  # noqa: B006 - the signature of NumPy's
        off, scl = mapparms(self.domain, self.window)
        lower = 0 if lbnd is None else off + scl * lbnd
        return made_like(self, self.integral_of(self.full, m, k, lower, 1.0 / scl), self.kept)

    def deriv(self, m=1):
        _, scl = mapparms(self.domain, self.window)
        return made_like(self, self.derivative_of(self.full, m, scl), self.kept)

    def roots(self):
        return mapdomain(self.roots_of(self.full), self.window, self.domain)

    def linspace(self, n=100, domain=None):
        ends = self.domain if domain is None else domain
        x = np.linspace(ends[0], ends[1], n)
        return x, self(x)


class Polynomial(Series):
    """Powers."""

    stands_for = np.polynomial.Polynomial
    basis = "polynomial"
    value_at = staticmethod(polynomial.polyval)
    derivative_of = staticmethod(polynomial.polyder)
    integral_of = staticmethod(polynomial.polyint)
    roots_of = staticmethod(polynomial.polyroots)


class Chebyshev(Series):
    """Chebyshev polynomials."""

    stands_for = np.polynomial.Chebyshev
    basis = "chebyshev"
    value_at = staticmethod(chebyshev.chebval)
    derivative_of = staticmethod(chebyshev.chebder)
    integral_of = staticmethod(chebyshev.chebint)
    roots_of = staticmethod(chebyshev.chebroots)


class Legendre(Series):
    """Legendre polynomials."""

    stands_for = np.polynomial.Legendre
    basis = "legendre"
    value_at = staticmethod(legendre.legval)
    derivative_of = staticmethod(legendre.legder)
    integral_of = staticmethod(legendre.legint)
    roots_of = staticmethod(legendre.legroots)


class Hermite(Series):
    """Hermite polynomials of physicists."""

    stands_for = np.polynomial.Hermite
    basis = "hermite"
    value_at = staticmethod(hermite.hermval)
    derivative_of = staticmethod(hermite.hermder)
    integral_of = staticmethod(hermite.hermint)
    roots_of = staticmethod(hermite.hermroots)


class HermiteE(Series):
    """Hermite polynomials of probability."""

    stands_for = np.polynomial.HermiteE
    basis = "hermite_e"
    value_at = staticmethod(hermite_e.hermeval)
    derivative_of = staticmethod(hermite_e.hermeder)
    integral_of = staticmethod(hermite_e.hermeint)
    roots_of = staticmethod(hermite_e.hermeroots)


class Laguerre(Series):
    """Laguerre polynomials."""

    stands_for = np.polynomial.Laguerre
    basis = "laguerre"
    value_at = staticmethod(laguerre.lagval)
    derivative_of = staticmethod(laguerre.lagder)
    integral_of = staticmethod(laguerre.lagint)
    roots_of = staticmethod(laguerre.lagroots)


def highest_first(value):
    """Return the coefficients of what stands beside a `Poly1d`."""
    other = stood_in(value)
    return other.full if isinstance(other, np.poly1d) else np.atleast_1d(other)


def is_number(value):
    """Return True if a polynomial is multiplied by a number."""
    return not isinstance(stood_in(value), np.poly1d) and np.ndim(value) == 0


class Poly1d(LibraryObject):
    """`numpy.poly1d`: powers, coefficients from the highest degree down."""

    stands_for = np.poly1d
    described = "a polynomial"
    __hash__ = None
    original = staticmethod(poly1d_of)
    __repr__ = Native(lambda p: repr(of_numpy(p)))
    __str__ = Native(lambda p: str(of_numpy(p)))

    def __init__(self, c_or_r, r=False, variable=None):
        self.full = np.poly(c_or_r) if r else highest_first(c_or_r)
        if self.full.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self.variable = "x" if variable is None else variable

    @property
    def coeffs(self):
        count = self.full.size
        used = np.max(count - np.nonzero(self.full)[0], initial=1)
        return self.full[count - used :]

    @property
    def c(self):
        return self.coeffs

    @property
    def coef(self):
        return self.coeffs

    @property
    def coefficients(self):
        return self.coeffs

    @property
    def order(self):
        return len(self.coeffs) - 1

    @property
    def o(self):
        return len(self.coeffs) - 1

    @property
    def roots(self):
        return np.roots(self.full)

    @property
    def r(self):
        return np.roots(self.full)

    def __len__(self):
        return len(self.coeffs) - 1

    def __iter__(self):
        return iter(self.coeffs)

    def at_once(self):
        return self.coeffs

    def __call__(self, val):
        return np.polyval(self.full, val)

    def __getitem__(self, val):
        if val >= self.full.size or val < 0:
            return 0 * self.full[0]
        return self.full[self.full.size - 1 - val]

    def __eq__(self, other):
        other = stood_in(other)
        if not isinstance(other, np.poly1d):
            return NotImplemented
        if len(self) != len(other):
            return False
        return np.all(self.coeffs == other.coeffs)

    def __ne__(self, other):
        if not isinstance(stood_in(other), np.poly1d):
            return NotImplemented
        return not (self == other)

    def __neg__(self):
        return Poly1d(-self.full)

    def __pos__(self):
        return self

    def __mul__(self, other):
        if is_number(other):
            return Poly1d(self.full * other)
        return Poly1d(padded_product("poly1d", self.full, highest_first(other)))

    def __rmul__(self, other):
        if is_number(other):
            return Poly1d(other * self.full)
        return Poly1d(padded_product("poly1d", self.full, highest_first(other)))

    def __add__(self, other):
        return Poly1d(np.polyadd(self.full, highest_first(other)))

    def __radd__(self, other):
        return Poly1d(np.polyadd(self.full, highest_first(other)))

    def __sub__(self, other):
        return Poly1d(np.polysub(self.full, highest_first(other)))

    def __rsub__(self, other):
        return Poly1d(np.polysub(highest_first(other), self.full))

    def __pow__(self, val):
        return Poly1d(padded_power("poly1d", self.full, val))

    def __truediv__(self, other):
        if not is_number(other):
            return np.polydiv(self.full, highest_first(other))
        return Poly1d(self.full / other)

    def integ(self, m=1, k=0):
        return Poly1d(np.polyint(self.full, m, k))

    def deriv(self, m=1):
        return Poly1d(np.polyder(self.full, m))


SERIES = (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)
