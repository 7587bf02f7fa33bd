"""One row of the table: a target, its kind, and the plain Python function that is the formula."""

from __future__ import annotations

import ast
import os
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from srcad.errors import RuleError
from srcad.rules.formulas import Place, returned_formulas
from srcad.startup.records import dataclass, field

# A row without a kind tells facts about a function that has no rule.
Kind = Literal["", "derivative", "linear", "bilinear", "adjoint", "nondifferentiable"]


# What tests call a function with: the bounds of an interval from which every operand is taken, or a
# function of `f`, which notes a call, and of sample arrays that it names.
Samples = tuple[float, ...] | Callable[..., Any] | None
# Where an entry of the result comes from: from the entries at its place, with broadcasting; from
# one entry of an operand; from all along the axes that are taken away; from all up to its place
# along an axis; from sums of products; from differences of products; from the entry of `x` at its
# place, and from all of the other operand; from the matrix at its place in a stack; or from no
# entry, only from shapes.
Entries = Literal[
    "", "each", "moved", "reduced", "running", "contracted", "crossed", "evaluated", "stacked",
    "lines", "paired", "made",
]  # fmt: skip
# The operation as which algebra and masks know it; a total is the sum of entries, or their mean, a
# cast converts an operand to another dtype, a copy is the same in other memory, and zeros are all
# entries of an array whose shape alone is asked for.
Law = Literal[
    "", "sum", "difference", "product", "quotient", "floor", "remainder", "power", "negative",
    "positive", "exponential", "logarithm", "largest", "smallest", "total", "cast", "copy", "zeros",
]  # fmt: skip
# The question about each entry of which the result, an array of flags, is the answer: "nan" if it
# tells apart nan, or infinities, from other numbers, "connective" if only the truth of the operands
# decides.
Answers = Literal["", "nan", "order", "equality", "connective"]
# What becomes of nan: the result is nan wherever an operand is, or such entries are left out.
Nan = Literal["", "stays", "left out"]
# How a new array lies in memory: in C order whatever its operands are, unless an option asks for
# another order; so for operands of one to three axes, while a loop over more axes of a stack, or
# with a number, goes in the order of memory; as its operands do; in C order where its operands do;
# or perhaps in another order even then; with one axis, too, perhaps with gaps or from the end, as
# the real parts of complex numbers do.  How a view lies: as its operand does, but for axes of
# length 1; with gaps between entries; with axes permuted or reversed; in the order of the operand
# with other axes, unless that takes a copy.
Order = Literal[
    "", "C", "stacks", "follows", "keeps", "other", "gaps", "shows", "part", "turned", "reshaped"
]  # fmt: skip
# What a call does besides its result: it sets or deletes an attribute of an object, keeps its last
# argument in a container or removes an item there, takes the next value of an iterator, reads what
# comes from outside, makes an object unlike all others, or prints.
Effect = Literal[
    "", "sets", "deletes", "keeps", "removes", "advances", "reads", "makes", "prints"
]  # fmt: skip
# What a builtin returns: a number that tells of its operand and is no value in it, or a text.
Gives = Literal["", "measure", "text"]
# How a function goes through arguments: before it returns, and does nothing else meanwhile or does
# (it calls a function, or may stop early); or later, as its result is asked for values.
Iterates = Literal["", "at once", "all", "some", "as needed"]
# How the last bit of a result depends on where the operands lie: not at all, as each entry is
# rounded correctly; or also on the processor, as other loops run along an axis than for pairs of
# arrays.  Of a sum or product: it is calculated in the dtype of ``out=``, where that is wider.
Rounds = Literal["", "exactly", "by processor", "in dtype of out"]
# What becomes of a result, a real number, if one operand changes its sign: it stays the same, or
# changes its sign, too.
Symmetry = Literal["", "even", "odd"]
# In which range all results for real numbers are, with nan left out: above 0, but for underflow; 0
# or above; between two numbers; between -1 and 1.
Range = Literal["", "positive", "not negative", "bounded", "at most one"]
# Where a function of finite numbers is infinite or nan, or raises if it is one of Python's: at
# large operands, as it grows faster than any power; where its last operand is 0, by which it
# divides; where its first one is 0, as a logarithm; or never, and it says nothing of inf and nan.
Fails = Literal["", "overflow", "divisor", "argument", "never"]
# Points where a derivative is agreed on, with the derivatives there; or a function that gives pairs
# of a noted call and the gradient of its first argument.
Kinks = Mapping[Any, Any] | Callable[..., Any] | None

