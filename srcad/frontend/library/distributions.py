"""Distributions of `scipy.stats`: their methods have rules, and frozen ones are taken apart.

A rule is registered for the method of one object (``stats.norm.logpdf``).  `registry.receiver_of`
returns this object for every other one of its class, such as the one inside of ``norm(0.0, 1.0)``.
"""

from __future__ import annotations

from typing import Any

from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.constants import spread
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, attribute, means_in, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude.distributions import Frozen
from srcad.rules import registry
from srcad.rules.row import Rule

_MODULE = "scipy.stats._distn_infrastructure"
_SHARED = ("cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_NUMBERS = ("entropy", "mean", "median", "var", "std")
_METHODS = {
    "rv_generic": _NUMBERS,
    "rv_continuous": ("pdf", "logpdf", *_SHARED),
    "rv_discrete": ("pmf", "logpmf", *_SHARED),
    "rv_frozen": (*_SHARED, *_NUMBERS),
    "rv_continuous_frozen": ("pdf", "logpdf"),
    "rv_discrete_frozen": ("pmf", "logpmf"),
}


@means_object
def frozen(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``norm(loc, scale)``: an object with the methods of `Frozen`."""
    if registry.receiver_of(callee.value) is None:
        return None
    names = tuple(kwargs)
    parts = (callee, TupleValue(args), DictValue(names, tuple(kwargs.values())))
    return RecordValue(Frozen, ("dist", "args", "kwds"), parts)


def _method(name: str) -> Any:
    def called(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        receiver = args[0].value if args and isinstance(args[0], Constant) else None
        if isinstance(getattr(receiver, "args", None), tuple):
            return _of_frozen(state, name, args, kwargs)
        known = registry.receiver_of(receiver)
        method = None if known is None else getattr(known, name)
        rule = registry.lookup(method)
        if rule is not None and rule.kind == "nondifferentiable":
            return apply(state, Constant(method), args[1:], kwargs)
        if rule is None or rule.function is None:
            return None
        renamed = _with_names_of_rule(method, rule, kwargs)
        given = None if renamed is None else _by_position(rule, args[1:], renamed)
        return None if given is None else apply(state, Constant(method), given, {})

    return called


for _cls, _names in _METHODS.items():
    for _name in _names:
        means_in(_MODULE, f"{_cls}.{_name}")(_method(_name))
_DENSITY = ("pdf", "logpdf")
_MULTIVARIATE = {
    "multivariate_normal": (*_DENSITY, "entropy"),
    "multivariate_t": _DENSITY,
    "matrix_normal": _DENSITY,
    "dirichlet": _DENSITY,
    "wishart": _DENSITY,
    "invwishart": _DENSITY,
    "multinomial": ("pmf", "logpmf"),
}
for _cls, _names in _MULTIVARIATE.items():
    for _name in _names:
        means_in("scipy.stats._multivariate", f"{_cls}_gen.{_name}")(_method(_name))


def _of_frozen(state: Machine, name: str, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return a call of a method of a frozen distribution that exists before the call."""
    frozen_, *rest = args
    assert isinstance(frozen_, Constant)
    if registry.receiver_of(frozen_.value.dist) is None:
        return None
    kwds = attribute(state, frozen_, "kwds")
    if not isinstance(kwds, DictValue | Constant):
        return None
    named = dict(kwds.value) if isinstance(kwds, Constant) else {}
    given = spread(state, attribute(state, frozen_, "args"))
    dist = attribute(state, frozen_, "dist")
    more = (
        {key: Constant(value) for key, value in named.items()}
        if isinstance(kwds, Constant)
        else dict(zip(kwds.keys, kwds.items, strict=True))
    )
    return apply(state, attribute(state, dist, name), (*rest, *given), {**more, **kwargs})


def with_shapes_by_position(
    method: Any, rule: Rule, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:
    """Return the arguments of a method, by position if the rule has other names for the shapes."""
    if rule.function is None or kwargs.keys() <= {*rule.parameters, *rule.keywords}:
        return args, kwargs
    renamed = _with_names_of_rule(method, rule, kwargs)
    given = None if renamed is None else _by_position(rule, args, renamed)
    return (args, kwargs) if given is None else (given, {})


def _with_names_of_rule(method: Any, rule: Rule, kwargs: Kwargs) -> Kwargs | None:
    """Return the keywords with the rule's names for the shapes: ``a`` for ``c`` of `genextreme`.

    None if the distribution has no such keyword.
    """
    shapes = getattr(method.__self__, "shapes", None)
    if not isinstance(shapes, str):
        return kwargs
    first = 0 if method.__name__ in _NUMBERS else 1
    names = dict(zip(shapes.replace(",", " ").split(), rule.parameters[first:], strict=False))
    if kwargs.keys() & (set(names.values()) - names.keys()):
        return None
    return {names.get(key, key): box for key, box in kwargs.items()}


def _by_position(rule: Rule, args: Args, kwargs: Kwargs) -> Args | None:
    """Return the arguments by position; None if the call does not fit the rule."""
    assert rule.function is not None
    defaults = rule.function.__defaults__ or ()
    found = dict(zip(rule.parameters, args, strict=False))
    if len(args) > len(rule.parameters) or not kwargs.keys() <= set(rule.parameters) - found.keys():
        return None
    found.update(kwargs)
    if not found:
        return ()
    last = max(rule.parameters.index(name) for name in found)
    names = rule.parameters[: last + 1]
    usual = dict(zip(rule.parameters[rule.required :], defaults, strict=True))
    if any(name not in found and name not in usual for name in rule.parameters[: rule.required]):
        return None
    return tuple(found[name] if name in found else Constant(usual[name]) for name in names)
