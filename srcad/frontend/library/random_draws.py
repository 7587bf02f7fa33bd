"""Random numbers: draws and their types."""

from __future__ import annotations

from types import MethodType
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.library import introspection
from srcad.frontend.machine.dispatch import Args, Kwargs, apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude import draws
from srcad.ir.inference.probe import by_running
from srcad.startup.identifiers import module_of
from srcad.types.reading import looked_up
from srcad.types.structures import Type


def is_random(function: Any) -> bool:
    """Return True if a function draws random numbers."""
    holder = looked_up(function, "__self__")
    return "random" in module_of(function) or (
        "random" in type(holder).__module__ if holder is not None else False
    )


def _class_of(receiver: AbstractValue) -> type | None:
    """Return the class of a generator; `np.random` stands for the one that it draws from."""
    if isinstance(receiver, Constant) and receiver.value is np.random:
        return np.random.RandomState
    return introspection.class_of(receiver)


def draw_type(
    state: Machine,
    receiver: AbstractValue,
    name: str,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> Type | None:
    """Return the type of a random draw, asked of another generator than the user's."""
    cls = _class_of(receiver)
    if cls is None or not any("random" in base.__module__ for base in cls.__mro__):
        return None
    for kind, fresh in (
        (np.random.Generator, np.random.default_rng),
        (np.random.RandomState, np.random.RandomState),
    ):
        if issubclass(cls, kind) and hasattr(kind, name):
            keywords = tuple((k, state.arg(b)) for k, b in kwargs.items())
            return by_running(getattr(fresh(0), name), tuple(state.arg(a) for a in args), keywords)
    return None


_DRAWS = {
    name: getattr(draws, name)
    for name in (
        "exponential", "gamma", "gumbel", "laplace", "logistic", "multivariate_normal", "normal",
        "rayleigh", "uniform",
    )
}  # fmt: skip
_INSTEAD = {
    "lognormal": "np.exp(rng.normal(mean, sigma, size))",
    "weibull": "rng.standard_exponential(size) ** (1 / a)",
    "pareto": "np.expm1(rng.standard_exponential(size) / a)",
    "multivariate_normal": "mean + np.linalg.cholesky(cov) @ rng.standard_normal(mean.size)",
}
_GLOBAL = np.random.normal.__self__
_CONSTANT_PARAMETERS = {"multivariate_normal": ("cov", 1), "gamma": ("shape", 0)}


def draw(
    state: Machine, receiver: AbstractValue, name: str, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Return a draw of a generator whose location and scale are differentiated; else None."""
    cls = _class_of(receiver)
    if cls is None or not issubclass(cls, np.random.Generator | np.random.RandomState):
        return None
    if not state.is_active(*args, *kwargs.values()) or not hasattr(cls, name):
        return None
    constant, place = _CONSTANT_PARAMETERS.get(name, ("", 0))
    held = kwargs.get(constant) or (args[place] if constant and len(args) > place else None)
    if name not in _DRAWS or (held is not None and state.is_active(held)):
        _refuse(state, name, constant)
    function = _DRAWS[name]
    if name == "uniform" and cls is np.random.RandomState:
        function = draws.uniform_in_any_order
    return apply(state, Constant(function), (receiver, *args), kwargs)


def _refuse(state: Machine, name: str, parameter: str) -> NoReturn:
    instead = _INSTEAD.get(name)
    state.refuse(
        errors.MissingRuleError,
        "cannot differentiate with respect to "
        + (f"the parameter {parameter!r}" if parameter else "parameters")
        + f" of a draw by {name!r}",
        why="only the location and the scale of a draw have a derivative in srcad.",
        help=(
            f"write it with another draw:  {instead}"
            if instead
            else f"if no derivative is to flow:  rng.{name}(srcad.stop_gradient(...))",
        ),
    )


def is_of_module(function: MethodType) -> bool:
    """Return True if a method is a function of `np.random`, which has a generator of its own."""
    return function.__self__ is _GLOBAL and getattr(np.random, function.__name__, 0) == function