# What a call does with memory, if its first argument is an array.  The result is new, or a view of
# the argument with other axes or another shape: always, never to be written into, or unless the
# memory has to be arranged anew.  Or it is the argument itself.  Or it may share memory with any
# argument: then nobody traces what is written into it.  A mapping says: new, unless an option has
# one of these values.
Memory = (
    Literal["fresh", "view", "read-only view", "view or copy", "argument", "shared"]
    | Mapping[str, tuple[Any, ...]]
)


# What it costs to compute a result again: nothing worth memory, as it is a view.
Cost = Literal["", "nothing"]


@dataclass(frozen=True)
class Sign:
    """How Python writes one of its operators, as ``a + b``."""

    text: str  # between or before the operands
    node: type[ast.AST]  # in the syntax tree
    in_place: Callable[..., Any] | None = None  # the function for ``a += b``


@dataclass(frozen=True)
class Result:
    """Number, dtype and lengths of the results of a function, where type inference needs them.

    Types are inferred from two runs on small arrays.  A declaration is used if these runs are not
    possible, or if they would mislead.

    Attributes
    ----------
    count : int, callable or None
        The number of results; None if it depends on the operands.  A callable has the options that
        determine it as parameters, with their default values, and returns the number; a parameter
        ``ndim`` is the number of axes of the first argument.
    static : tuple of str
        Options that must be static in a differentiated call, besides the parameters of `count`.
    dtype : str
        ``"complex"`` if results are complex whatever the operands are; ``"double"`` if they are
        float64 arrays for operands of float64; ``"real or complex"`` if the numbers in real
        operands decide.
    any_lengths : bool
        True if lengths depend on the contents of the operands, or are no sums of their lengths.
    squeezed : bool
        True if the result has no axes for those of length 1.
    parts : str
        The parameter with the number of results if an array is cut in parts, or with the places
        between them.
    fields : tuple of str
        Names of the results if they come as a named tuple, as ``np.linalg.eigh(a).eigenvalues``.

    Examples
    --------
    >>> eigh = Result(lambda eigvals_only=False: 1 if eigvals_only else 2)
    >>> eigh.options
    {'eigvals_only': False}
    """

    count: int | Callable[..., int | None] | None = 1
    static: tuple[str, ...] = ()
    dtype: Literal["", "complex", "double", "real or complex"] = ""
    any_lengths: bool = False
    squeezed: bool = False
    parts: str = ""
    fields: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The options that must be static, with their default values."""
        names: dict[str, Any] = dict.fromkeys(self.static)
        if isinstance(self.count, types.FunctionType):
            code, defaults = self.count.__code__, self.count.__defaults__ or ()
            names |= dict(zip(code.co_varnames[: code.co_argcount], defaults, strict=True))
        names.pop("ndim", None)
        return names

    def count_for(self, given: Mapping[str, Any]) -> int | None:
        """Return the number of results of a call with these options; None if it is not known."""
        if self.count is None or isinstance(self.count, int):
            return self.count
        decide = self.count.__code__.co_varnames[: self.count.__code__.co_argcount]
        return self.count(**{name: given[name] for name in decide if name in given})


DOUBLE = Result(dtype="double")
COMPLEX = Result(dtype="complex")


class NoPartial:
    """A derivative that does not exist or is not known: an error where it would be needed.

    Parameters
    ----------
    reason : str
        One clause that completes "cannot be differentiated: ...", for the error message.

    Examples
    --------
    >>> NoPartial("the order of the entries is not known")
    NoPartial('the order of the entries is not known')
    """

    __slots__ = ("reason",)

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"NoPartial({self.reason!r})" if self.reason else "NO_PARTIAL"


NO_PARTIAL = NoPartial()


def refuse_markers_inside(function: Callable[..., Any], place: Place) -> None:
    """A rule returns a marker that was made before it: what it makes itself is not seen.

    Raises
    ------
    RuleError
        The rule makes a `NoPartial` when it is called.
    """
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        pending += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        for name in code.co_names:
            if name == NoPartial.__name__ or function.__globals__.get(name) is NoPartial:
                raise RuleError(
                    f"the rule '{function.__name__}' makes a NoPartial when it is called",
                    where=place,
                    why="the compiler looks for a marker that is known when the rule is read.",
                    help=("give it a name at the top of the file:  MISSING = NoPartial(...)",
                          "and return that:  return MISSING"),
                )  # fmt: skip


class AlwaysRaisesError(Exception):
    """A rule raises for some arguments, whatever their values."""


class Columns(TypedDict, total=False):
    """Keyword arguments of the declarations; each is a field of `Rule`."""

    safe: float | None
    samples: Samples
    kinks: Kinks
    memory: Memory | None
    order: Order
    cost: Cost
    takes_lists: bool
    lists: tuple[str, ...]
    entries: Entries
    adds_zeros: bool
    law: Law
    answers: Answers
    nan: Nan
    selects: str
    of_real: Literal["", "zero"]
    real_only: bool
    refuses: Mapping[str, str]
    max_rank: int | None
    sign: Sign | None
    method: str
    special: tuple[str, ...]
    reduce: Callable[..., Any] | None
    accumulate: Callable[..., Any] | None
    rounds: Rounds
    symmetry: Symmetry
    exponent: float
    range: Range
    fails: Fails
    effect: Effect
    gives: Gives
    iterates: Iterates
    iterated: tuple[int, int | None]
    calls: bool
    steps: bool
    primal: Callable[..., Any] | None
    result: Result | None


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    Parameters
    ----------
    target : callable
        What the row is about.
    kind : str
        ``derivative``, ``linear``, ``bilinear``, ``adjoint`` or ``nondifferentiable``.
    function, tangent : callable or None
        The formula, and the forward-mode formula where one was given.
    batch : callable, mapping or None
        What computes the results of several calls at once, see `srcad.rules.declare.batched`; of a
        product by the operands that have one more axis.
    parameters : tuple of str
        The target's positional parameters as the rule names them; ``*rest`` is the last if there.
    keywords : tuple of str
        The keyword-only parameters that the rule understands.
    required : int
        The number of positional parameters without a default value.
    active : tuple of str
        The parameters that the rule returns an entry for, in the order of the entries.
    wants_result : bool
        True if the rule reads the result, ``y``.
    safe : float or None
        Put for every operand and for the result, it keeps all partials finite.
    samples, kinks : object
        Arguments to try, and the agreed derivatives at special points; only tests and docs read
        them.  Without any samples, ``()``, a row has tests of its own.
    memory : str
        What a call does with memory; see above.
    order : str
        How the result lies in memory; see above; empty if it is not known.
    cost : str
        What it costs to compute the result again; see above; empty if it is worth memory.
    takes_lists : bool
        True if a list is an argument as it stands: one of several arrays, or one of which the rule
        asks for nothing but the shape.  Others are made arrays first.
    lists : tuple of str
        The parameters that take several arrays as a list or tuple.  Lists among the items are made
        arrays first, and so is a list for any other parameter.
    entries : str
        Where an entry of the result comes from: the entries at its place (``each``), one entry
        (``moved``), all along axes (``reduced``), all up to its place along one (``running``), a
        sum of products (``contracted``) or differences of them (``crossed``), one entry of the
        parameter `x` and all of others (``evaluated``), one matrix of a stack (``stacked``), all
        along the parameter `axis` (``lines``), two rows of a matrix (``paired``; columns without
        `rowvar`), or shapes alone (``made``); empty if it is not known.
    adds_zeros : bool
        True if a function that moves entries puts zeros beside them, as `np.tril` does.
    law : str
        The operation as which algebra and masks know the function, as ``product`` of `np.multiply`.
    answers : str
        The question that the result answers, see above; empty if it is not known.
    nan : str
        What becomes of nan: it ``stays`` wherever an operand has one, or is ``left out``.
    selects : str
        The parameter that says which entries are taken, a mask or an index; ``shape`` if their
        places alone do, as for `np.triu`.
    of_real : str
        ``zero`` for what is zero, or a step, of real numbers.
    real_only : bool
        True if the formula of the derivative is for real numbers: a derivative of a call with
        complex operands, or complex results, is refused.
    refuses : mapping of str to str
        Options for which the rule has no derivative, each with the reason: a derivative of a call
        that gives another value than the default one is refused.
    max_rank : int or None
        The largest number of axes of an operand that the rule is for; None if it is for any.
    sign : Sign or None
        The operator that computes the same, at least of flags; a call of the function of `operator`
        is written so.
    method : str
        The name of the method of arrays with the same meaning and parameters; empty if there is
        none, or one with others.
    special : tuple of str
        The methods by which classes define what the function of `operator` or the builtin does with
        their objects: of the first operand, and of the second one where there are two.
    reduce, accumulate : callable or None
        The functions that do what the methods of this ufunc do.
    rounds : str
        How the last bit of the result depends on memory and processor, see above.
    symmetry : str
        What a change of sign of an operand does to the result, see above.
    exponent : float
        The exponent of the power of positive numbers that the function is, 2 for `np.square`; 0 for
        functions that are no such power.
    range : str
        In which range the results for real numbers are, see above.
    fails : str
        For which operands the function is infinite, nan or an error, see above.
    effect : str
        What a call does besides its result, see above.
    gives : str
        What a builtin returns, see above.
    iterates, iterated : str, tuple of int
        How the function goes through arguments, see above; and the slice of the positional ones.
    calls : bool
        True if a positional argument is a function, which a call or its result calls.
    steps : bool
        True if it is constant between jumps of real numbers, and a derivative flows through it for
        complex ones only.
    primal : callable or None
        What computes the target where a derivative is wanted: it returns ``(y, saved)``.
    saves_for : callable or None
        The function that the target computes so: the rule reads the result ``y``, then ``saved``.
    result : Result or None
        The declared results.  None means one result for rows that come with srcad, and an unknown
        number for rules of users.
    shipped : bool
        True if the row came with srcad.
    file, line : str, int
        Where the rule stands.

    Examples
    --------
    >>> import numpy as np
    >>> from srcad import rules
    >>> row = rules.rule_for(np.tanh)
    >>> row.parameters, row.partials
    (('x',), ('1 - y ** 2',))
    """

    target: Any
    kind: Kind
    function: Callable[..., Any] | None = None
    tangent: Callable[..., Any] | None = None
    batch: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None
    parameters: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    required: int = 0
    active: tuple[str, ...] = ()
    wants_result: bool = False
    safe: float | None = None
    samples: Samples = None
    kinks: Kinks = None
    memory: Memory = "shared"
    order: Order = ""
    cost: Cost = ""
    takes_lists: bool = False
    lists: tuple[str, ...] = ()
    entries: Entries = ""
    adds_zeros: bool = False
    law: Law = ""
    answers: Answers = ""
    nan: Nan = ""
    selects: str = ""
    of_real: Literal["", "zero"] = ""
    real_only: bool = False
    refuses: Mapping[str, str] = field(default_factory=dict)
    max_rank: int | None = None
    sign: Sign | None = None
    method: str = ""
    special: tuple[str, ...] = ()
    reduce: Callable[..., Any] | None = None
    accumulate: Callable[..., Any] | None = None
    rounds: Rounds = ""
    symmetry: Symmetry = ""
    exponent: float = 0.0
    range: Range = ""
    fails: Fails = ""
    effect: Effect = ""
    gives: Gives = ""
    iterates: Iterates = ""
    iterated: tuple[int, int | None] = (0, 1)
    calls: bool = False
    steps: bool = False
    primal: Callable[..., Any] | None = None
    saves_for: Any = None
    result: Result | None = None
    shipped: bool = False
    file: str = ""
    line: int = 0

    @property
    def has_entries_of_users(self) -> bool:
        """True if the entries come from code of the user's: they have any structure.

        A rule that srcad has made of a function, as for `implicit`, has no file.
        """
        return not self.shipped or self.file.startswith("<srcad ")

    @property
    def saves(self) -> bool:
        """True if the target returns what is saved beside its result."""
        return self.saves_for is not None

    @property
    def about(self) -> Any:
        """The function that the rule was written for."""
        return self.target if self.saves_for is None else self.saves_for

    @property
    def location(self) -> str:
        """The rule's place, ``file:line``, with the base name of the file."""
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def place(self) -> Place:
        """The rule's place, as errors show it."""
        return Place(self.file, self.line)

    @property
    def partials(self) -> tuple[str, ...]:
        """The returned formulas as text, one per active parameter."""
        return returned_formulas(self.function) if self.function is not None else ()

    @property
    def single(self) -> bool:
        """True if the rule returns its one entry itself, not a tuple of entries."""
        return len(self.active) == 1

    @property
    def has_rest(self) -> bool:
        """True if the rule takes any number of arguments."""
        return bool(self.parameters) and self.parameters[-1].startswith("*")

    def entry(self, place: int | str) -> tuple[int, int | None] | None:
        """Where the derivative for one argument of a call stands in what the rule returns.

        Parameters
        ----------
        place : int or str
            The argument's position, or its keyword.

        Returns
        -------
        (int, int or None) or None
            The entry's index and, for an argument that ``*rest`` takes up, the position inside
            the entry; `None` if the rule treats the argument as a constant.
        """
        offset = None
        name = place
        if isinstance(place, int):
            last = len(self.parameters) - 1
            if self.has_rest and place >= last:
                offset = place - last
            elif place > last:
                return None
            name = self.parameters[min(place, last)]
        return (self.active.index(name), offset) if name in self.active else None
