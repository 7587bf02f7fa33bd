"""Sparse Jacobians: the pattern once, then one direction for each colour, all at once.

A pattern is found by the first call with arguments of some shapes.  A later call may have other
entries, because the function goes another way or because an index has changed.  So each call takes
one random direction more, and each row of the sparse matrix has to give the same product with it.
In a colour without a column in a row, the product of the row has to be zero.  If not, the pattern
is found again, and both are united.

Where a product is infinite or nan it tells nothing.  The entries of such a row are computed as a
linear form, which also has the numbers that forward mode hides behind ``0 * inf``.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad.analysis.colouring import Ints, columns_coloured, readings, star_coloured
from srcad.analysis.supports import Form, Support, is_option, supports, units
from srcad.arguments.request import Request, name_of
from srcad.errors import InvalidIRError, UnsupportedTypeError
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Atom, Function
from srcad.ir.inference.builder import atom_type
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.reverse import derived
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.locks import importing
from srcad.startup.records import dataclass, field, once, replace
from srcad.transforms.batched import batched
from srcad.transforms.jvp import jvp
from srcad.transforms.silent import is_repeatable, silenced
from srcad.transforms.vjp import as_primal
from srcad.types.numeric import Numeric

# The functions of a sparse derivative: tangents in several directions, for one matrix.


def checked(function: Function, wrt: Sequence[int], results: Sequence[Atom]) -> None:
    """Check that the rows and columns are numbers of arrays, as a sparse matrix needs them.

    Raises
    ------
    UnsupportedTypeError
        An argument or the result is something else, or the function cannot be run twice.
    """
    for value in (*(function.params[k] for k in wrt), *results):
        type_ = atom_type(value)
        if not isinstance(type_, Numeric) or type_.kind not in "fiu":
            raise UnsupportedTypeError(
                "a sparse matrix of derivatives is taken of an array by arrays",
                where=function.where,
                why="its rows and columns are the numbers of one array.",
                help="pass, and return, one array:  np.concatenate(parts)",
            )
    if not is_repeatable(function):
        raise UnsupportedTypeError(
            "the pattern of a function that has effects is not looked for",
            where=function.where,
            why="the function would run once more, and its effects would happen twice.",
            help="leave out sparse=True, or the effects",
        )


def in_one_matrix(made: Function, problem: Problem, *, outputs: int, symmetric: bool) -> Results:
    """One function of the arguments, the captured values and many directions."""
    wrt, count = problem.wrt, len(made.params) - len(problem.wrt)
    directions = range(count, len(made.params))
    wide = batched(made, directions, lower_inline, results=range(outputs))
    part = Part(f"{problem.request.mode}_{problem.written_name}", simplify(dce(wide)), own=())
    asked = SparseRequest(made, wrt, outputs, name_of(problem.function))
    return Results(
        (part,),
        run=partial(_running, asked=asked, blocks=Blocks(problem), symmetric=symmetric),
        silenced=lambda: (replace(part, function=silenced(part.function)),),
        repeats=True,
    )


class Blocks:
    """In which order the blocks of a matrix are answered, and whether there is only one."""

    def __init__(self, problem: Problem) -> None:
        self.wrt = problem.wrt
        self.order = problem.order
        self.single = problem.request.single

    def of(self, matrix: Any, arguments: Sequence[Any], *, symmetric: bool = False) -> Any:
        """Return the answer: the matrix, or its blocks."""
        if self.single:
            return matrix
        stops = np.cumsum([0, *(np.size(arguments[k]) for k in self.wrt)])
        spans = [slice(stops[k], stops[k + 1]) for k in self.order]
        if symmetric:
            return tuple(tuple(matrix[a, b] for b in spans) for a in spans)
        return tuple(matrix[:, span] for span in spans)


def _running(loaded: Run, asked: SparseRequest, blocks: Blocks, symmetric: bool) -> Run:
    sparse = Sparse(asked, loaded, symmetric)

    def run(*arguments: Any) -> Any:
        return blocks.of(sparse(*arguments), arguments, symmetric=symmetric)

    return run


_TOGETHER = 20_000  # numbers in the directions that are taken together: what fits near a processor
_MOST_PLANS = 16
_MOST_NOISE = 64.0  # times the rounding error that is seen in five samples
_NONE: Ints = np.empty(0, np.intp)


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a matrix may have entries: the columns of each row, in order."""

    starts: Ints
    columns: Ints
    width: int

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @once
    def flags(self) -> Any:
        """Return the sparse matrix of the entries."""
        flags = np.ones(len(self.columns), bool)
        shape = (self.height, self.width)
        return _scipy_sparse().csr_array((flags, self.columns, self.starts), shape=shape)

    def matrix(self, data: Any) -> Any:
        """Return the sparse matrix with these entries; all of it is its own."""
        made = copy.copy(self.flags)  # what it is made of is known to fit
        made.data, made.indices, made.indptr = data, made.indices.copy(), made.indptr.copy()
        return made

    def united(self, other: Pattern) -> Pattern:
        """Return the pattern that has the entries of both."""
        return pattern_of(self.flags + other.flags)

    def symmetric(self) -> Pattern:
        """Return the pattern with its transpose, and with a diagonal."""
        diagonal = _scipy_sparse().eye_array(self.width, dtype=bool)
        return pattern_of(self.flags + self.flags.T + diagonal)


