"""Functions that are still themselves and know their derivatives: `srcad.differentiate`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Self, TypeVar, overload

from srcad.arguments.request import Request, directions_of, name_of
from srcad.backends.interface.tracebacks import noted
from srcad.calling.gradient import Gradient, P, Q, R, along, inspection, of_arguments
from srcad.calling.inspection import Inspection
from srcad.calling.patterns import Failure
from srcad.calling.products import Product
from srcad.calling.quiet import run_with_retry
from srcad.calling.showing import Code, signature_of, text_of
from srcad.frontend.source.pickling import (
    Pickled,
    functions_are_sent_by_value,
    is_found_by_name,
    is_sent_by_name,
)
from srcad.startup.records import replace
from srcad.startup.short_tracebacks import short_traceback
from srcad.types.reading import looked_up, namespace

T = TypeVar("T")
_NOTHING = object()
_SHOWN = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__")


class _Derivative:
    """An attribute that is made when it is first read."""

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def _of(self, instance: Differentiable[..., Any] | None) -> Any:
        return self if instance is None else instance._derivative(self.mode)


class _Gradient(_Derivative):
    def __get__(self, instance: Differentiable[Q, Any], owner: Any = None) -> Gradient[Q, Any]:
        with short_traceback():
            made: Gradient[Q, Any] = self._of(instance)
            return made


class _ValueAndGradient(_Derivative):
    def __get__(
        self, instance: Differentiable[Q, T], owner: Any = None
    ) -> Gradient[Q, tuple[T, Any]]:
        with short_traceback():
            made: Gradient[Q, tuple[T, Any]] = self._of(instance)
            return made


class _Product(_Derivative):
    def __get__(self, instance: Differentiable[..., Any], owner: Any = None) -> Product[..., Any]:
        with short_traceback():
            made: Product[..., Any] = self._of(instance)
            return made


class Decorated(Pickled, Generic[P, R]):
    """A function that is still itself, with what a decorator adds: called, shown and pickled so."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Call the function."""
    else:  # a slot of this name hides the signature from pyright
        __slots__ = ("__call__", "__dict__", "__weakref__", "function")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__call__ = function  # type: ignore[method-assign]
        self.__dict__.update(namespace(function))
        for name in _SHOWN:
            found = looked_up(function, name, _NOTHING)
            if found is not _NOTHING:
                self.__dict__[name] = found

    @property
    def __wrapped__(self) -> Any:
        """The function itself."""
        return self.function

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function."""
        return signature_of(self.function)

    def _constructor_arguments(self) -> tuple[Any, ...]:
        return self._made_of(self.function)

    def _made_of(self, function: Any) -> tuple[Any, ...]:
        """Return the constructor arguments of an object like this one for another function."""
        return (function,)

    def _bound(self, instance: Any, owner: type | None) -> Any:
        """Bind to an instance as a method does."""
        if instance is None:
            return self
        return type(self)(*self._made_of(self.function.__get__(instance, owner)))

    def __reduce__(self) -> Any:
        by_name = is_sent_by_name if functions_are_sent_by_value() else is_found_by_name
        if isinstance(self.function, FunctionType) and by_name(self):
            return str(self.function.__qualname__)
        return super().__reduce__()


class Differentiable(Decorated[P, R]):
    """A function that is still itself and knows its derivatives: made by `srcad.differentiate`.

    Attributes
    ----------
    grad, value_and_grad, jacobian, hessian : Gradient
        Its derivatives, by the arguments that ``differentiate(wrt=...)`` names.
    hvp : Product
        The product of its Hessian with a vector: ``f.hvp(x, v)``.
    """

    __slots__ = ("request",)

    def __init__(self, function: Any, request: Request) -> None:
        super().__init__(function)
        self.request = request

    def __repr__(self) -> str:
        return f"<differentiable {name_of(self.function)!r}>"

    def __srcad_primal__(self) -> Any:
        """Return the function that calls of this object are calls of."""
        return self.function

    def _made_of(self, function: Any) -> tuple[Any, ...]:
        return function, self.request

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Differentiable[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Differentiable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._bound(instance, owner)

    def _derivative(self, mode: str) -> Gradient[..., Any]:
        known = self.__dict__.get("_derivatives")
        if known is None:
            known = self.__dict__["_derivatives"] = {}
        if mode not in known:
            kind = Product if mode == "hvp" else Gradient
            known[mode] = kind(self, replace(self.request, mode=mode))
        made: Gradient[..., Any] = known[mode]
        return made

    grad = _Gradient("grad")
    value_and_grad = _ValueAndGradient("value_and_grad")
    jacobian = _Gradient("jacobian")
    hessian = _Gradient("hessian")
    hvp = _Product("hvp")

    def gradient(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Any, ...]:
        """Return the gradients with respect to all positional arguments."""
        with short_traceback():
            found = self._of_arguments("grad", args, kwargs)
            if isinstance(found, Failure):
                raise found.error from None
            result: tuple[Any, ...] = run_with_retry(found)
            return result

    def pullback(
        self, *args: Any, wrt: Any = None, has_aux: bool = False, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Return the value, and the function from its cotangent to those of the arguments.

        See `srcad.pullback`.
        """
        with short_traceback():
            found = self._of_arguments("pullback", args, kwargs, wrt, has_aux=has_aux)
            if isinstance(found, Failure):
                raise found.error from None
            with noted():
                result: tuple[Any, ...] = found()
            return result

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
    ) -> tuple[Any, ...]:
        """Return the value, and its derivative in one direction: see `srcad.jvp`."""
        with short_traceback():
            wrt = directions_of(self.function, primals, tangents)
            found = self._of_arguments("jvp", tuple(primals), {}, wrt, has_aux=has_aux)
            if isinstance(found, Failure):
                raise found.error from None
            result: tuple[Any, ...] = along(found, [tangents[k] for k in wrt])
            return result

    def _of_arguments(
        self,
        mode: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        wrt: Any = None,
        *,
        has_aux: bool = False,
    ) -> Callable[..., Any] | Failure:
        """Return the call of a derivative with the options of this one."""
        request = self.request
        return of_arguments(
            mode,
            self.function,
            args,
            kwargs,
            wrt,
            request.backend,
            has_aux=has_aux,
            check_finite=request.check_finite,
        )

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
        """Return a report on the compilation: see `srcad.inspect`."""
        with short_traceback():
            return inspection(self.function, self.request, args, kwargs)
