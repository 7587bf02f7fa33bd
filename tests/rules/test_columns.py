"""What a row tells of a function holds on its samples, and what holds there is told."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import io
import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest

from srcad import runtime
from srcad.frontend.store.memory_effects import keeps_c_order
from srcad.ir.library_operations import is_elementwise
from srcad.rules.registry import declared_result, effect_of, row_of, rows
from srcad.startup.identifiers import module_of
from tests.modes.test_jvp import SAMPLES

CALLS: dict[Any, list[tuple[Any, Any]]] = {}
for function, args, kwargs in SAMPLES:
    CALLS.setdefault(function, []).append((args, kwargs))
LINEAR = [f for f in CALLS if row_of(f).kind == "linear"]
# What casts or takes each entry as it is, and what is made of one number.
NOT_MOVED = {"float", "float64", "conjugate", "full"}


def numbers(value: Any) -> np.ndarray:
    """All real numbers in a structure, one after the other."""
    if isinstance(value, list | tuple):
        return np.concatenate([np.zeros(0), *map(numbers, value)])
    if isinstance(value, np.ndarray | np.floating | float):
        array = np.asarray(value)
        return array.ravel() if array.dtype.kind == "f" else np.zeros(0)
    return np.zeros(0)


def moves(f: Any, args: Any, kwargs: Any) -> bool:
    """Return True if all numbers in the result are numbers of the operands, or 0."""
    given, found = numbers([*args, *kwargs.values()]), numbers(f(*args, **kwargs))
    return found.size > 0 and bool(np.isin(found, np.append(given, 0.0)).all())


@pytest.mark.parametrize("f", LINEAR, ids=lambda f: f.__name__)
def test_rows_of_functions_that_move_entries_say_so(f):
    found = all(moves(f, args, kwargs) for args, kwargs in CALLS[f])

    assert (row_of(f).entries == "moved") == (found and f.__name__ not in NOT_MOVED)


def changes_sign(f: Any, args: Any, kwargs: Any) -> bool:
    """Return True if the result has the other sign where all arrays and numbers have."""
    given, options = negated(args), {name: negated(arg) for name, arg in kwargs.items()}
    return np.array_equal(numbers(f(*given, **options)), -numbers(f(*args, **kwargs)))


def negated(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(negated, value))
    is_number = isinstance(value, float) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f"
    )
    return -value if is_number else value


ADJOINT = [f for f in CALLS if row_of(f).kind == "adjoint" and module_of(f) == "numpy"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", ADJOINT, ids=lambda f: f.__name__)
def test_rows_of_functions_that_move_entries_whatever_they_are_say_so(f):
    found = all(moves(f, *call) and changes_sign(f, *call) for call in CALLS[f])

    told = row_of(f).entries == "moved"
    assert told == found, f"column entries of {f.__name__}"


MOVING = [f for f in LINEAR if row_of(f).entries == "moved"]


@pytest.mark.parametrize("f", MOVING, ids=lambda f: f.__name__)
def test_zeros_are_beside_moved_entries_where_a_row_says_so(f):
    found = False
    for args, kwargs in CALLS[f]:
        has_zeros = (numbers([*args, *kwargs.values()]) == 0).any()
        found |= not has_zeros and bool((numbers(f(*args, **kwargs)) == 0).any())

    assert row_of(f).adds_zeros == found


EACH = [f for f in CALLS if row_of(f).nan == "stays"]


@pytest.mark.parametrize("f", EACH, ids=lambda f: f.__name__)
def test_nan_stays_where_a_row_says_so(f):
    for args, kwargs in CALLS[f]:
        for k, arg in enumerate(args):
            if isinstance(arg, np.ndarray) and arg.ndim:
                given = [*args]
                given[k] = np.where(np.arange(arg.size).reshape(arg.shape) == 0, np.nan, arg)
                assert np.isnan(f(*given, **kwargs)).ravel()[0]


LEFT_OUT = [f for f in CALLS if row_of(f).nan == "left out"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", LEFT_OUT, ids=lambda f: f.__name__)
def test_nan_is_left_out_where_a_row_says_so(f):
    for args, kwargs in CALLS[f]:
        if isinstance(args[0], np.ndarray) and args[0].size > 1 and not kwargs:
            given = np.where(np.arange(args[0].size).reshape(args[0].shape) == 1, np.nan, args[0])
            assert not np.isnan(f(given, *args[1:])).all()


# ------------------------------------------------------------------------ memory order
def arranged(array: np.ndarray, way: int) -> np.ndarray:
    """An array with its axes in some order in memory; the last ways have gaps or run backwards."""
    if array.ndim < 2:
        return array
    orders = list(itertools.permutations(range(array.ndim)))
    if way < len(orders):
        axes = orders[way]
        return np.ascontiguousarray(array.transpose(axes)).transpose(np.argsort(axes))
    if way == len(orders):
        return np.repeat(array.T, 2, axis=0)[::2].T
    return np.asfortranarray(array[..., ::-1])[..., ::-1]


def arranged_all(value: Any, way: int) -> Any:
    if isinstance(value, np.ndarray):
        return arranged(value, way)
    if isinstance(value, list | tuple):
        return type(value)(arranged_all(item, way) for item in value)
    return value


def arrays(value: Any, axes: int = 0) -> list[np.ndarray]:
    """All arrays in a structure that have so many axes at least."""
    if isinstance(value, list | tuple):
        return [array for item in value for array in arrays(item, axes)]
    return [value] if isinstance(value, np.ndarray) and value.ndim >= axes else []


def axes_in_memory(array: np.ndarray) -> list[int]:
    """The axes from the longest stride to the shortest, without those of length 1."""
    axes = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
    return [k for k in axes if array.shape[k] > 1]


@functools.cache
def results_in_orders(f: Any) -> list[tuple[list[np.ndarray], np.ndarray]]:
    """Matrices given and new matrices returned, for samples with operands in every order."""
    found = []
    for args, kwargs in CALLS[f]:
        largest = max((a.ndim for a in arrays(list(args))), default=0)
        for way in range(math.factorial(min(largest, 4)) + 2):
            ordered = arranged_all(tuple(args), way)
            result, given = f(*ordered, **kwargs), arrays(list(ordered))
            if not isinstance(result, np.ndarray) or len(axes_in_memory(result)) < 2:
                continue
            if not any(np.shares_memory(result, one) for one in given):
                found.append((arrays(given, 2), result))
    return found


def is_ordered(array: np.ndarray) -> bool:
    return bool(array.flags.c_contiguous)


def holds(f: Any, order: str) -> bool:
    """Return True if all new results of the samples lie as the word says."""
    if order == "follows":
        return all(
            axes_in_memory(result) == axes_in_memory(one)
            for given, result in results_in_orders(f)
            for one in given
            if {result.shape} == {other.shape for other in given}
        )
    if order == "keeps":
        cases = [(g, r) for g, r in results_in_orders(f) if all(map(is_ordered, g))]
    elif order == "stacks":
        cases = [(g, r) for g, r in results_in_orders(f) if all(a.ndim < 4 for a in g)]
        cases = [(g, r) for g, r in cases if g]
    else:
        cases = results_in_orders(f)
    return all(is_ordered(result) for _, result in cases)


def is_tried(f: Any) -> bool:
    """Return True if some sample shows more than that results of C order are in C order."""
    return any(not all(map(is_ordered, given)) for given, _ in results_in_orders(f))


def by_name(f: Any) -> str:
    return f"{module_of(f)}.{getattr(f, '__name__', f)}"


# Reads of parts are an operation of the compiler, which has rules for their layout.
ORDERED = sorted(
    (f for f in CALLS if not module_of(f).startswith("srcad") and f is not operator.getitem),
    key=by_name,
)
# In C order for all samples, and not told: results of SciPy depend on its version, loops over
# stacks are only tried with one axis, and options decide.
STACKS = {
    np.linalg.cholesky, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.pinv, np.linalg.svd,
    np.linalg.qr, np.linalg.tensorinv, np.matvec, np.vecmat, np.polyfit,
}  # fmt: skip
BY_OPTIONS = {np.tile, np.resize, np.percentile, np.quantile, np.corrcoef, np.cov}
# In C order for all samples where operands are: no sample varies the axis or the option.
WITHOUT_SAMPLES = {np.logspace, np.nanmedian, np.einsum}
# As their operands lie, or in C order where these are, for all samples, and not asked so far;
# besides those of some modules.
NOT_TOLD = STACKS | BY_OPTIONS | {
    np.maximum.accumulate, np.minimum.accumulate, np.fmax.accumulate, np.fmin.accumulate,
    np.logaddexp.reduce, np.logaddexp2.reduce, np.hypot.reduce, np.add.reduceat, np.block,
    np.column_stack, np.cumulative_prod, np.cumulative_sum, np.dstack, np.gradient, np.insert,
    np.kron, np.linalg.matrix_power, np.linalg.norm, np.linalg.tensorinv, np.linalg.vector_norm,
    np.median, np.nancumprod, np.nancumsum, np.nanmax, np.nanmean, np.nanmin, np.nanprod, np.nanstd,
    np.nansum, np.nanvar, np.pad, np.partition, np.polyval, np.sort, np.std, np.take_along_axis,
    np.trapezoid, np.unwrap, np.var,
}  # fmt: skip
# In C order for all samples, though not for all operands.
ALWAYS_C: set[Any] = set()


def is_asked_for_order(f: Any) -> bool:
    """Return True if a function that makes new arrays could say how they lie."""
    is_view = row_of(f).memory in ("view", "read-only view", "view or copy")
    others = ("scipy", "numpy.fft", "numpy.polynomial")
    return not is_view and not module_of(f).startswith(others) and f not in NOT_TOLD


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", ORDERED, ids=by_name)
def test_results_lie_in_memory_as_the_row_says(f):
    order = row_of(f).order
    laid_out = is_elementwise(f) and order == ""

    if order in ("C", "stacks", "follows", "keeps"):
        assert holds(f, order)
    if laid_out:
        assert holds(f, "follows")
    if order not in ("other", "gaps", "reshaped") and keeps_c_order(f):
        assert holds(f, "keeps")
    if order == "other" and is_tried(f):
        assert not holds(f, "keeps") or f in WITHOUT_SAMPLES
    if order == "" and not laid_out and is_tried(f) and is_asked_for_order(f):
        assert not holds(f, "keeps"), f"column order of {by_name(f)}"
    if order in ("follows", "keeps") and is_tried(f):
        assert not holds(f, "C") or f in ALWAYS_C, f"column order of {by_name(f)}"
    if order == "" and not laid_out and not module_of(f).startswith("scipy") and is_tried(f):
        assert not holds(f, "C") or f in STACKS | BY_OPTIONS


def has_gaps(f: Any) -> bool:
    """Return True if a sample returns a new array of one axis whose entries are not in a row."""
    for args, kwargs in CALLS[f]:
        result, given = f(*args, **kwargs), arrays(list(args))
        for one in arrays([result]):
            is_new = not any(np.shares_memory(one, other) for other in given)
            if one.ndim == 1 and one.size > 1 and is_new and not is_ordered(one):
                return True
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", ORDERED, ids=by_name)
def test_new_arrays_of_one_axis_lie_in_a_row_unless_the_row_says_otherwise(f):
    is_view = row_of(f).memory in ("view", "read-only view", "view or copy")

    assert is_view or row_of(f).order == "gaps" or not has_gaps(f), f"column order of {by_name(f)}"


def order_of_view(f: Any) -> str:
    """Return how the views of samples lie if the operands are in C order."""
    orders = set()
    for args, kwargs in CALLS[f]:
        a = np.ascontiguousarray(args[0]) if isinstance(args[0], np.ndarray) else args[0]
        view = f(a, *args[1:], **kwargs)
        if isinstance(view, np.ndarray) and isinstance(a, np.ndarray) and a.size > 1:
            is_part = view.size != a.size or 0 in view.strides
            orders.add("part" if is_part else "shows" if is_ordered(view) else "turned")
    return next((word for word in ("part", "turned", "shows") if word in orders), "")


# Views of which it is not told so far.
NO_ORDER = {
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.linalg.matrix_transpose, np.rollaxis, np.fliplr,
    np.flipud, np.rot90, np.lib.stride_tricks.sliding_window_view, np.diagonal, np.linalg.diagonal,
}  # fmt: skip


@pytest.mark.parametrize(
    "f",
    [f for f in CALLS if row_of(f).memory in ("view", "read-only view") and f is not np.diag],
    ids=by_name,
)
def test_views_lie_in_memory_as_the_row_says(f):
    told = row_of(f).order

    found = "part" if f is np.real else "" if f in NO_ORDER else order_of_view(f)
    assert told == found, f"column order of {by_name(f)}"


def test_loops_over_stacks_go_in_the_order_of_memory():
    a = np.ones((2, 3, 4, 4)).transpose(1, 0, 2, 3)

    assert not (a @ a).flags.c_contiguous
    assert not np.linalg.inv(a + np.eye(4)).flags.c_contiguous
    assert not np.dot(2.0, np.ones((2, 3, 4)).T).flags.c_contiguous


# ------------------------------------------------------------------------ cost
VIEWS = [f for f in CALLS if row_of(f).memory in ("view", "read-only view", "view or copy")]
# Views that are kept so far, though they cost nothing.
KEPT = {
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.linalg.matrix_transpose, np.matrix_transpose,
    np.rollaxis, np.flip, np.fliplr, np.flipud, np.rot90, np.real, np.diagonal,
    np.linalg.diagonal, np.lib.stride_tricks.sliding_window_view, np.diag,
}  # fmt: skip


@pytest.mark.parametrize("f", VIEWS, ids=by_name)
def test_views_cost_nothing_as_the_row_says(f):
    assert (row_of(f).cost == "nothing") == (f not in KEPT)


@pytest.mark.parametrize("f", [f for f in CALLS if row_of(f).cost == "nothing"], ids=by_name)
def test_results_share_memory_where_a_row_says_that_they_cost_nothing(f):
    for args, kwargs in CALLS[f]:
        given = (np.ascontiguousarray(args[0]), *args[1:])
        in_order = [a for a in (*args[1:], *kwargs.values()) if isinstance(a, str)]
        assert in_order or np.shares_memory(f(*given, **kwargs), given[0])


# ------------------------------------------------------------------------ what a call does besides
class Attributes:
    """An object with one attribute."""

    def __init__(self) -> None:
        self.name = 1


# Calls with objects that tell afterwards whether something has changed.
EFFECTS: dict[str, list[tuple[Any, Any, tuple[Any, ...]]]] = {
    "sets": [(setattr, Attributes, ("name", 2))],
    "deletes": [(delattr, Attributes, ("name",))],
    "keeps": [(operator.setitem, lambda: [1], (0, 2)), (list.append, list, (2,))],
    "removes": [(operator.delitem, lambda: [1], (0,))],
    "advances": [(next, lambda: iter([1, 2]), ())],
    "": [
        (operator.getitem, lambda: [1], (0,)), (getattr, Attributes, ("name",)),
        (hasattr, Attributes, ("name",)), (len, lambda: [1], ()), (sorted, lambda: [2, 1], ()),
    ],
}  # fmt: skip


def contents(given: Any) -> list[Any]:
    """Return the attributes or the items of an object."""
    return [*vars(given).items()] if isinstance(given, Attributes) else [*given]


@pytest.mark.parametrize(
    ("word", "f", "make", "args"),
    [(word, *call) for word, calls in EFFECTS.items() for call in calls],
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_call_changes_its_first_argument_where_a_row_says_so(word, f, make, args):
    given = make()

    f(given, *args)

    after = contents(given)
    assert effect_of(f) == word
    assert (after != contents(make())) == (word != "")
    if word in ("sets", "keeps"):
        held = dict(after).values() if word == "sets" else after
        assert args[-1] in held


@pytest.mark.parametrize("f", [print, input, open, len, str], ids=lambda f: f.__name__)
def test_call_prints_or_reads_where_a_row_says_so(f, capsys, monkeypatch, tmp_path):
    path = tmp_path / "text"
    contents = []
    for text in ("one", "two"):
        path.write_text(text)
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        made = f(*([] if f is input else [str(path)]))
        contents.append(made.read() if f is open else made)
        if f is open:
            made.close()
    printed = capsys.readouterr().out

    found = "prints" if printed else "reads" if contents[0] != contents[1] else ""
    assert effect_of(f) == found, f"column effect of {f.__name__}"


@pytest.mark.parametrize("f", [iter, object], ids=lambda f: f.__name__)
def test_two_equal_calls_make_two_objects_where_a_row_says_so(f):
    args = ([1],) if f is iter else ()

    assert effect_of(f) == "makes"
    assert f(*args) is not f(*args)


def result_for_text(f: Any) -> Any:
    """Return what a builtin makes of a text; None where it takes no text, or does more."""
    try:
        return f("0.5")
    except (TypeError, ValueError):
        return None


BUILTINS = [f for f in vars(builtins).values() if callable(f) and effect_of(f) == ""]
BUILTINS = [f for f in BUILTINS if not isinstance(f, type) or f is str]
BUILTINS = [f for f in BUILTINS if row_of(f).kind or row_of(f).gives]
# A number that does not depend on the contents of its operand.
NO_MEASURE = {id}


@pytest.mark.parametrize("f", BUILTINS, ids=by_name)
def test_builtin_gives_what_its_row_says(f):
    made = result_for_text(f)
    is_measure = type(made) is int and f not in NO_MEASURE

    assert (row_of(f).gives == "text") == (isinstance(made, str) and f not in (max, min))
    assert (row_of(f).gives == "measure") == is_measure


# ------------------------------------------------------------------------ iteration
BEFORE: dict[Any, tuple[Any, ...]] = {
    map: (abs,), filter: (bool,), itertools.takewhile: (bool,), itertools.dropwhile: (bool,),
    itertools.filterfalse: (bool,), itertools.starmap: (max,), functools.reduce: (operator.add,),
}  # fmt: skip
BEHIND: dict[Any, tuple[Any, ...]] = {
    itertools.islice: (1,), itertools.combinations: (2,), itertools.permutations: (2,)
}  # fmt: skip
# What goes through an argument without a row: no program with a derivative needs it.
WITHOUT_ROW = {
    itertools.compress, itertools.count, itertools.repeat, itertools.combinations_with_replacement,
    itertools.tee, getattr(itertools, "batched", None),
}  # fmt: skip
ITERATING = [
    f for f in vars(itertools).values()
    if getattr(f, "__module__", "") == "itertools" and f.__name__[0] != "_"
]  # fmt: skip
ITERATING += [any, all, enumerate, filter, frozenset, functools.reduce, list, map, math.fsum]
ITERATING += [math.prod, max, min, set, sorted, sum, tuple, zip]


@pytest.mark.parametrize("f", ITERATING, ids=lambda f: f.__name__)
def test_function_goes_through_arguments_as_its_row_says(f):
    row = row_of(f)
    if f in WITHOUT_ROW:
        assert row.iterates == ""
        return
    asked = []

    def values(name):
        for k in range(3):
            asked.append((name, k))
            yield (k, k) if f is itertools.starmap else k + 1

    start, stop = row.iterated
    count = 2 if stop is None else stop - start
    f(*BEFORE.get(f, ()), *(values(name) for name in range(count)), *BEHIND.get(f, ()))

    assert start == len(BEFORE.get(f, ()))
    if row.iterates == "as needed":
        assert asked == []
    if row.iterates in ("all", "at once"):
        assert asked == [(0, 0), (0, 1), (0, 2)]
    assert row.iterates


@pytest.mark.parametrize("f", [*ITERATING, functools.partial], ids=lambda f: f.__name__)
def test_function_calls_one_of_its_arguments_as_its_row_says(f):
    called = []

    def function(*args):
        called.append(args)
        return args[0]

    before = (function,) if f not in (itertools.accumulate, itertools.groupby) else ()
    behind = () if before else (function,)
    with contextlib.suppress(TypeError, ValueError):
        made = f(*before, *([[(1, 2), (3, 4)]] if f is not functools.partial else []), *behind)
        if f is functools.partial:
            made(1)
        elif row_of(f).iterates == "as needed":
            list(made)

    assert row_of(f).calls == (called != []) or f is itertools.groupby


# ------------------------------------------------------------------------ rounding
EXACT = [row.target for row in rows() if row.rounds == "exactly"]
EXACT = [f for f in EXACT if isinstance(f, np.ufunc)]


@pytest.mark.parametrize("f", EXACT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_results_are_the_same_wherever_operands_lie_where_a_row_says_so(f, dtype):
    given = np.random.default_rng(5).uniform(0.1, 4, (f.nin, 997)).astype(dtype)
    one_by_one = [f(*column) for column in given.T]
    with_gaps = [np.repeat(row, 3)[::3] for row in given]
    written = np.concatenate([given[0], np.zeros(3, dtype)])[: given.shape[1]]
    f(*given, out=written)

    assert np.array_equal(f(*given), one_by_one)
    assert np.array_equal(f(*with_gaps), one_by_one)
    assert np.array_equal(written, one_by_one)


def takes_out(f: Any) -> bool:
    try:
        return "out" in inspect.signature(f).parameters
    except (TypeError, ValueError):
        return False


INTO = [
    row.target for row in rows()
    if module_of(row.target).partition(".")[0] == "numpy" and takes_out(row.target)
    and isinstance(row.target, type(np.sum)) and row.target is not np.linalg.multi_dot
    and module_of(row.target) != "numpy.fft"
]  # fmt: skip
IN_FRONT: dict[Any, tuple[Any, ...]] = {
    np.compress: (np.arange(90) % 3 > 0,), np.einsum: ("ij->j",),
    np.choose: (np.arange(4) % 3,),
}  # fmt: skip
AFTER: dict[Any, tuple[Any, ...]] = {
    np.take: (np.array([2, 0, 2]),), np.clip: (-0.3, 0.7), np.outer: (np.arange(5.0),),
    np.dot: (np.random.default_rng(1).normal(size=4),), np.quantile: (0.3,),
    np.percentile: (30.0,), np.nanquantile: (0.3,), np.nanpercentile: (30.0,),
}  # fmt: skip
OF_SEVERAL = {np.concatenate, np.stack}
# Functions that behave so, and of which it is not asked so far.
MORE_ROUNDED: dict[Any, str] = {
    **dict.fromkeys((np.isposinf, np.isneginf, np.fix, np.round, np.around), "exactly"),
    **dict.fromkeys((np.nanargmax, np.nanargmin, np.dot), "exactly"),
    **dict.fromkeys((np.nanmedian, np.nanquantile, np.nanpercentile), "exactly"),
    **dict.fromkeys((np.cumulative_sum, np.cumulative_prod, np.trace), "in dtype of out"),
}


def into_other_dtypes(f: Any) -> list[tuple[Any, ...]]:
    """Return the result, what ``out=`` of another dtype has, and the result with that dtype."""
    found = []
    x = np.random.default_rng(7).normal(size=(90, 4))
    for mine, other in ((np.float64, np.float32), (np.float32, np.float64)):
        given = x.astype(mine)
        operands = [given, 2 * given] if f in OF_SEVERAL else given
        operands = given[:3] if f is np.choose else operands
        args = (*IN_FRONT.get(f, ()), operands, *AFTER.get(f, ()))
        parameters = inspect.signature(f).parameters
        options = {"axis": 0} if "axis" in parameters else {}
        result = f(*args, **options)
        out = np.zeros(result.shape, other)
        try:
            f(*args, out=out, **options)
            told = f(*args, dtype=other, **options) if "dtype" in parameters else None
        except (TypeError, ValueError):  # integers, or no cast at all
            continue
        found.append((result, out, told))
    return found


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@pytest.mark.parametrize("f", INTO, ids=lambda f: f.__name__)
def test_results_are_rounded_to_the_dtype_of_out_as_a_row_says(f):
    cases = into_other_dtypes(f)
    is_rounded = all(out.tobytes() == r.astype(out.dtype).tobytes() for r, out, _ in cases)
    wider = [(out, t) for r, out, t in cases if out.dtype.itemsize > r.dtype.itemsize]
    follows = all(t is not None and out.tobytes() == t.tobytes() for out, t in wider)
    found = "exactly" if is_rounded else "in dtype of out" if follows else ""

    assert found == (row_of(f).rounds or MORE_ROUNDED.get(f, ""))


# ------------------------------------------------------------------------ lists of arrays
def lists_in(f: Any, args: Any, kwargs: Any) -> set[str]:
    """Return the parameters that a sample gives a list or tuple with arrays."""
    names = row_of(f).parameters
    given = [*((names[min(k, len(names) - 1)], arg) for k, arg in enumerate(args)), *kwargs.items()]
    return {name for name, arg in given if isinstance(arg, list | tuple) and arrays(arg, 1)}


# An index, or what a loop goes through.
NO_LIST = {operator.getitem, sum}


@pytest.mark.parametrize("f", [f for f in CALLS if row_of(f).parameters], ids=by_name)
def test_parameters_that_take_lists_of_arrays_are_told(f):
    found = set().union(*(lists_in(f, args, kwargs) for args, kwargs in CALLS[f]))
    row = row_of(f)

    assert {*row.lists} <= found, f"column lists of {by_name(f)}"
    is_told = row.takes_lists or found <= {*row.lists} or f in NO_LIST
    assert is_told, f"column lists of {by_name(f)}"


# ------------------------------------------------------------------------ selections
def chosen_by(f: Any) -> set[str]:
    """Return the parameters that samples give a mask, or an index of several entries."""
    names, found = row_of(f).parameters, set()
    for args, kwargs in CALLS[f]:
        for name, arg in [*zip(names, args, strict=False), *kwargs.items()]:
            items = arg if isinstance(arg, list) and arrays(arg) else [arg]
            kinds = {one.dtype.kind for one in items if isinstance(one, np.ndarray) and one.ndim}
            if isinstance(arg, list) and not arrays(arg):
                kinds.add(np.asarray(arg).dtype.kind)
            if kinds & {"b", "i"}:
                found.add(name)
    return found


def drops(f: Any) -> bool:
    """Return True if zeros stand in places of some entries, which depend on shapes alone."""
    results = [(args[0], f(*args, **kwargs)) for args, kwargs in CALLS[f]]
    return any(
        np.shape(a) == np.shape(y) and (y != a).any() and ((y == 0) | (y == a)).all()
        for a, y in results if isinstance(a, np.ndarray) and isinstance(y, np.ndarray)
    )  # fmt: skip


# Numbers of times, places to cut or to insert at, lists of lists, and what is not asked so far.
NO_CHOICE = {
    np.full_like, np.repeat, np.insert, np.split, np.array_split, np.hsplit,
    np.take_along_axis,
}  # fmt: skip


@pytest.mark.parametrize("f", [*MOVING, np.where], ids=by_name)
def test_parameter_that_selects_entries_is_told(f):
    told, found = row_of(f).selects, chosen_by(f)

    if told == "shape" or (not found and not told):
        assert (told == "shape") == drops(f), f"column selects of {by_name(f)}"
    elif f not in NO_CHOICE or told:
        assert {told} == found, f"column selects of {by_name(f)}"


# ------------------------------------------------------------------------ numbers of results
LISTING = [f for f in CALLS if all(isinstance(f(*args, **kw), list) for args, kw in CALLS[f])]


@pytest.mark.parametrize("f", LISTING, ids=lambda f: f.__name__)
def test_functions_that_cut_an_array_in_parts_say_so(f):
    result = row_of(f).result
    name = "" if result is None else result.parts
    shares = True
    for args, kwargs in CALLS[f]:
        found = f(*args, **kwargs)
        shares = shares and sum(map(np.size, found)) == np.size(args[0])
        if name:
            given = inspect.signature(f).bind(*args, **kwargs).arguments[name]
            assert len(found) == (given if isinstance(given, int) else len(given) + 1)

    assert bool(name) == shares


SQUEEZED = [np.squeeze, np.cov, np.corrcoef]


@pytest.mark.parametrize("f", SQUEEZED, ids=by_name)
def test_results_have_no_axes_for_lengths_of_one_where_a_row_says_so(f):
    assert row_of(f).result.squeezed
    assert np.ndim(f(np.array([[1.0, 2.0, 4.0]]))) < np.ndim(f(np.array([[1.0, 2.0], [4.0, 3.0]])))


# ------------------------------------------------------------------------ complex results
def has_complex(value: Any) -> bool:
    if isinstance(value, dict | list | tuple):
        return any(map(has_complex, value.values() if isinstance(value, dict) else value))
    is_complex_type = isinstance(value, type) and issubclass(value, complex | np.complexfloating)
    return is_complex_type or np.iscomplexobj(value)


def kinds_of_results(f: Any) -> set[bool]:
    """Whether the results of samples of real numbers are complex."""
    calls = [call for call in CALLS[f] if not has_complex(call)]
    return {has_complex(f(*args, **kwargs)) for args, kwargs in calls}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_results_of_real_numbers_are_complex_where_a_row_says_so(f):
    kinds = kinds_of_results(f)

    told = declared_result(f).dtype
    if told == "complex":
        assert kinds == {True}, f"result of {f.__name__}"
    elif True in kinds:
        assert told == "real or complex", f"result of {f.__name__}"


# ------------------------------------------------------------------------ methods of ufuncs
METHODS = [
    (row.target, name, function)
    for row in rows() if isinstance(row.target, np.ufunc)
    for name, function in (("reduce", row.reduce), ("accumulate", row.accumulate)) if function
]  # fmt: skip


@pytest.mark.parametrize(
    ("ufunc", "name", "function"), METHODS, ids=lambda part: getattr(part, "__name__", str(part))
)
@pytest.mark.parametrize("axis", [0, 1])
def test_method_of_ufunc_does_what_the_function_of_its_row_does(ufunc, name, function, axis):
    given = np.random.default_rng(3).uniform(0.1, 4, (3, 4))
    with_nan = np.where(given > 3, np.nan, given)

    for array in (given, with_nan):
        found = getattr(ufunc, name)(array, axis=axis)
        np.testing.assert_array_equal(function(array, axis=axis), found)


# ------------------------------------------------------------------------ methods of arrays
NAMES = [name for name in dir(np.ndarray) if name[0] != "_" and callable(getattr(np, name, None))]
MATRIX = np.array([[3.0, 0.5, 2.0], [0.0, 1.5, 7.0]])
FURTHER: dict[str, tuple[Any, ...]] = {
    "argpartition": (1,), "choose": (MATRIX[:, :1],), "clip": (1.0, 2.0), "dot": (MATRIX.T,),
    "partition": (1,), "put": (0, 1.0), "repeat": (2, 0), "reshape": (6,), "resize": ((3, 2),),
    "searchsorted": (1.0,), "swapaxes": (0, 1), "take": (1,), "astype": (np.float32,),
}  # fmt: skip
# Methods that behave so here, and differ by a parameter, in memory or for integers.
OTHER_METHODS = {"astype", "clip", "conj", "conjugate", "copy", "reshape", "take", "transpose"}


@pytest.mark.parametrize("name", NAMES)
def test_methods_of_arrays_do_what_the_function_does_where_a_row_says_so(name):
    function, more = getattr(np, name), FURTHER.get(name, ())
    given = {"choose": np.array([0, 1]), "searchsorted": np.array([0.0, 1.0, 2.0])}
    array = given.get(name, MATRIX)
    try:
        expected = function(array.copy(), *more)
        found = getattr(array.copy(), name)(*more)
        is_same = len(expected) == len(found) if isinstance(found, tuple) else found is not None
        is_same = is_same and np.array_equal(expected, found)
    except (TypeError, ValueError):
        is_same = False

    assert row_of(function).method in ("", name)
    assert (row_of(function).method == name) == (is_same and name not in OTHER_METHODS)


def test_names_of_methods_are_names_of_functions():
    told = {row.method for row in rows() if row.method}

    assert told <= {*NAMES, "ptp"}  # which NumPy 2 has dropped
    assert all(row_of(getattr(np, name)).method == name for name in told)


# ------------------------------------------------------------------------ graphs of functions
# Functions of one real number.
OF_NUMBERS = [
    row.target for row in rows()
    if module_of(row.target) in ("numpy", "math", "_operator") and len(row.parameters) == 1
    and (row.kind == "derivative" or row.target is np.sign)
    and not row.has_rest and row.target not in (np.real, np.imag)
]  # fmt: skip
OF_NUMBERS += [abs]
# Functions that behave so, and of which it is not asked so far.
NOT_EVEN = {np.i0}
REAL = np.array([0.05, 0.3, 0.7, 0.99, 1.3, 2.0, 3.7])


def results_of(f: Any, given: Any, *more: Any) -> np.ndarray:
    """Return results of real numbers, one by one; nan outside of the domain."""

    def result(x: float) -> float:
        try:
            return float(f(x, *more))
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    with np.errstate(all="ignore"):
        return np.array([result(float(x)) for x in given])


def behaves(f: Any, symmetry: str, *more: Any) -> bool:
    """Return True if a change of sign of the first operand changes all results so."""
    results, others = results_of(f, REAL, *more), results_of(f, -REAL, *more)
    if np.isnan(results + others).all():
        return False
    expected = results if symmetry == "even" else -results
    return np.allclose(others, expected, 1e-12, 1e-14, equal_nan=True)


@pytest.mark.parametrize("f", OF_NUMBERS, ids=by_name)
def test_function_is_even_or_odd_as_its_row_says(f):
    symmetry = row_of(f).symmetry

    assert behaves(f, "even") == (symmetry == "even" or f in NOT_EVEN)
    assert behaves(f, "odd") == (symmetry == "odd")


@pytest.mark.parametrize("f", [np.hypot, math.hypot], ids=by_name)
def test_function_of_two_numbers_is_even_in_each(f):
    assert row_of(f).symmetry == "even"
    assert behaves(f, "even", 0.4)
    assert behaves(lambda a, b: f(b, a), "even", 0.4)


@pytest.mark.parametrize("f", OF_NUMBERS, ids=by_name)
def test_function_is_a_power_of_positive_numbers_as_its_row_says(f):
    results = results_of(f, REAL)
    exponent = math.log2(results[5]) if results[5] > 0 else 0.0
    is_power = bool(exponent) and np.allclose(results, REAL**exponent, 1e-12)
    is_told = exponent != 1 or row_of(f).symmetry == "even"

    assert row_of(f).exponent == (pytest.approx(exponent) if is_power and is_told else 0)


# Functions of two real numbers.
OF_PAIRS = [
    row.target for row in rows()
    if module_of(row.target) in ("numpy", "math", "_operator") and not row.has_rest
    and row.kind == "derivative" and row.required == len(row.parameters) == 2
]  # fmt: skip
OF_PAIRS += [operator.floordiv, np.floor_divide]
# Functions that behave so, and of which it is not asked so far.
ALSO_OVERFLOWING = {np.i0, math.gamma}
ALSO_WITH_POLE = {math.gamma, math.lgamma}


def fails_at(f: Any, *given: float) -> bool:
    """Return True if a function of finite numbers is infinite, nan or an error."""
    try:
        with np.errstate(all="ignore"):
            return not np.isfinite(f(*given)).all()
    except (ZeroDivisionError, ValueError, OverflowError):
        return True
    except TypeError:
        return False  # a function of integers


@pytest.mark.parametrize("f", OF_NUMBERS, ids=by_name)
def test_function_of_one_number_fails_as_its_row_says(f):
    grows = results_of(f, [170.0])[0] > 1e50
    has_pole = abs(results_of(f, [1e-280])[0]) > 100
    fails = row_of(f).fails

    assert grows == (fails == "overflow" or f in ALSO_OVERFLOWING)
    assert has_pole == (fails in ("divisor", "argument") or f in ALSO_WITH_POLE)
    assert fails_at(f, 1e5) or fails != "overflow"
    assert fails_at(f, 0.0) or fails not in ("divisor", "argument")


@pytest.mark.parametrize("f", OF_PAIRS, ids=by_name)
def test_function_of_two_numbers_fails_as_its_row_says(f):
    assert fails_at(f, 1.0, 0.0) == (row_of(f).fails == "divisor")
    assert not fails_at(f, 0.0, 1.0)


def test_logarithm_to_a_base_fails_at_zero_as_its_row_says():
    assert row_of(math.log).fails == "argument"
    assert fails_at(math.log, 0.0)
    assert fails_at(math.log, 0.0, 2.0)


# Functions that behave so, and of which it is not asked so far.
NOT_DECLARED = {
    "at most one": {np.sinc, math.erf},
    "bounded": {np.arcsin, math.asin, np.arccos, math.acos, math.erfc},
    "not negative": {np.arccos, math.acos, np.arccosh, math.acosh},
    "positive": {np.i0, math.erfc},
}
WIDE = np.concatenate([-np.logspace(-9, 300, 104), [0.0], np.logspace(-9, 300, 104)])
WIDE = np.concatenate([WIDE, np.linspace(-700, 700, 257), np.linspace(-1, 1, 65), [1 - 2.0**-50]])


def ranges_of(f: Any) -> set[str]:
    """Return the words that are true of all results of real numbers."""
    results = results_of(f, WIDE)
    results = results[~np.isnan(results)]
    near = results_of(f, np.linspace(-20, 20, 161))
    words = {
        "positive": (results >= 0).all() and (near[~np.isnan(near)] > 0).all(),
        "not negative": (results >= 0).all(),
        "bounded": (np.abs(results) < 10).all(),
        "at most one": (np.abs(results) <= 1).all(),
    }
    return {word for word, is_true in words.items() if is_true}


# The narrowest word first.
WORDS = {"positive": {"not negative"}, "at most one": {"bounded"}}


@pytest.mark.parametrize("f", OF_NUMBERS, ids=by_name)
def test_results_are_in_the_range_of_the_row(f):
    found, told = ranges_of(f), row_of(f).range
    wider = {word for one in found for word in WORDS.get(one, ())}
    not_told = {word for word, functions in NOT_DECLARED.items() if f in functions}

    assert told in found | {""}
    assert found - wider - not_told == {told} - wider - {""}


# Functions that behave so, and of which it is not asked so far.
ALSO_QUIET = {
    abs, operator.abs, operator.neg, operator.pos, np.absolute, np.fabs, np.negative, np.positive,
    np.sign, np.deg2rad, np.radians,
}  # fmt: skip


def is_quiet(f: Any) -> bool:
    """Return True if a function has a result for every number, inf and nan too, and no warning."""
    given = [np.float64(x) for x in (*WIDE, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324)]
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return all(np.isfinite(f(x)) or not np.isfinite(x) for x in given)
    except (FloatingPointError, ValueError, OverflowError, TypeError):
        return False


@pytest.mark.parametrize("f", [f for f in OF_NUMBERS if module_of(f) not in ("math",)], ids=by_name)
def test_function_has_a_result_for_every_number_where_its_row_says_so(f):
    assert is_quiet(f) == (row_of(f).fails == "never" or f in ALSO_QUIET)


ANSWERING = [
    row.target for row in rows()
    if isinstance(row.target, np.ufunc) and row.kind == "nondifferentiable"
]  # fmt: skip
# Functions that behave so, and of which it is not asked so far.
MORE_CONNECTIVES = {np.logical_xor}


def depends_on_truth(f: np.ufunc) -> bool:
    """Return True if the result is a flag that depends on nothing but the truth of numbers."""
    pairs = [*itertools.product([0.0, 1.0, 2.0, -3.0], repeat=f.nin)]
    try:
        with np.errstate(all="ignore"):
            answers = [f(*pair) for pair in pairs]
    except TypeError:
        return False  # a function of integers
    by_truth = dict(zip([tuple(map(bool, pair)) for pair in pairs], answers, strict=True))
    same = [by_truth[tuple(map(bool, pair))] for pair in pairs] == answers
    return same and len(set(answers)) > 1 and type(answers[0]) is np.bool


@pytest.mark.parametrize("f", ANSWERING, ids=by_name)
def test_answer_depends_on_truth_alone_where_a_row_says_so(f):
    is_told = row_of(f).answers == "connective"

    assert depends_on_truth(f) == (is_told or f in MORE_CONNECTIVES)


# ------------------------------------------------------------------------ laws of reductions
LAWS: dict[str, tuple[Any, ...]] = {
    "largest": (np.max,), "smallest": (np.min,), "total": (np.sum, np.mean)
}  # fmt: skip
# Functions that behave so, and of which it is not asked so far.
MORE_LAWS = {
    np.nansum: "total", np.nanmean: "total", np.average: "total", sum: "total",
    math.fsum: "total",
}  # fmt: skip
REDUCING = [
    row.target for row in rows()
    if row.kind in ("linear", "adjoint") and row.required <= 1 and row.parameters
    and module_of(row.target).partition(".")[0] in ("numpy", "math", "builtins")
    and isinstance(row.target, type(np.sum) | type(sum))
]  # fmt: skip


def reduced(f: Any) -> float:
    """Return the number that a function makes of several; nan of others."""
    for given in (np.array([3.0, -7.0, 0.5, 2.0]), [3.0, -7.0, 0.5, 2.0]):
        try:
            result = f(given)
        except (TypeError, ValueError, AttributeError, IndexError):
            continue
        if isinstance(result, float | np.floating):
            return float(result)
    return math.nan


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", REDUCING, ids=by_name)
def test_functions_of_several_numbers_have_the_law_of_the_row(f):
    found = reduced(f)
    laws = [law for law, those in LAWS.items() if any(np.isclose(found, reduced(g)) for g in those)]

    assert laws == [law for law in (row_of(f).law or MORE_LAWS.get(f, ""),) if law in LAWS]


def test_only_functions_that_are_tried_have_the_law_of_copies():
    assert {row.target for row in rows() if row.law == "copy"} == {np.copy}


@pytest.mark.parametrize("f", [np.copy, list, dict], ids=by_name)
def test_copies_are_the_same_in_other_memory(f):
    given = {np.copy: np.arange(3.0), list: [1, 2], dict: {"a": 1}}[f]
    made = f(given)
    before = list(made)
    if isinstance(given, dict):
        given.clear()
    else:
        given[0] = 9

    assert row_of(f).law == "copy"
    assert list(made) == before


CASTS = [row.target for row in rows() if row.law == "cast"]
BY_DTYPE: dict[Any, Any] = {np.astype: np.float32, runtime.converted_like: np.float32(2)}


# Classes of numbers, and what converts to the dtype that it is given.
CONVERTING = [row.target for row in rows() if row.kind == "linear" and isinstance(row.target, type)]
CONVERTING += [*BY_DTYPE]
# Functions that behave so, and of which it is not asked so far.
MORE_CASTS = {
    np.float16, np.longdouble, complex, np.complex64, np.complex128, np.clongdouble,
}  # fmt: skip


@pytest.mark.parametrize("f", CONVERTING, ids=by_name)
def test_functions_that_convert_numbers_say_so(f):
    given = np.array([0.5]) if f is np.astype else 0.5
    made = f(given, BY_DTYPE[f]) if f in BY_DTYPE else f(given)
    found = made == 0.5 and type(made) is not type(given) or f in (float, np.astype)

    assert (row_of(f).law == "cast") == (found and f not in MORE_CASTS), f"column law of {f}"


@pytest.mark.parametrize("f", CASTS, ids=by_name)
def test_casts_convert_each_entry(f):
    given = np.array([0.5]) if f is np.astype else 0.5
    made = f(given, BY_DTYPE[f]) if f in BY_DTYPE else f(given)

    assert made == 0.5
    assert isinstance(made, f) if isinstance(f, type) else made.dtype == np.float32


MAKERS: dict[Any, tuple[Any, ...]] = {
    **dict.fromkeys((np.zeros, np.ones), ((2, 3),)),
    **dict.fromkeys((np.eye, np.identity, np.tri), (3,)),
    **dict.fromkeys((np.zeros_like, np.ones_like, runtime.zero_cotangent), (np.ones((2, 3)),)),
    **dict.fromkeys((np.indices,), ((2, 3),)),
}


@pytest.mark.parametrize("f", MAKERS, ids=by_name)
def test_arrays_are_all_zeros_where_a_row_says_so(f):
    assert (row_of(f).law == "zeros") == (not np.any(f(*MAKERS[f])))


def test_only_functions_that_are_tried_have_the_law_of_zeros():
    assert {row.target for row in rows() if row.law == "zeros"} <= {*MAKERS}
