"""Functions that are still themselves and know their derivatives: `srcad.differentiate`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Self, TypeVar, overload

from srcad.arguments.request import Request, name_of
from srcad.backends.interface.tracebacks import noted
from srcad.calling.gradient import Gradient, P, Q, R, inspection, of_arguments
from srcad.calling.inspection import Inspection
from srcad.calling.patterns import Failure
from srcad.calling.quiet import FLOATING, again
from srcad.calling.showing import Code, signature_of, text_of
from srcad.startup.records import replace

T = TypeVar("T")


class _Derivative:
    """An attribute that is made when it is first read."""

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def _of(self, instance: Differentiable[..., Any] | None) -> Any:
        return self if instance is None else instance._derivative(self.mode)


class _Gradient(_Derivative):
    def __get__(self, instance: Differentiable[Q, Any], owner: Any = None) -> Gradient[Q, Any]:
        made: Gradient[Q, Any] = self._of(instance)
        return made


class _ValueAndGradient(_Derivative):
    def __get__(
        self, instance: Differentiable[Q, T], owner: Any = None
    ) -> Gradient[Q, tuple[T, Any]]:
        made: Gradient[Q, tuple[T, Any]] = self._of(instance)
        return made


class Differentiable(Generic[P, R]):
    """A function that is still itself and knows its derivatives: made by `srcad.differentiate`.

    Attributes
    ----------
    grad, value_and_grad : Gradient
        Its derivatives, by the arguments that ``differentiate(wrt=...)`` names.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__", "function", "request")

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Call the function."""

    def __init__(self, function: Any, request: Request) -> None:
        self.function = function
        self.request = request
        self.__call__ = function  # type: ignore[method-assign]
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
        return signature_of(self.function)

    def __srcad_primal__(self) -> Any:
        """The function that calls of this object are calls of."""
        return self.function

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Differentiable[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Differentiable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return Differentiable(self.function.__get__(instance, owner), self.request)

    def __reduce__(self) -> Any:
        if isinstance(self.function, FunctionType) and _is_named(self):
            return str(self.function.__qualname__)
        return Differentiable, (self.function, self.request)

    def _derivative(self, mode: str) -> Gradient[..., Any]:
        known = self.__dict__.get("_derivatives")
        if known is None:
            known = self.__dict__["_derivatives"] = {}
        if mode not in known:
            known[mode] = Gradient(self, replace(self.request, mode=mode))
        made: Gradient[..., Any] = known[mode]
        return made

    grad = _Gradient("grad")
    value_and_grad = _ValueAndGradient("value_and_grad")

    def gradient(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Any, ...]:
        """Return the gradients with respect to all positional arguments."""
        found = of_arguments("grad", self.function, args, kwargs, backend=self.request.backend)
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
    ) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
        """Return the value, and the function from its cotangent to those of the arguments."""
        found = of_arguments("pullback", self.function, args, kwargs, wrt, self.request.backend)
        if isinstance(found, Failure):
            raise found.error from None
        with noted():
            result: tuple[R, Any] = found()
        return result

    @property
    def source(self) -> str:
        """The user's text of the function."""
        return Code(text_of(self.function))

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


def _is_named(made: Differentiable[..., Any]) -> bool:
    """Whether the object is found again under its module and qualified name."""
    found: Any = sys.modules.get(made.function.__module__)
    for part in made.function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is made
