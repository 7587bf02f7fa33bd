"""Strings among the arguments: dynamic until their value decides something."""

import dataclasses

import numpy as np
import pytest

import srcad

X = np.array([0.4, 0.9, 1.3])
LABELS = [f"run {k}" for k in range(5)]


def central_difference(f, x, *args, h=1e-6):
    def value(x):
        found = f(x, *args)
        return found[0] if isinstance(found, tuple) else found

    return np.array([(value(x + e) - value(x - e)) / (2 * h) for e in h * np.eye(len(x))])


def compilations_of(f, calls, **options):
    """Check gradient and auxiliary output of each call; return how often it was compiled."""
    g = srcad.grad(f, **options)
    g.cache_clear()
    before = g.cache_info().compilations
    for args in calls:
        found = g(X, *args)
        if options.get("has_aux"):
            found, aux = found
            assert repr(aux) == repr(f(X, *args)[1])
        np.testing.assert_allclose(found, central_difference(f, X, *args), rtol=1e-6, atol=1e-8)
    return g.cache_info().compilations - before


def squares(x, label=None):
    return np.sum(x * x) if label is None else np.sum(x**3)


@dataclasses.dataclass
class Options:
    name: str
    scale: float


def unused(x, label):
    return np.sum(x * x)


def passed_on(x, label):
    return unused(x, label)


def compared_with_none(x, label):
    return squares(x, label)


def asked_for_its_class(x, label):
    return np.sum(x * x) if isinstance(label, str) else np.sum(x)


def in_error_message(x, label):
    if np.sum(x) < 0:
        raise ValueError(f"sum of {label!r} is negative", label)
    return np.sum(x * x)


def in_assertion(x, label):
    assert np.sum(x) > 0, label
    return np.sum(x * x)


@pytest.mark.parametrize(
    "f",
    [unused, passed_on, compared_with_none, asked_for_its_class, in_error_message, in_assertion],
)
def test_labels_without_influence_share_one_compilation(f):
    assert compilations_of(f, [(label,) for label in LABELS]) == 1


def test_thousand_labels_share_one_compilation():
    g = srcad.grad(lambda x, label="": np.sum(x * x) if label is not None else 0.0)

    for k in range(1000):
        np.testing.assert_array_equal(g(X, f"label {k}"), 2 * X)

    assert g.cache_info().compilations == 1


def collected(x, label, n=3):
    rows, y = [], x
    for k in range(n):
        rows.append((label, k))
        y = y * x
    return np.sum(y), rows


def raised_and_caught(x, label):
    message = ""
    try:
        if np.sum(x) > 0:
            raise ValueError(label)
    except ValueError as error:
        message = str(error)
    return np.sum(x * x), message


def held_by_closure(x, label):
    def inner(y):
        return np.sum(y * y), label

    return inner(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, label: (np.sum(x * x), label),
        lambda x, label: (np.sum(x * x), (label, 1, [label, x])),
        lambda x, label: (np.sum(x * x), {"label": label, "x": x}),
        lambda x, label: (np.sum(x * x), f"<{label:>12}|{f'{label!r}'}>"),
        lambda x, label: (np.sum(x * x), Options(label, 2.0)),
        collected,
        raised_and_caught,
        held_by_closure,
    ],
)
def test_carried_label_is_that_of_each_call(f):
    assert compilations_of(f, [(label,) for label in LABELS], has_aux=True) == 1


def test_error_message_has_label_of_the_call():
    g = srcad.grad(in_error_message)

    for label in LABELS:
        with pytest.raises(ValueError, match=f"sum of '{label}' is negative") as caught:
            g(-X, label)
        assert caught.value.args[1] == label


STRUCTURES = {
    "dict": lambda k: {"name": f"run {k}", "scale": 1.0 + k},
    "dataclass": lambda k: Options(f"run {k}", 1.0 + k),
}


@pytest.mark.parametrize("make", STRUCTURES.values(), ids=STRUCTURES)
def test_label_in_structure_is_that_of_each_call(make):
    def whole(x, options):
        return np.sum(x * x), options

    assert compilations_of(whole, [(make(k),) for k in range(5)], has_aux=True) == 1


def test_label_in_structure_decides_a_branch():
    def f(x, options):
        return np.sum(x**2) if options["name"] == "run 3" else np.sum(x) * options["scale"]

    assert compilations_of(f, [(STRUCTURES["dict"](k),) for k in range(5)]) == 5


def matched(x, s):
    match s:
        case "run 1":
            return np.sum(x)
        case "run 2" | "run 3":
            return np.sum(x**3)
        case _:
            return np.sum(x**2)


def chosen_first(x, s, flag=1.0):
    name = s if flag > 0 else "run 3"
    return np.sum(x) if name == "run 3" else np.sum(x * x)


def carried_by_loop(x, s, n=3):
    name, y = "start", x
    for _ in range(n):
        if name == "run 3":
            y = y * x
        name = s
    return np.sum(y)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: np.sum(x) if s == "run 3" else np.sum(x * x),
        lambda x, s: np.sum(x) if s in ("run 3", "run 4") else np.sum(x * x),
        lambda x, s: np.sum(x) if s.endswith("3") else np.sum(x * x),
        lambda x, s: np.sum(x) if s < "run 3" else np.sum(x * x),
        lambda x, s: np.sum(x ** int(s[-1])),
        lambda x, s: np.sum(x) * {"run 3": 2.0}.get(s, 1.0),
        lambda x, s: np.sum(x) if f"{s}!" == "run 3!" else np.sum(x * x),
        matched,
        chosen_first,
        carried_by_loop,
    ],
)
def test_label_whose_value_decides_compiles_for_each_value(f):
    assert compilations_of(f, [(label,) for label in LABELS] * 2) == len(LABELS)


@pytest.mark.parametrize(
    ("f", "values"),
    [
        (lambda x, s: np.sum(np.einsum(s, x, x) ** 2), ["i,i->", "i,j->ij", "i,i->i"]),
        (lambda x, s: np.linalg.norm(np.outer(x, x) + np.eye(3), s), ["fro", "nuc"]),
        (lambda x, s: np.sum(x.astype(s) * 2), ["float64", "f8"]),
        (lambda x, s: np.sum(getattr(np, s)(x)), ["sin", "cos"]),
        (lambda x, s: np.sum(x * {"a": 1.0, "b": 2.0}[s]), ["a", "b"]),
        (lambda x, s: np.sum(x * {"a_w": 1.0, "b_w": 2.0}[f"{s}_w"]), ["a", "b"]),
        (lambda x, s: np.sum(x ** len(s)), ["a", "ab", "abc"]),
    ],
)
def test_option_compiles_for_each_value(f, values):
    assert compilations_of(f, [(value,) for value in values] * 2) == len(values)


def test_exported_file_formats_label_of_the_call(tmp_path):
    file = tmp_path / "slope.py"
    space = {}
    options = {"name": "first"}

    def loss(x, options):
        if np.sum(x) < 0:
            raise ValueError(f"sum of {options['name']} is negative")
        return np.sum(x * x)

    srcad.grad(loss).export(file, X, options)
    exec(compile(file.read_text(), str(file), "exec"), space)

    np.testing.assert_array_equal(space["grad_loss"](X, {"name": "second"}), 2 * X)
    with pytest.raises(ValueError, match="sum of second is negative"):
        space["grad_loss"](-X, {"name": "second"})
