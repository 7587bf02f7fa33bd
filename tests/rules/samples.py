"""Sample calls for every differentiable row, ``(target, args, kwargs)``, as the rows tell them.

Points lie in the interior: no ties, no kinks.  All float leaves of a call are differentiated.

A row that gives the bounds of an interval is called with arrays, or numbers, from it.  A row that
gives a function is asked for its calls: its first parameter `f` notes a call, and the others name
what it is given, the entries of `VOCABULARY`.
"""

import types
import warnings
import zlib

import numpy as np
import scipy
from scipy import linalg, stats

import srcad.rules.bases
import srcad.rules.scipy.fourier
import srcad.rules.scipy.integrate
import srcad.rules.scipy.linalg
import srcad.rules.scipy.multivariate
import srcad.rules.scipy.optimize
import srcad.rules.scipy.rotations
import srcad.rules.scipy.spatial
import srcad.rules.scipy.special
import srcad.rules.scipy.stats  # noqa: F401 - its rows, too
from srcad import rules
from srcad.startup.identifiers import label, module_of

# Their rules have symmetric cotangents of square matrices.
_GAUSSIAN = (
    stats.multivariate_normal, stats.multivariate_t, stats.matrix_normal, stats.wishart,
    stats.invwishart,
)  # fmt: skip
SYMMETRISED = {
    np.linalg.cholesky, linalg.cholesky, linalg.cho_factor,
    *(d.logpdf for d in _GAUSSIAN), *(d.pdf for d in _GAUSSIAN),
    stats.multivariate_normal.entropy, linalg.solve_continuous_are, linalg.solve_discrete_are,
}  # fmt: skip


class Vocabulary:
    """What samples may name; the numbers of a row are its own, whatever rows there are besides."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def near(self, low, high, *shape):
        """Distinct numbers between two bounds, in random order, away from each other."""
        count = int(np.prod(shape))
        noise = self._rng.uniform(-0.1, 0.1, count) / (count + 1)
        grid = np.linspace(low, high, count + 2)[1:-1] + noise
        return self._rng.permutation(grid).reshape(shape)

    def array(self, *shape):
        """Numbers between -2 and 2."""
        return self.near(-2.0, 2.0, *shape)

    def square(self, n):
        """A matrix that can be inverted."""
        return self.array(n, n) + 3 * np.eye(n)

    def spd(self, *shape):
        """Symmetric positive definite matrices."""
        a = self.array(*shape)
        return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])

    def named(self, name):
        """An entry: two vectors, a matrix and a tensor, two masks, or what makes others."""
        shapes = {"v": (4,), "w": (3,), "m": (3, 4), "t": (2, 3, 4)}
        masks = {"mask": MASK, "where": WHERE}
        if name in shapes:
            return self.array(*shapes[name])
        return masks[name] if name in masks else getattr(self, name)


# The lowest versions of pyproject.toml lack options that some samples have.
IS_OLD = np.lib.NumpyVersion(np.__version__) < "2.4.0" or (
    np.lib.NumpyVersion(scipy.__version__) < "1.17.0"
)
MASK = np.array([True, False, True, True])
WHERE = np.array([[True, False, True, True], [False, True, True, True], [True, True, False, True]])


def seed_of(target):
    """A number for a function, the same in every process."""
    return zlib.crc32(name_of(target).encode())


def name_of(target):
    """The name of a function, distinct from those of methods and of srcad's own helpers."""
    module = module_of(target)
    if isinstance(target, types.MethodType):
        return rules.registry.qualified_name(target)
    if module.startswith("srcad."):
        return f"srcad.{label(target)}"
    path = None if module or isinstance(target, np.ufunc) else getattr(target, "__qualname__", None)
    return path if type(path) is str else label(target)


def told(function, target):
    """What a function of sample arrays returns."""
    words = Vocabulary(seed_of(target))
    names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    return function(lambda *args, **kwargs: (target, args, kwargs), *map(words.named, names))


def is_on_numbers(target):
    """Whether a function takes Python numbers only."""
    return getattr(target, "__module__", None) == "math"


def between(row):
    """Calls with operands from an interval."""
    low, high = row.samples
    near = Vocabulary(seed_of(row.target)).near
    count = len(row.parameters)
    if is_on_numbers(row.target):
        return [(row.target, tuple(float(x) for x in near(low, high, count)), {})]
    if count == 1:
        return [(row.target, (near(low, high, 3, 4),), {})]
    column, number = near(low, high, 3, 1), float(near(low, high, 1)[0])
    return [
        (row.target, (near(low, high, 4), near(low, high, 3, 4)), {}),
        (row.target, (column, number), {}),
    ]


def is_accepted(call):
    """Return True if the installed SciPy and NumPy compute a call; older ones lack some options."""
    target, args, kwargs = call
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target(*args, **kwargs)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return False
    return True


def calls_of(row):
    """The sample calls of a row."""
    if callable(row.samples):
        calls = told(row.samples, row.target)
        return [call for call in calls if is_accepted(call)] if IS_OLD else calls
    return between(row) if row.samples else []


ROWS = [row for row in rules.rows() if row.shipped and row.kind != "nondifferentiable"]
CALLS = [call for row in ROWS for call in calls_of(row) if row.target not in SYMMETRISED]
SYMMETRIC = [call for row in ROWS for call in calls_of(row) if row.target in SYMMETRISED]


def numbered(calls):
    """Calls by names: that of the function, and the number of the call among those of its row."""
    counts, found = {}, {}
    for call in calls:
        name = rules.registry.qualified_name(call[0]) or name_of(call[0])
        counts[name] = counts.get(name, -1) + 1
        found[f"{name} {counts[name]}"] = call
    return found


# The elementwise functions of arrays of one argument, and of two, with their intervals.
_OF_ARRAYS = [row for row in ROWS if isinstance(row.samples, tuple) and row.samples
              and not is_on_numbers(row.target)]  # fmt: skip
UNARY = {row.target: row.samples for row in _OF_ARRAYS if len(row.parameters) == 1}
BINARY = {row.target: row.samples for row in _OF_ARRAYS if len(row.parameters) == 2}
