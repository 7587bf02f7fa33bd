"""Between the user and an error stands at most one frame of srcad."""

from __future__ import annotations

import inspect
import os
import traceback

import numpy as np
import pytest

import srcad
from srcad import errors, rules, testing
from srcad.startup.short_tracebacks import on_purpose, short_traceback

HOME = os.path.dirname(srcad.__file__) + os.sep
OF_FUNCTIONS = (
    "grad", "value_and_grad", "elementwise_grad", "jacobian", "jacfwd", "jacrev", "hessian", "hvp",
    "sparsity",
)  # fmt: skip
NOW = ("gradient", "pullback", "vjp", "trace_table", "inspect")


def square(x):
    return x * x


def failing(x):
    raise RuntimeError("the user's own")


def vector(x):
    return x * np.ones(3)


def back(seed, function=square, x=1.0):
    return srcad.pullback(function, x)[1](seed)


def decorated(**options):
    return srcad.differentiate(**options)(square)


def warm(mode, *args):
    """A derivative that has been called before."""
    derivative = getattr(srcad, mode)(square)
    derivative(*(1.0,) * (2 if mode == "hvp" else 1))
    return derivative(*args)


OPTIONS = {
    "wrt of no parameter": {"wrt": "typo"},
    "wrt beyond": {"wrt": 5},
    "wrt of no kind": {"wrt": 2.5},
    "wrt in a tuple": {"wrt": (0, "typo")},
    "wrt of a part": {"wrt": "typo['k']"},
    "two spellings": {"wrt": 0, "argnums": 0},
    "backend": {"backend": "typo"},
    "unknown option": {"typo": 1},
}
CALLS = {
    f"{mode}: {what}": lambda mode=mode, options=options: getattr(srcad, mode)(square, **options)
    for mode in OF_FUNCTIONS
    for what, options in OPTIONS.items()
}
for mode in OF_FUNCTIONS:
    CALLS |= {
        f"{mode}: no function": lambda mode=mode: getattr(srcad, mode)(2.0),
        f"{mode}: nothing": lambda mode=mode: getattr(srcad, mode)(),
        f"{mode}: no argument": lambda mode=mode: getattr(srcad, mode)(square)(),
        f"{mode}: too many": lambda mode=mode: getattr(srcad, mode)(square)(1.0, 2.0, 3.0),
        f"{mode}: unknown keyword": lambda mode=mode: getattr(srcad, mode)(square)(1.0, z=1.0),
        f"{mode}: text": lambda mode=mode: getattr(srcad, mode)(square)("a", "a"),
        f"{mode}: fails": lambda mode=mode: getattr(srcad, mode)(failing)(1.0),
        f"{mode}: no argument again": lambda mode=mode: warm(mode),
        f"{mode}: text again": lambda mode=mode: warm(mode, "a", "a"),
        f"{mode}: specialised": lambda mode=mode: getattr(srcad, mode)(square).specialize(),
        f"{mode}: inspected": lambda mode=mode: getattr(srcad, mode)(square).inspect(1, 2, 3),
    }
for mode in NOW:
    CALLS |= {
        f"{mode}: no function": lambda mode=mode: getattr(srcad, mode)(2.0, 1.0),
        f"{mode}: too many": lambda mode=mode: getattr(srcad, mode)(square, 1.0, 2.0),
        f"{mode}: text": lambda mode=mode: getattr(srcad, mode)(square, "a"),
        f"{mode}: fails": lambda mode=mode: getattr(srcad, mode)(failing, 1.0),
        f"{mode}: wrt": lambda mode=mode: getattr(srcad, mode)(square, 1.0, wrt="typo"),
    }
