"""The objects that the public functions return: callables with their generated source.

The instances' ``__call__`` is a slot that holds the dispatcher itself, so that a call goes straight
from the user to generated code.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

from srcad import pipeline
from srcad.cache import CacheInfo, Family, record_of
from srcad.dispatch import Failure
from srcad.frontend.source import definition
from srcad.inspection import Inspection
from srcad.notes import noted
from srcad.quiet import FLOATING, again
from srcad.request import (
    Mode,
    Parameter,
    Request,
    entries_of,
    name_of,
    parameters_of,
    parameters_of_call,
)


def family_of(function: Any, request: Request, parameters: tuple[Parameter, ...]) -> Family:
    """The compiled patterns of a request for a callable."""
    record, how = record_of(function)
    asked = request.of(function, parameters)
    return record.family(function, asked, how, parameters, pipeline.compile_entry)


class Gradient:
    """A derivative of a function: a callable that compiles itself for the arguments it gets.

    It is made by `srcad.grad`, `srcad.value_and_grad` and `srcad.elementwise_grad`.

    Attributes
    ----------
    function : callable
        The function that is differentiated.
    request : Request
        Which derivative it is.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__", "function", "given", "request")

    __call__: Callable[..., Any]

    def __init__(self, function: Any, request: Request) -> None:
        self.given = function
        self.function = function = plain(function)
        self.request = request
        parameters = parameters_of(function)
        if parameters is None:
            self.__call__ = self._by_count()
            return
        self._connect(family_of(function, request, parameters))

    def _connect(self, family: Family) -> None:
        """Let calls go to the patterns that the family has now."""
        alive, function, request = weakref.ref(self), self.function, self.request

        def now() -> Family:
            return family_of(function, request, parameters_of(function) or family.parameters)

        def rebind() -> None:
            me = alive()
            if me is not None:
                me._connect(now())

        self.__call__ = family.dispatcher(function, now, rebind)

    def _by_count(self) -> Callable[..., Any]:
        """The dispatcher of a callable that has a rule and no signature."""
        function, request = self.function, self.request

        def dispatch(*args: Any, **kwargs: Any) -> Any:
            family = family_of(function, request, parameters_of_call(len(args), kwargs))
            found = family.found(function, family.bound(function, args, kwargs))
            if isinstance(found, Failure):
                raise found.error from None
            try:
                with noted():
                    return found()
            except FLOATING:
                call = again(found)
                if call is None:
                    raise
            with noted():
                return call()

        return dispatch

    # ------------------------------------------------------------------------- what it is
    def __repr__(self) -> str:
        wrt = ", ".join(map(str, self.request.wrt or ()))
        return f"<srcad.{self._kind} of {name_of(self.function)!r} by {wrt}>"

    @property
    def _kind(self) -> str:
        return "elementwise_grad" if self.request.summed else self.request.mode

    @property
    def __name__(self) -> str:
        """The name of the generated function."""
        return f"{self._kind}_{name_of(self.function)}"

    def __getattr__(self, name: str) -> Any:
        if name == "__qualname__":
            return self.__name__
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function."""
        return inspect.signature(self.function)

    @property
    def __wrapped__(self) -> Any:
        """The generated function, for `inspect.getsource` and the like."""
        entry = self._newest()
        if entry is not None:
            return entry.run
        made = pipeline.readable(self.function, self.request).function
        if made is None:
            raise AttributeError("__wrapped__")
        return made

    def __srcad_of__(self) -> tuple[Any, Request]:
        """What is differentiated, and how."""
        return self.function, self.request

    def __reduce__(self) -> tuple[Any, ...]:
        return Gradient, (self.given, self.request)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return Gradient(MethodType(self.function, instance), self.request)

    # ------------------------------------------------------------------------- looking inside
    def _families(self) -> list[Family]:
        record, how = record_of(self.function)
        asked = self.request.of(self.function, parameters_of(self.function) or ())
        return [
            family
            for (request, wrapping, _), family in record.families.items()
            if request == asked and wrapping == how
        ]

    def _newest(self) -> Any:
        """The pattern that was compiled last; a name tells wrappers of the same code apart."""
        name = name_of(self.function)
        named = (e for f in self._families()[::-1] for e in f.entries if e.product.name == name)
        return next(named, None)

    @property
    def source(self) -> str:
        """The generated code: of the last specialisation, else of the generic form."""
        entry = self._newest()
        if entry is not None:
            return str(entry.product.text)
        return pipeline.readable(self.function, self.request).text

    def specialize(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Return the bare compiled function for arguments like these: it checks nothing.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the pattern that the function will be called with.

        Returns
        -------
        callable
            A function of the same arguments.
        """
        family, arguments = self._bound(args, kwargs)
        return family.entry_for(self.function, arguments).bare(self.function)

    def inspect(self, *args: Any, **kwargs: Any) -> Inspection:
        """Show what the compiler made: see `srcad.inspect`."""
        if not args and not kwargs:
            return Inspection(pipeline.readable(self.function, self.request), self.function)
        family, arguments = self._bound(args, kwargs)
        product = family.entry_for(self.function, arguments).product
        return Inspection(product, self.function)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Family, Sequence[Any]]:
        parameters = parameters_of(self.function) or parameters_of_call(len(args), kwargs)
        family = family_of(self.function, self.request, parameters)
        return family, family.bound(self.function, args, kwargs)

    def cache_info(self) -> CacheInfo:
        """What has been compiled, and why."""
        infos = [family.info() for family in self._families()]
        return CacheInfo(
            sum(i.compilations for i in infos),
            tuple(p for i in infos for p in i.patterns),
            tuple(r for i in infos for r in i.reasons),
        )

    def cache_clear(self) -> None:
        """Forget what has been compiled."""
        for family in self._families():
            family.clear()
            self._connect(family)


