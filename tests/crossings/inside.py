"""Derivatives as programs: each makes a function of a program, which is then differentiated.

The plain function is then the derivative itself, which its own cell checks.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import srcad
from tests.crossings.checker import NotApplicable

INSIDE: dict[str, Callable[..., Callable[..., Any]]] = {}


def inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a derivative by the name of its function."""
    INSIDE[function.__name__] = function
    return function


@inside
def grad_of(f, k, v):
    return srcad.grad(f, wrt=k)


@inside
def value_and_grad_of(f, k, v):
    return srcad.value_and_grad(f, wrt=k)


@inside
def elementwise_grad_of(f, k, v):
    return srcad.elementwise_grad(f, wrt=k)


@inside
def jvp_of(f, k, v):
    def pushed(*args):
        return srcad.jvp(f, args, v)[1]

    return pushed


@inside
def pullback_of(f, k, v):
    def pulled(*args):
        y, back = srcad.pullback(f, *args)
        return back(2.0 * y)[k]

    return pulled


@inside
def gradient_of(f, k, v):
    def gradients(*args):
        return srcad.gradient(f, *args)[k]

    return gradients


@inside
def jacfwd_of(f, k, v):
    return srcad.jacfwd(f, wrt=k)


@inside
def jacrev_of(f, k, v):
    return srcad.jacrev(f, wrt=k)


@inside
def hessian_of(f, k, v):
    return srcad.hessian(f, wrt=k)


@inside
def hvp_of(f, k, v):
    def product(*args):
        return srcad.hvp(f, wrt=k)(*args, v=v[k])

    return product


@inside
def differentiated(f, k, v):
    @srcad.differentiate
    def call(*args):
        return f(*args)

    return call


@inside
def checkpoint_of(f, k, v):
    return srcad.checkpoint(f)


@inside
def grad_of_checkpoint_of(f, k, v):
    return srcad.grad(srcad.checkpoint(f), wrt=k)


@inside
def rule_of(f, k, v):
    """A function with a rule of one's own, which takes the derivative of the program."""
    if not isinstance(f, FunctionType) or f.__code__.co_argcount != 1:
        raise NotApplicable("the rule is of one argument")

    def ruled(x):
        return f(x)

    @srcad.rules.adjoint(ruled)
    def _of_ruled(y_bar, y, x):
        return srcad.pullback(f, x)[1](y_bar)[0]

    return ruled