CALLS |= {
    "jvp: no function": lambda: srcad.jvp(2.0, (1.0,), (1.0,)),
    "jvp: too few": lambda: srcad.jvp(square, (1.0,), ()),
    "jvp: no tuple": lambda: srcad.jvp(square, 1.0, 1.0),
    "jvp: text": lambda: srcad.jvp(square, (1.0,), ("a",)),
    "jvp: complex": lambda: srcad.jvp(square, (1.0,), (1j,)),
    "jvp: shape": lambda: srcad.jvp(square, (np.ones(2),), (np.ones(3),)),
    "jvp: nothing": lambda: srcad.jvp(square, (), ()),
    "jvp: fails": lambda: srcad.jvp(failing, (1.0,), (1.0,)),
    "back: complex": lambda: back(1j),
    "back: text": lambda: back("a"),
    "back: None": lambda: back(None),
    "back: objects": lambda: back(np.array([None] * 3), vector),
    "back: numbers as objects": lambda: back(np.array([1.0, 2.0, 3.0], dtype=object), vector),
    "back: shape": lambda: back(np.ones(2), vector),
    "back: structure": lambda: back({"b": 1.0}, lambda x: {"a": x}),
    "hvp: no direction": lambda: srcad.hvp(square)(1.0),
    "hvp: text": lambda: srcad.hvp(square)(1.0, "a"),
    "jacobian: mode": lambda: srcad.jacobian(square, mode="typo"),
    "jacobian: chunk": lambda: srcad.jacobian(square, chunk_size=0),
    "jacrev: chunk": lambda: srcad.jacrev(square, chunk_size="a"),
    "grad: aux": lambda: srcad.grad(square, has_aux=True)(1.0),
    "grad: many": lambda: srcad.grad(vector)(1.0),
    "grad: not finite": lambda: srcad.grad(lambda x: 1e308 * 10.0 * x, check_finite=True)(1.0),
    "grad: a builtin": lambda: srcad.grad(np.sin)(),
    "grad: as a method": lambda: srcad.grad(square).__get__(3),
    "grad: export": lambda: srcad.grad(square).export("no_such_folder/file.py", 1.0),
    "grad: name": lambda: srcad.grad(square).typo,
    "checkpoint: no function": lambda: srcad.checkpoint(2.0),
    "checkpointed_range: every": lambda: srcad.checkpointed_range(3, every=0),
    "checkpointed_range: every text": lambda: srcad.checkpointed_range(3, every="a"),
    "checkpointed_range: levels": lambda: srcad.checkpointed_range(3, levels=0),
    "checkpointed_range: float": lambda: srcad.checkpointed_range(2.5),
    "differentiate: no function": lambda: srcad.differentiate(2.0),
    "differentiate: no function, options": lambda: srcad.differentiate(wrt=0)(2.0),
    "differentiate: backend": lambda: decorated(backend="typo"),
    "differentiate: spellings": lambda: decorated(wrt=0, argnum=0),
    "differentiate: wrt": lambda: decorated(wrt="typo").grad,
    "differentiate: value_and_grad": lambda: decorated(wrt="typo").value_and_grad,
    "differentiate: hvp": lambda: decorated(wrt="typo").hvp,
    "differentiate: hvp without": lambda: decorated().hvp(1.0),
    "differentiate: jvp": lambda: decorated().jvp((1.0,), ()),
    "differentiate: no argument": lambda: decorated().grad(),
    "differentiate: gradient": lambda: decorated().gradient(),
    "differentiate: pullback": lambda: decorated().pullback(),
    "differentiate: inspect": lambda: decorated().inspect(1.0, 2.0),
    "stop_gradient: nothing": lambda: srcad.stop_gradient(),
    "hook: nothing": lambda: srcad.hook(1.0),
    "hook: shape": lambda: srcad.grad(lambda x: srcad.hook(x, lambda b: np.ones(3)))(1.0),
    "cotangent: nothing": lambda: srcad.cotangent(),
    "testing: no function": lambda: testing.check_grads(2.0, (1.0,)),
    "testing: modes": lambda: testing.check_grads(square, (1.0,), modes=("typo",)),
    "testing: too many": lambda: testing.check_grads(square, (1.0, 2.0)),
    "testing: wrt": lambda: testing.check_grads(square, (1.0,), wrt="typo"),
    "testing: no tuple": lambda: testing.check_grads(square, 1.0),
    "testing: wrong": lambda: testing.check_grads(lambda x: srcad.stop_gradient(x) * x, (1.0,)),
    "testing: fails": lambda: testing.check_grads(failing, (1.0,)),
    "testing: rule": lambda: testing.check_rule(square, (1.0,)),
    "rules: no function": lambda: rules.derivative(2.0),
    "rules: a class": lambda: rules.adjoint(dict),
    "rules: no rule": lambda: rules.linear(square)(2.0),
    "rules: too short": lambda: rules.adjoint(square)(lambda: 0.0),
    "rules: twice": lambda: rules.derivative(np.sin)(lambda x: np.cos(x)),
    "rules: bilinear": lambda: rules.bilinear(2.0),
    "rules: tangent": lambda: rules.tangent(square)(square),
    "rules: nondifferentiable": lambda: rules.nondifferentiable(2.0),
    "inspect: definition": lambda: srcad.inspect(square, 1.0).definition("typo"),
    "grad: in a helper": lambda: srcad.grad(lambda x: sorted(x)[0])(1.0),
    "errors: name": lambda: srcad.typo,
}  # fmt: skip


def ours(error):
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{f.filename}:{f.lineno} {f.name}" for f in frames if f.filename.startswith(HOME)]


@pytest.mark.parametrize("name", CALLS)
def test_error_traceback_has_at_most_one_srcad_frame(name):
    if name == "inspect: fails":
        pytest.skip("nothing of the user's runs")

    with pytest.raises(Exception) as caught:  # noqa: PT011 - of every kind
        CALLS[name]()

    assert len(ours(caught.value)) < 2, ours(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert not isinstance(caught.value, AssertionError) or name == "testing: wrong"


def test_every_public_function_covered():
    public = {name for name in srcad.__all__ if inspect.isfunction(getattr(srcad, name))}
    tried = {name.partition(":")[0] for name in CALLS}

    assert public - tried == set()


def test_internal_error_keeps_traceback_frames():
    def defect():
        raise errors.InvalidIRError("of srcad")

    def user():
        with short_traceback():
            defect()

    with pytest.raises(errors.InvalidIRError) as caught:
        user()

    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["user", "defect"]


def test_intentional_error_keeps_class():
    assert type(on_purpose(TypeError("not so"))) is TypeError


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (1j, "is complex"),
        ("a", "not a str"),
        (None, "not a NoneType"),
        ({1.0}, "not a set"),
        (np.array(None), "not an array of dtype object"),
        (np.array("2020", dtype="M8[Y]"), "not an array of dtype datetime64"),
    ],
)
def test_non_numeric_seed_raises_seed_error(seed, said):
    with pytest.raises(errors.SeedError) as caught:
        back(seed)

    assert said in str(caught.value)