class _Derivative:
    """An attribute that is made when it is first read."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else instance._derivative(self.mode)


class Differentiable:
    """A function that is still itself and knows its derivatives: made by `srcad.differentiate`.

    Attributes
    ----------
    grad, value_and_grad : Gradient
        Its derivatives, by the arguments that ``differentiate(wrt=...)`` names.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__", "function", "request")

    __call__: Callable[..., Any]

    def __init__(self, function: Any, request: Request) -> None:
        self.function = function
        self.request = request
        self.__call__ = function
        self.__dict__.update(getattr(function, "__dict__", {}))
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(function, name):
                self.__dict__[name] = getattr(function, name)

    def __repr__(self) -> str:
        return f"<differentiable {name_of(self.function)!r}>"

    @property
    def __wrapped__(self) -> Any:
        """The function itself."""
        return self.function

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function."""
        return inspect.signature(self.function)

    def __srcad_primal__(self) -> Any:
        """The function that calls of this object are calls of."""
        return self.function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return Differentiable(self.function.__get__(instance, owner), self.request)

    def __reduce__(self) -> Any:
        if isinstance(self.function, FunctionType) and _is_named(self):
            return str(self.function.__qualname__)
        return Differentiable, (self.function, self.request)

    def _derivative(self, mode: Any) -> Gradient:
        known = self.__dict__.get("_derivatives")
        if known is None:
            known = self.__dict__["_derivatives"] = {}
        if mode not in known:
            request = Request(mode, self.request.wrt, self.request.single)
            known[mode] = Gradient(self, request)
        made: Gradient = known[mode]
        return made

    grad = _Derivative("grad")
    value_and_grad = _Derivative("value_and_grad")

    def gradient(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the gradients with respect to all positional arguments."""
        found = of_arguments("grad", self.function, args, kwargs)
        if isinstance(found, Failure):
            raise found.error from None
        result: tuple[Any, ...]
        try:
            with noted():
                result = found()
        except FLOATING:
            call = again(found)
            if call is None:
                raise
        else:
            return result
        with noted():
            result = call()
        return result

    def pullback(
        self, *args: Any, wrt: Any = None, **kwargs: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Return the value, and the function from its cotangent to those of the arguments."""
        found = of_arguments("pullback", self.function, args, kwargs, wrt)
        if isinstance(found, Failure):
            raise found.error from None
        with noted():
            result: tuple[Any, Any] = found()
        return result

    @property
    def source(self) -> str:
        """The user's text of the function."""
        return definition(self.function).text

    @property
    def primal_source(self) -> str:
        """The generated primal half, in its generic form."""
        return self.inspect().primal_source

    @property
    def adjoint_source(self) -> str:
        """The generated adjoint, in its generic form."""
        return self.inspect().adjoint_source

    @property
    def ssa(self) -> str:
        """The function as the compiler sees it, in its generic form."""
        return self.inspect().ssa

    def inspect(self, *args: Any, **kwargs: Any) -> Inspection:
        """Show what the compiler makes of it: see `srcad.inspect`."""
        return inspection(self.function, self.request, args, kwargs)


def _is_named(made: Differentiable) -> bool:
    """Whether the object is found again under its module and qualified name."""
    found: Any = sys.modules.get(made.function.__module__)
    for part in made.function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is made


# ------------------------------------------------------------------- shared by both and by the api
def plain(function: Any) -> Any:
    """The function behind a `Differentiable`."""
    return function.function if isinstance(function, Differentiable) else function


def of_arguments(
    mode: Mode,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: Any = None,
) -> Callable[..., Any] | Failure:
    """The call of a derivative, ready to be made: by `wrt`, or all positional arguments."""
    entries = None if wrt is None else entries_of(wrt)
    request = Request(mode, entries, False, arity=len(args) if wrt is None else 0)
    parameters = parameters_of(function) or parameters_of_call(len(args), kwargs)
    family = family_of(function, request, parameters)
    return family.found(function, family.bound(function, args, kwargs))


def inspection(
    function: Any, request: Request, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Inspection:
    """What the compiler makes of a function: for these arguments, or in its generic form."""
    split = Request("pullback", request.wrt, request.single, request.has_aux)
    return Gradient(function, split).inspect(*args, **kwargs)