def _scipy_sparse() -> Any:
    """Import ``scipy.sparse``, which is optional: only sparse derivatives need it."""
    with importing:
        return importlib.import_module("scipy.sparse")


def pattern_of(matrix: Any) -> Pattern:
    rows = _scipy_sparse().csr_array(matrix)
    rows.sort_indices()
    return Pattern(rows.indptr.astype(np.intp), rows.indices.astype(np.intp), rows.shape[1])


@dataclass(frozen=True, eq=False)
class SparseRequest:
    """The request for a sparse derivative: a derived function and the places of its parts.

    `function` returns so many tangents, its `outputs`; the arguments at `wrt` move.
    """

    function: Function
    wrt: Sequence[int]
    outputs: int
    name: str

    def pattern(self, arguments: Sequence[Any]) -> Pattern:
        """Return the pattern of the Jacobian at these arguments."""
        found = supports(self.function, (*arguments, *self._units(arguments, Support)))
        rows = [_inputs(y_dot, {}) for y_dot in found]
        columns = [one for part in rows for one in part]
        starts = np.concatenate(([0], np.cumsum([len(one) for one in columns], dtype=np.intp)))
        return Pattern(starts, np.concatenate([_NONE, *columns]), self._width(arguments))

    def rows(self, arguments: Sequence[Any], wanted: Sequence[int]) -> dict[int, dict[int, Any]]:
        """Return some rows, each with its entries by column; nan where they are not known."""
        dots = self._units(arguments, Form)
        found = supports(self.function, (*arguments, *dots), branches=False)
        entries = np.concatenate([np.asarray(y_dot, object).ravel() for y_dot in found])
        forms = [entries[row] for row in wanted]
        with np.errstate(all="ignore"):
            rows = [form.derivatives() if isinstance(form, Form) else {} for form in forms]
        return dict(zip(wanted, rows, strict=True))

    def _units(self, arguments: Sequence[Any], kind: Any) -> list[Any]:
        """Return the tangents of the arguments at `wrt`, as sets or forms of their inputs."""
        start, dots = 0, []
        for k in self.wrt:
            dots.append(units(np.shape(arguments[k]), start, kind))
            start += np.size(arguments[k])
        return dots

    def _width(self, arguments: Sequence[Any]) -> int:
        return sum(np.size(arguments[k]) for k in self.wrt)


def _inputs(y_dot: Any, known: dict[int, Ints]) -> list[Ints]:
    """For each number of a result the inputs that it depends on; those of one set are shared."""
    entries = np.asarray(y_dot, object).ravel()
    for entry in entries:
        if isinstance(entry, Support) and id(entry) not in known:
            known[id(entry)] = entry.inputs()
    return [known.get(id(entry), _NONE) for entry in entries]


