"""Rows that are called linear are: forward mode is the function itself."""

import inspect

import numpy as np
import pytest

from srcad import rules, runtime
from srcad.rules import lookup
from srcad.transforms.structure import ADJOINTS
from tests.rules.harness import is_float, leaves, rebuilt
from tests.rules.samples import CALLS
from tests.rules.test_table import name_of

LINEAR = [call for call in CALLS if lookup(call[0]).kind == "linear"]


def flowing(call):
    """The arguments that a call is linear in, by place."""
    target, args, kwargs = call
    places = {**dict(enumerate(args)), **kwargs}
    entry = lookup(target).entry
    return {
        k: a for k, a in places.items() if entry(k) is not None and all(map(is_float, leaves(a)))
    }


def called(call, changed):
    """The call with some arguments changed."""
    target, args, kwargs = call
    args = [changed.get(k, a) for k, a in enumerate(args)]
    result = target(*args, **{k: changed.get(k, a) for k, a in kwargs.items()})
    return [np.asarray(part) for part in leaves(result)]


@pytest.mark.parametrize("call", LINEAR, ids=name_of)
def test_linear_rule_is_linear_in_active_arguments(call, rng):
    places = flowing(call)
    u, v = (
        {k: [rng.normal(size=np.shape(x)) for x in leaves(a)] for k, a in places.items()}
        for _ in range(2)
    )
    mixed = {k: [2.0 * x - y for x, y in zip(u[k], v[k], strict=True)] for k in places}
    together, *apart = (
        called(call, {k: rebuilt(a, iter(parts[k])) for k, a in places.items()})
        for parts in (mixed, u, v)
    )

    for whole, one, other in zip(together, *apart, strict=True):
        np.testing.assert_allclose(whole, 2.0 * one - other, atol=1e-12)


@pytest.mark.parametrize("target", [np.sort, np.arange, np.nansum, np.nanmean, np.nancumsum])
def test_value_dependent_selection_is_not_linear(target):
    assert lookup(target).kind == "adjoint"


def test_each_helper_of_generated_code_is_handled_by_every_transform():
    helpers = {
        f
        for name, f in vars(runtime).items()
        if inspect.isfunction(f) and f.__module__ == runtime.__name__ and name[0] != "_"
    }
    copies = {
        runtime.deep_copy,
        runtime.copy_in_order_of,
        runtime.for_directions,
        runtime.rows_of_directions,
        runtime.shuffled,
    }  # refused: they have no rule

    last = {  # written when all transforms are done
        runtime.as_float,
        runtime.updated_in_view,
        runtime.added_in_view,
    }

    opaque = {
        runtime.call_on_copies,
        runtime.call_method_on_copies,
    }  # without a derivative

    left = {f for f in helpers - copies - last - opaque - runtime.CHECKS if not rules.lookup(f)}

    assert left == {runtime.or_zeros, runtime.add_cotangents} <= ADJOINTS.keys()
    assert not any(map(rules.lookup, copies))


def test_runtime_checks_have_no_derivative():
    assert runtime.CHECKS.isdisjoint(ADJOINTS)
    assert runtime.check_real_scalar(1.0, "f") is None
