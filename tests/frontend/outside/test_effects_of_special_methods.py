"""Operations that run special methods of objects, which change what is read afterwards.

srcad leaves ``len(counter)`` to the class of the counter.  A global or an attribute that its method
changes is not known afterwards: reading it is refused, in a loop also earlier in the text.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from srcad import grad
from srcad.errors import MutationError

SETTINGS = SimpleNamespace(scale=2.0, other=0.0)


class Changing:
    """An object whose methods double the scale."""

    def _count(self, answer):
        SETTINGS.scale = 2.0 * SETTINGS.scale
        return answer

    def __len__(self):
        return self._count(3)

    def __bool__(self):
        return self._count(True)

    def __str__(self):
        return self._count("it")

    def __format__(self, options):
        return self._count("it")

    def __eq__(self, other):
        return self._count(True)

    def __hash__(self):
        return self._count(3)

    def __lt__(self, other):
        return self._count(True)

    def __contains__(self, item):
        return self._count(True)

    def __getitem__(self, key):
        return self._count(1.0)

    def __float__(self):
        return self._count(1.0)

    def __index__(self):
        return self._count(1)

    def __add__(self, other):
        return self._count(other)

    def __neg__(self):
        return self._count(1.0)

    def __abs__(self):
        return self._count(1.0)

    def __round__(self, digits=None):
        return self._count(1)

    def __array__(self, dtype=None, copy=None):
        return self._count(np.ones(2))


class Quiet:
    """An object whose methods change what nobody reads."""

    def __len__(self):
        SETTINGS.other += 1.0
        return 3

    def __str__(self):
        return "it"

    def __setitem__(self, key, value):
        SETTINGS.scale = value


CHANGING, QUIET = Changing(), Quiet()
FORMAT = "%s"


def while_true(c):
    while c:
        break


def double(entry):
    SETTINGS.scale = 2.0 * SETTINGS.scale
    return entry


SPACE = {"SETTINGS": SETTINGS}
exec("def without_text():\n    SETTINGS.scale = 2.0 * SETTINGS.scale\n", SPACE)
exec("def by_name():\n    setattr(SETTINGS, 'scale', 2.0 * SETTINGS.scale)\n", SPACE)
without_text, by_name = SPACE["without_text"], SPACE["by_name"]

OPERATIONS = {
    "len": lambda c: len(c),
    "bool": lambda c: bool(c),
    "not": lambda c: not c,
    "condition": lambda c: 1 if c else 2,
    "str": lambda c: str(c),
    "format": lambda c: f"{c}",
    "while": while_true,
    "percent": lambda c: "%s" % c,  # noqa: UP031
    "percent of a global": lambda c: FORMAT % c,
    "method format": lambda c: "{}".format(c),  # noqa: UP032
    "equal": lambda c: c == 3,
    "hash": lambda c: hash(c),
    "less": lambda c: c < 3,
    "in": lambda c: 3 in c,
    "item": lambda c: c[2],
    "float": lambda c: float(c),
    "index": lambda c: [1, 2, 3][c],
    "range": lambda c: range(c),
    "add": lambda c: c + 1.0,
    "negative": lambda c: -c,
    "abs": lambda c: abs(c),
    "round": lambda c: round(c),
    "array": lambda c: np.asarray(c),
    "sum": lambda c: np.sum(c),
    "key of a dict": lambda c: {c: 1},
    "set": lambda c: {c},
    "any": lambda c: any([c]),
    "max": lambda c: max(c, c),
    "sorted": lambda c: sorted([c, c]),
    "isin": lambda c: np.isin(c, [1]),
    "vectorize": lambda c: np.vectorize(double)(np.arange(2)),
    "without text": lambda c: without_text(),
    "by name": lambda c: by_name(),
}


@pytest.fixture(autouse=True)
def settings():
    SETTINGS.scale, SETTINGS.other = 2.0, 0.0


def assert_right_or_refused(compute, expected):
    """Check a derivative; it may be refused, unless the method itself is interpreted."""
    try:
        found = compute()
    except MutationError as refused:
        found, expected = "cannot tell what the call of" in str(refused), True
    assert found == expected


def read_afterwards(operation):
    def f(x):
        a = x * SETTINGS.scale
        operation(CHANGING)
        return a + x * SETTINGS.scale

    return f


def read_in_loop(operation, given=CHANGING):
    def f(x):
        s = 0.0
        for _ in range(3):
            s = s + x * SETTINGS.scale
            operation(given)
        return s

    return f


@pytest.mark.parametrize("program", [read_afterwards, read_in_loop])
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_a_special_method_changes_is_not_read_afterwards(name, program):
    f = program(OPERATIONS[name])
    value = f(1.0)
    SETTINGS.scale = 2.0

    assert_right_or_refused(lambda: grad(f)(1.0), value)


@pytest.mark.parametrize("name", ["len", "float", "condition", "while", "format"])
def test_what_a_method_of_an_argument_changes_is_not_read_afterwards(name):
    operation = OPERATIONS[name]

    def f(x, c):
        operation(c)
        return x * SETTINGS.scale

    assert_right_or_refused(lambda: grad(f)(1.0, CHANGING), 4.0)


@pytest.mark.parametrize("operation", [len, str, lambda c: f"{c}", lambda c: c is None, id, type])
def test_methods_that_change_something_else_do_not_count(operation):
    assert grad(read_in_loop(operation, QUIET))(1.0) == 6.0


def called_in_no_test(c):
    if double:
        return not double
    return double == 3


@pytest.mark.parametrize(
    "operation",
    [lambda c: c is None, lambda c: isinstance(c, int), type, callable, called_in_no_test],
)
def test_operations_that_run_no_method_do_not_count(operation):
    def f(x):
        operation(CHANGING)
        return x * SETTINGS.scale

    assert grad(f)(1.0) == 2.0
