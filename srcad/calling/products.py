"""Derivatives in a direction that the call gives: the object that `srcad.hvp` returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from srcad.arguments.request import UNSET, name_of, parameters_of, parameters_of_call
from srcad.backends.interface.tracebacks import noted
from srcad.backends.python.naming.names import fresh
from srcad.calling.cache import Family
from srcad.calling.gradient import Gradient, family_of
from srcad.calling.patterns import Failure
from srcad.calling.quiet import FLOATING, again
from srcad.calling.showing import Documentation
from srcad.errors import SeedError
from srcad.startup.short_tracebacks import short_traceback

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
_BESIDE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Product(Gradient[P, R]):
    """A derivative in a direction: it is called as ``h(x, *rest, v)``, or ``h(x, *rest, v=v)``.

    It is made by `srcad.hvp`.
    """

    __slots__ = ()

    def _called(self, dispatch: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that a call runs: `dispatch`, then its answer for a direction."""
        function, request = self.function, self.request

        def product(*args: Any, v: Any = UNSET, **kwargs: Any) -> Any:
            with short_traceback():
                args, v = in_direction(function, args, v)
                waiting = dispatch(*args, **kwargs)
                try:
                    with noted():
                        return waiting(v)
                except FLOATING:
                    parameters = parameters_of(function) or parameters_of_call(len(args), kwargs)
                    family = family_of(function, request, parameters)
                    found = family.found(function, family.bound(function, args, kwargs))
                    call = None if isinstance(found, Failure) else again(found)
                    if call is None:
                        raise
                with noted():
                    return call()(v)

        return product

    def specialize(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Return the bare compiled function for arguments and a direction like these.

        It is called like this object, and checks nothing where nothing is captured.
        """
        with short_traceback():
            waiting = super().specialize(*args, **kwargs)
        bare = getattr(waiting, "srcad_bare", None)
        if bare is None:
            return self._called(waiting)
        single = self.request.single
        if single and len(parameters_of(self.function) or ()) == 1:
            return lambda x, v: bare(x, v)
        function = self.function

        def product(*args: Any, v: Any = UNSET) -> Any:
            with short_traceback():
                args, v = in_direction(function, args, v)
                return bare(*args, v) if single else bare(*args, *v)

        return product

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Family, Sequence[Any]]:
        given = dict(kwargs)
        args, _ = in_direction(self.function, args, given.pop("v", UNSET))
        return super()._bound(args, given)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function, with the direction after what is given by position.

        A parameter of the function that is called ``v``, too, is given by position only, and has
        another name here.
        """
        own = super().__signature__
        parameters = list(own.parameters.values())
        names = [parameter.name for parameter in parameters]
        if "v" in names:
            at = names.index("v")
            parameters[at] = parameters[at].replace(name=fresh("v", names))
            if parameters[at].kind in _BESIDE:
                parameters[: at + 1] = [p.replace(kind=_BESIDE[0]) for p in parameters[: at + 1]]
        at = sum(parameter.kind in _BESIDE for parameter in parameters)
        variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        if variadic or any(p.default is not inspect.Parameter.empty for p in parameters[:at]):
            at += variadic + sum(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters)
            v = inspect.Parameter("v", inspect.Parameter.KEYWORD_ONLY)
        else:
            v = inspect.Parameter("v", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return own.replace(parameters=[*parameters[:at], v, *parameters[at:]])


Product.__doc__ = Documentation(Product.__doc__)  # type: ignore[assignment]


def in_direction(function: Any, args: tuple[Any, ...], v: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the arguments of the function, and the direction, given by name or as the last one.

    Raises
    ------
    SeedError
        There is no direction.
    """
    if v is not UNSET:
        return args, v
    if len(args) > 1:
        return args[:-1], args[-1]
    name = name_of(function)
    raise SeedError(
        f"hvp of {name!r} is called with no direction",
        why="the direction is the last argument by position, or is given by name.",
        help="give it:  srcad.hvp(f)(x, v)  or  srcad.hvp(f)(x, *rest, v=v)",
    )
