"""Rules of solvers by the equations that a solution solves: `implicit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from srcad.errors import RuleError
from srcad.rules.declare import adjoint
from srcad.rules.formulas import Place
from srcad.rules.functions import made, name_of_solver
from srcad.startup.records import dataclass
from srcad.startup.short_tracebacks import short_traceback

Residual = TypeVar("Residual", bound=Callable[..., Any])
Parameter = inspect.Parameter


@dataclass(frozen=True)
class Equations:
    """The name and the place of a residual, for warnings and errors."""

    name: str
    where: Place


def implicit(
    *targets: Any, active: tuple[str, ...] | None = None, override: bool = False
) -> Callable[[Residual], Residual]:
    """Register the residual that vanishes at the result of solvers: ``f(x, *params)``.

    The cotangents follow by the implicit function theorem: ``-inv(J).T @ x_bar`` is pulled back
    through the residual, where `J` is its Jacobian with respect to `x`.

    Parameters
    ----------
    *targets : callable
        The solvers.  A result is a number, an array, or a tuple or dict of these.
    active : tuple of str, optional
        The parameters with a derivative; by default all.  What the residual does not read has the
        derivative zero.  What a function captures has one.
    override : bool
        If True, the rule may replace one that came with srcad.

    Returns
    -------
    callable
        A decorator, which returns the residual unchanged.

    Raises
    ------
    RuleError
        The residual does not take `x` and then the parameters of the solver, by name, order and
        default; or, when a derivative is computed, it has not the structure and shapes of `x`.

    Examples
    --------
    >>> from srcad import grad, rules
    >>> def root_by_bisection(x, c, *, steps=60):
    ...     low, high = 0.0, x
    ...     for _ in range(steps):
    ...         middle = (low + high) / 2
    ...         if middle**3 + middle < c:
    ...             low = middle
    ...         else:
    ...             high = middle
    ...     return middle
    >>> @rules.implicit(root_by_bisection)
    ... def _(y, x, c, *, steps=60):
    ...     return y**3 + y - c
    >>> round(grad(root_by_bisection, "c")(2.0, 2.0), 6)
    0.25
    """

    def register(residual: Residual) -> Residual:
        with short_traceback():
            for target in targets:
                _register(target, residual, active, override)
            return residual

    return register


def _register(target: Any, residual: Any, active: tuple[str, ...] | None, override: bool) -> None:
    """Register the rule of one solver."""
    code = residual.__code__
    place = Place(code.co_filename, code.co_firstlineno)
    parameters = _parameters(target, residual, place)
    chosen = tuple(parameters) if active is None else active
    unknown = [name for name in chosen if name not in parameters]
    if unknown or not chosen:
        what = f"{unknown[0]!r} is no parameter" if unknown else "nothing to differentiate for"
        raise RuleError(f"{what} in the residual '{residual.__name__}'", where=place)
    name = name_of_solver(target)
    call = [f"{n}={n}" if p.kind is p.KEYWORD_ONLY else str(p).split("=")[0].split(":")[0]
            for n, p in parameters.items()]  # fmt: skip
    bars = ", ".join(f"bar_of_{n}" for n in chosen)
    text = (
        f"def {name}_rule(x_bar, {_unused('x', parameters)}, {_signature(parameters)}):\n"
        f"    def residual({', '.join((_unused('x', parameters), *chosen))}):\n"
        f"        return _residual({', '.join((_unused('x', parameters), *call))})\n"
        f"    {bars}, = _cotangents(residual, x_bar, {_unused('x', parameters)}, "
        f"({', '.join(chosen)},), _equations)\n"
        f"    return {bars}\n"
    )
    space = {f"_default_of_{n}": p.default for n, p in parameters.items()}
    space |= {
        "_residual": residual,
        "_cotangents": cotangents_of_arguments,
        "_equations": Equations(name, place),
    }
    stars = {n: f"*{n}" for n, p in parameters.items() if p.kind is p.VAR_POSITIONAL}
    names = tuple(stars.get(n, n) for n in chosen)
    adjoint(target, active=names, override=override)(made(text, f"{name}_rule", space))


def _unused(name: str, parameters: dict[str, Parameter]) -> str:
    while name in parameters:
        name = f"{name}_"
    return name


def _signature(parameters: dict[str, Parameter]) -> str:
    """Return the parameters as text; defaults are variables."""
    parts: list[str] = []
    for name, parameter in parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            parts.append(f"*{name}")
            continue
        has_star = any(part.startswith("*") for part in parts)
        if parameter.kind is Parameter.KEYWORD_ONLY and not has_star:
            parts.append("*")
        has_default = parameter.default is not Parameter.empty
        parts.append(f"{name}=_default_of_{name}" if has_default else name)
    return ", ".join(parts)


def _parameters(target: Any, residual: Any, place: Place) -> dict[str, Parameter]:
    """Return the parameters of a solver, which those of its residual must be after the first."""
    wanted = list(inspect.signature(target).parameters.values())
    given = list(inspect.signature(residual).parameters.values())[1:]
    same = len(wanted) == len(given) and all(
        a.name == b.name and a.kind == b.kind and _are_equal(a.default, b.default)
        for a, b in zip(wanted, given, strict=True)
    )
    if not same:
        form = ", ".join(str(p.replace(annotation=Parameter.empty)) for p in wanted)
        raise RuleError(
            f"the residual '{residual.__name__}' does not take the parameters of "
            f"{name_of_solver(target)!r}",
            where=place,
            why="it is called with the solution and then with the arguments of the solver.",
            help=f"def {residual.__name__}(solution, {form}): ...",
        )
    if any(p.kind is Parameter.VAR_KEYWORD for p in wanted):
        raise RuleError(
            f"the solver {name_of_solver(target)!r} takes arguments of any name",
            where=place,
            help="give it parameters with names, or write its rule with @srcad.rules.adjoint",
        )
    return {p.name: p for p in wanted}


def _are_equal(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(np.all(a == b)))


# ------------------------------------------------------------------- called by generated code
def cotangents_of_arguments(
    residual: Any, x_bar: Any, x: Any, arguments: Any, equations: Equations
) -> Any:
    """Stand for the cotangents of the arguments of a solver; the front end interprets a call."""
    raise NotImplementedError(residual, x_bar, x, arguments, equations)


def checked_residual(r: Any, x: Any, equations: Equations) -> Any:
    """Return a residual, which must have the structure and the shapes of the solution.

    Raises
    ------
    RuleError
        It has another one.
    """
    if _form(r) != _form(x):
        raise wrong_form(_form(r), _form(x), equations)
    return r


def wrong_form(of_residual: Any, of_solution: Any, equations: Equations) -> RuleError:
    """Return the error for a residual that has not the structure and shapes of the solution."""
    return RuleError(
        f"the residual of {equations.name!r} is {_words(of_residual)} where the solution is "
        f"{_words(of_solution)}",
        where=equations.where,
        why="there is one equation for each unknown.",
        help=f"return {_words(of_solution)}, or write the rule with @srcad.rules.adjoint",
    )


@adjoint(checked_residual, active=("r",), samples=())
def checked_residual_rule(y_bar, y, r, x, equations):
    """The same cotangent."""
    return y_bar


def _form(value: Any) -> Any:
    """Return the structure and the shapes of a number, an array, a tuple or a dict of these."""
    if isinstance(value, dict):
        return {key: _form(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_form(item) for item in value)
    if isinstance(value, int | float | np.ndarray | np.generic):
        return f"an array of shape {np.shape(value)}" if np.ndim(value) else "a number"
    return f"a {type(value).__name__}"


def _words(form: Any) -> str:
    """Return a structure in words."""
    if isinstance(form, dict):
        return f"a dict of {', '.join(f'{key!r}: {_words(item)}' for key, item in form.items())}"
    return f"a tuple of {', '.join(map(_words, form))}" if isinstance(form, tuple) else str(form)
