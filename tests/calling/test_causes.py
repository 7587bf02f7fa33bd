"""The warning of a function that is compiled again and again."""

import warnings

import numpy as np
import pytest

import srcad
from srcad.errors import RecompilationWarning

X = np.array([0.4, 0.9, 1.3])


def warned(f, calls):
    """Return the messages of all warnings of these calls."""
    g = srcad.grad(f)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for args in calls:
            g(X, *args)
    assert all(w.category is RecompilationWarning for w in found)
    return [str(w.message) for w in found]


def compared(x, label, mode="a"):
    return np.sum(x) if mode == "b" else np.sum(x * x)


def test_warning_names_the_string_that_decides():
    (message,) = warned(compared, [(f"run {k}", f"mode {k}") for k in range(40)])

    assert message.startswith(
        "'compared' was compiled 17 times, 16 of them for another 'mode' "
        "(the last time it is 'mode 16' instead of 'mode 15')."
    )
    assert "label" not in message


def test_sixteen_values_give_no_warning():
    def f(x, mode):
        return np.sum(x) if mode == "b" else np.sum(x * x)

    assert warned(f, [(f"mode {k}",) for k in range(16)]) == []


def subscripts():
    return [f"{a},{b}->" for a in "abcd" for b in "efghi"]


@pytest.mark.parametrize(
    ("f", "calls", "name"),
    [
        (
            lambda x, spec: np.sum(np.einsum(spec, x, x) ** 2),
            [(spec,) for spec in subscripts()],
            "'spec'",
        ),
        (
            lambda x, options: np.sum(x) if options["name"] == "b" else np.sum(x * x),
            [({"name": f"run {k}"},) for k in range(20)],
            "\"options['name']\"",
        ),
        (
            lambda x, factors: np.sum(x * factors[0]),
            [((1.0,) * k,) for k in range(1, 20)],
            "'factors'",
        ),
    ],
    ids=["einsum", "item", "tuple"],
)
def test_warning_names_the_argument(f, calls, name):
    (message,) = warned(f, calls)

    assert f"16 of them for another {name}" in message


def test_reason_names_an_integer_that_decides():
    matrix = np.array([[2.0, 0.3], [0.1, 1.5]])
    g = srcad.grad(lambda a, n: np.linalg.norm(a, n))

    g(matrix, 1)
    g(matrix, 2)

    assert g.cache_info().reasons[-1] == "'n' is 2 instead of 1"


def test_reason_names_lengths():
    g = srcad.grad(lambda x, y: np.sum(x * y))

    g(X, X)
    g(X, X[:1])

    assert g.cache_info().reasons[-1] == "'y' is an array of other lengths"


def test_warning_names_a_global(monkeypatch):
    def f(x):
        return np.sum(x) if MODE == "b" else np.sum(x * x)

    g = srcad.grad(f)
    for k in range(16):
        monkeypatch.setitem(globals(), "MODE", f"mode {k}")
        g(X)
    monkeypatch.setitem(globals(), "MODE", "last")

    with pytest.warns(RecompilationWarning, match="16 of them for another 'MODE'"):
        g(X)


MODE = "a"


def test_call_that_warns_is_compiled_where_warnings_are_errors():
    def f(x, mode):
        return np.sum(x) if mode == "b" else np.sum(x * x)

    g = srcad.grad(f)
    for k in range(16):
        g(X, f"mode {k}")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RecompilationWarning):
            g(X, "last")
    np.testing.assert_array_equal(g(X, "last"), 2 * X)
    np.testing.assert_array_equal(g(X, "another"), 2 * X)


def test_pattern_shows_strings_whose_values_decide():
    g = srcad.grad(lambda x, mode, label: np.sum(x) if mode == "a" else np.sum(x * x))

    g(X, "a", "first")
    g(X, "b", "second")

    assert g.cache_info().patterns[-1] == "x: float64[x_0], mode: =b, label: str"
    assert g.cache_info().reasons[-1] == "'mode' is 'b' instead of 'a'"