@dataclass(eq=False)
class Plan:
    """How a matrix of one pattern is computed: the directions, and where its entries are read.

    The last direction is a random one.  So many of them are taken `together`.  The products with
    the others are zero at the places `zeros`: the row has no column of the colour.
    """

    pattern: Pattern
    directions: Any
    places: Ints
    zeros: Ints
    together: int

    @classmethod
    def of(cls, pattern: Pattern, *, symmetric: bool) -> Plan:
        """Colour the columns of a pattern."""
        starts, columns, width = pattern.starts, pattern.columns, pattern.width
        if symmetric:
            colours = star_coloured(starts, columns)
        else:
            colours = columns_coloured(starts, columns, width)
        found, rows = readings(starts, columns, colours)
        count = int(np.max(colours, initial=-1)) + 1
        directions = np.zeros((count + 1, width))
        directions[colours, np.arange(width)] = 1.0
        rng = np.random.default_rng(width)
        directions[-1] = rng.choice((-1.0, 1.0), width) * rng.uniform(0.5, 1.5, width)
        together = min(max(1, _TOGETHER // max(1, width)), 64)
        is_zero = np.ones(count * pattern.height, bool)
        own = np.repeat(np.arange(pattern.height), np.diff(starts))
        is_zero[colours[columns] * pattern.height + own] = False
        zeros = np.flatnonzero(is_zero)
        return cls(pattern, directions, found * pattern.height + rows, zeros, together)


@dataclass(eq=False)
class Computed:
    """The products of one call, and the matrix that is read from them.

    Rows of which not all products are finite have `forms`, their entries by column.
    """

    plan: Plan
    products: Any
    matrix: Any
    forms: dict[int, dict[int, Any]]

    @property
    def direction(self) -> Any:
        """The random direction."""
        return self.plan.directions[-1]

    @property
    def product(self) -> Any:
        """The product with the random direction."""
        return self.products[-1]

    def apart(self) -> Any:
        """Return the differences of the products with the random direction."""
        apart = self.matrix @ self.direction
        apart -= self.product
        return np.abs(apart, out=apart)

    def sums(self, rows: Ints) -> Any:
        """Return the sums of the magnitudes of the terms of these products, for some rows."""
        starts, columns = self.plan.pattern.starts, self.plan.pattern.columns
        lengths = starts[rows + 1] - starts[rows]
        stops = np.cumsum(lengths)
        places = np.arange(lengths.sum()) + np.repeat(starts[rows] + lengths - stops, lengths)
        terms = np.abs(self.matrix.data[places] * self.direction[columns[places]])
        return np.bincount(np.repeat(np.arange(len(rows)), lengths), terms, len(rows))

    def has_forms_elsewhere(self) -> bool:
        """Return True if a form has an entry that the pattern lacks."""
        starts, columns = self.plan.pattern.starts, self.plan.pattern.columns
        return not all(
            form.keys() <= set(columns[starts[row] : starts[row + 1]].tolist())
            for row, form in self.forms.items()
        )

    def has_product_elsewhere(self) -> bool:
        """Return True if a finite row has a product with a colour of which it has no column."""
        zeros = self.plan.zeros
        if self.forms:
            zeros = zeros[~np.isin(zeros % self.plan.pattern.height, list(self.forms))]
        return bool(self.products.ravel().take(zeros).any())

    def differing(self) -> Any:
        """Return the finite rows in which the product and the sparse matrix disagree.

        A difference is larger than rounding explains in a sum of the entries of the row.
        """
        eps = float(np.finfo(self.product.dtype).eps)
        small = min(500 * eps, eps**0.45)
        with np.errstate(all="ignore"):
            apart = self.apart()
            rows = np.flatnonzero(~(apart <= small * np.abs(self.product)))
            if not len(rows):
                return rows
            rows = rows[~(apart[rows] <= small * self.sums(rows))]
        return np.setdiff1d(rows, list(self.forms)) if self.forms else rows

    def agrees(self) -> bool:
        """Return True if the products are, up to rounding, those of the matrix."""
        small = float(np.finfo(self.product.dtype).eps)
        with np.errstate(all="ignore"):
            apart, scale = self.apart(), np.abs(self.product)
            sums = self.sums(np.arange(len(scale)))
            most = 5000 * small * np.max(scale[np.isfinite(scale)], initial=0.0)
            near = apart <= small**0.45 * (scale + sums) + most
            near |= ~np.isfinite(sums) & ~np.isfinite(self.product)
        return bool(near.all())

    def fill(self, *, symmetric: bool) -> None:
        """Replace entries that are nan by those of the forms.

        A form counts if it has the finite entries of its row.
        """
        starts, columns = self.plan.pattern.starts, self.plan.pattern.columns
        unknown = np.flatnonzero(np.isnan(self.matrix.data))
        rows = np.searchsorted(starts, unknown, "right") - 1
        trusted = {row: self._is_trusted(row) for row in self.forms}
        for place, row in zip(unknown.tolist(), rows.tolist(), strict=True):
            column = int(columns[place])
            if trusted.get(row):
                self.matrix.data[place] = self.forms[row].get(column, 0.0)
            elif symmetric and trusted.get(column):
                self.matrix.data[place] = self.forms[column].get(row, 0.0)

    def _is_trusted(self, row: int) -> bool:
        pattern, form = self.plan.pattern, self.forms[row]
        span = slice(pattern.starts[row], pattern.starts[row + 1])
        pairs = zip(pattern.columns[span].tolist(), self.matrix.data[span].tolist(), strict=True)
        return not any(map(np.iscomplexobj, form.values())) and all(
            abs(form.get(column, 0.0) - entry) <= 1e-3 * abs(entry)
            for column, entry in pairs
            if np.isfinite(entry)
        )


@dataclass(eq=False)
class Sparse:
    """A sparse derivative that has been compiled: called with arguments, it returns a matrix."""

    asked: SparseRequest
    loaded: Run
    symmetric: bool
    plans: dict[Any, Plan] = field(default_factory=dict)

    def __call__(self, *arguments: Any) -> Any:
        """Return the matrix at these arguments.

        Raises
        ------
        InvalidIRError
            The pattern that was just found lacks an entry.
        """
        key = tuple(map(_kind, arguments))
        plan = self.plans.get(key)
        fresh = plan is None
        if plan is None:
            plan = self._planned(key, self.asked.pattern(arguments))
        made = self._computed(plan, arguments)
        if not fresh and self._may_lack_entries(made, arguments):
            united = plan.pattern.united(self.asked.pattern(arguments))
            if len(united.columns) > len(plan.pattern.columns):
                made = self._computed(self._planned(key, united), arguments)
            fresh = True
        if fresh and not self._fits(made, arguments):
            raise InvalidIRError(
                f"the pattern found for {self.asked.name!r} lacks entries of the matrix",
                why="the product with a random vector is another than that of the sparse matrix.",
                help="leave out sparse=True, and report the function",
            )
        return made.matrix

    def _planned(self, key: Any, pattern: Pattern) -> Plan:
        if len(self.plans) >= _MOST_PLANS:
            self.plans.pop(next(iter(self.plans)), None)
        if self.symmetric:
            pattern = pattern.symmetric()
        plan = self.plans[key] = Plan.of(pattern, symmetric=self.symmetric)
        return plan

    def _computed(self, plan: Plan, arguments: Sequence[Any]) -> Computed:
        """Compute the products of a plan, and the entries of the rows that are not finite."""
        products = self._products(plan, arguments)
        matrix = plan.pattern.matrix(products.ravel().take(plan.places))
        made = Computed(plan, products, matrix, {})
        if not np.isfinite(_largest(products[-1])):
            rows = np.flatnonzero(~np.isfinite(products).all(axis=0))
            made.forms.update(self.asked.rows(arguments, rows.tolist()))
            made.fill(symmetric=self.symmetric)
        return made

    def _may_lack_entries(self, made: Computed, arguments: Sequence[Any]) -> bool:
        """Return True if the pattern of an earlier call may lack entries of this one."""
        if made.has_forms_elsewhere() or made.has_product_elsewhere():
            return True
        return not self._is_rounding(made, made.differing(), arguments)

    def _fits(self, made: Computed, arguments: Sequence[Any]) -> bool:
        """Return True if a pattern that was found at these arguments proves right."""
        if made.has_product_elsewhere():
            return False
        return made.agrees() or self._is_rounding(made, made.differing(), arguments)

    def _is_rounding(self, made: Computed, rows: Ints, arguments: Sequence[Any]) -> bool:
        """Return True if the products of rows differ from the matrix by rounding errors.

        Where large terms cancel, these are larger than the entries tell.  Then they differ between
        multiples of a direction, too.
        """
        if not len(rows):
            return True
        factors = np.array([3.0, 5.0, 7.0, 11.0, 13.0])
        multiples = self._product(np.multiply.outer(factors, made.direction), arguments)[:, rows]
        product = made.product[rows]
        with np.errstate(all="ignore"):
            noise = np.abs(multiples / factors[:, None] - product).max(axis=0)
            return bool((made.apart()[rows] <= _MOST_NOISE * noise).all())

    def _products(self, plan: Plan, arguments: Sequence[Any]) -> Any:
        """Return the products of the matrix with all directions of a plan, as rows."""
        dtype = np.result_type(*(_dtype(arguments[k]) for k in self.asked.wrt))
        starts = range(0, len(plan.directions), plan.together)
        some = [self._product(plan.directions[k : k + plan.together], arguments) for k in starts]
        products = some[0] if len(some) == 1 else np.concatenate(some)
        return products.astype(dtype, copy=False)

    def _product(self, directions: Any, arguments: Sequence[Any]) -> Any:
        """Return the products of the matrix with some directions, as rows."""
        stop, dots = 0, []
        for k in self.asked.wrt:
            start, stop = stop, stop + np.size(arguments[k])
            part = directions[:, start:stop].astype(_dtype(arguments[k]), copy=False)
            dots.append(part.reshape(len(part), *np.shape(arguments[k])))
        found = self.loaded(*arguments, *dots, len(directions))
        if self.asked.outputs == 1:
            return np.reshape(found, (len(directions), -1))
        flat = [np.reshape(y_dot, (len(directions), -1)) for y_dot in found]
        return np.concatenate(flat, axis=1)


def _dtype(argument: Any) -> Any:
    dtype = getattr(argument, "dtype", None)
    return dtype if dtype is not None and dtype.kind == "f" else np.dtype(float)


def _kind(argument: Any) -> Any:
    """Return the key of a cached pattern: shapes and options."""
    if is_option(argument):
        return argument
    return np.shape(argument) if isinstance(argument, np.ndarray) else type(argument)


def _largest(numbers: Any) -> Any:
    """Return the largest magnitude; nan if there is one."""
    return np.maximum(numbers.max(initial=0.0), -numbers.min(initial=0.0))


# ``jacobian`` with ``sparse=True``: the Jacobian as a sparse matrix.


def jacobian_tangents(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the tangent of its result; its last parameters are tangents."""
    checked(function, wrt, function.block.results)
    return jvp(function, wrt, lower_inline, values=(), tangents=(0,))


JACOBIAN = Mode(
    "sparse_jacobian",
    "Sparse Jacobian",
    jacobian_tangents,
    partial(in_one_matrix, outputs=1, symmetric=False),
)


# ``hessian`` with ``sparse=True``: the Hessian as a sparse matrix, forward over reverse.


def hessian_tangents(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the tangents of its gradients; its last parameters are tangents."""
    checked(function, wrt, ())
    made = as_primal(derived(function, request, wrt))
    gradients = range(1, len(made.block.results))
    return jvp(made, wrt, lower_inline, values=(), tangents=gradients)


def in_symmetric_matrix(made: Function, problem: Problem) -> Results:
    """Return one matrix, whose rows belong to the same arguments as its columns."""
    return in_one_matrix(made, problem, outputs=len(problem.wrt), symmetric=True)


HESSIAN = Mode("sparse_hessian", "Sparse Hessian", hessian_tangents, in_symmetric_matrix)


# ``sparsity``: where a Jacobian may have entries, as a sparse matrix of flags.


def in_flags(made: Function, problem: Problem) -> Results:
    """Write the function of one direction; what runs is its meaning on sets of inputs."""
    asked = SparseRequest(made, problem.wrt, 1, name_of(problem.function))
    blocks = Blocks(problem)

    def running(loaded: Run) -> Run:
        def run(*arguments: Any) -> Any:
            return blocks.of(asked.pattern(arguments).flags, arguments)

        return run

    part = Part(f"sparsity_{problem.written_name}", made, own=())
    return Results((part,), run=running, repeats=True)


PATTERN = Mode("sparsity", "Pattern of the Jacobian", jacobian_tangents, in_flags)
