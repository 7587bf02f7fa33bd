"""Questions about operations, which their rows answer.

Each has a meaning of its own; whoever needs only one field of a row reads the row.
"""

from __future__ import annotations

from typing import Any, Literal

from srcad.ir.core import CHECKPOINT, Arg, Call, Const, If, Op, Value
from srcad.ir.memory import module_of
from srcad.ir.operations import (
    NOTHING,
    Builds,
    Fresh,
    Gathers,
    NewVersion,
    PartOf,
    SameAs,
    memory_effect,
    operation_of,
)
from srcad.rules import registry as table
from srcad.rules.row import Law, Order, Rule
from srcad.types.numeric import Numeric


def is_store(target: Any, of: Literal["array", "list"] | None = None) -> bool:
    """Return True if the result is a new version of the first operand, an array or a list."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and of in (None, memory.of)


def sets_places(target: Any) -> bool:
    """Return True if places of an array are given other values: ``array[index] = value``."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and memory.of == "array" and memory.does == "sets"


def sums_at_places(target: Any) -> bool:
    """Return True if something is added at places of an array, to one of them perhaps twice."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and memory.does == "adds"


def adds_at_places(target: Any) -> bool:
    """Return True if something is added at places of an array, none of them named twice."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and memory.does == "adds" and memory.buffered


def extends(target: Any) -> bool:
    """Return True if the items of a list are put at the end of another one."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and memory.does == "extends"


def is_checkpoint(op: Op) -> bool:
    """Return True if a reverse sweep computes again what is inside, and saves nothing of it."""
    return isinstance(op, If) and op.test == CHECKPOINT


def is_builder(target: Any) -> bool:
    """Return True if the result is a new container of the operands."""
    return isinstance(memory_effect(target), Builds)


def is_structure(target: Any) -> bool:
    """Return True if the result is a tuple, dict or record of the operands."""
    memory = memory_effect(target)
    return isinstance(memory, Builds) and not memory.is_open


def is_known_part(target: Any) -> bool:
    """Return True if the result is a part of a structure at a known position, key or name."""
    memory = memory_effect(target)
    return isinstance(memory, PartOf) and memory.at != "index"


def is_item(target: Any) -> bool:
    """Return True if the result is a part of a tuple or dict at a position or key that is known."""
    memory = memory_effect(target)
    return isinstance(memory, PartOf) and memory.at == "key"


def is_attribute(target: Any) -> bool:
    """Return True if the result is an attribute of an object."""
    memory = memory_effect(target)
    return isinstance(memory, PartOf) and memory.at == "name"


def is_indexed(target: Any) -> bool:
    """Return True if the result is read out of the first operand at an index, as ``a[b]``."""
    memory = memory_effect(target)
    return isinstance(memory, PartOf) and memory.at == "index"


def is_part(target: Any) -> bool:
    """Return True if the result is read out of the first operand."""
    return isinstance(memory_effect(target), PartOf)


def is_same(target: Any) -> bool:
    """Return True if the result is the first operand itself, by another name."""
    return isinstance(memory_effect(target), SameAs)


def may_alias_operand(target: Any, *, certain: bool = True) -> bool:
    """Return True if the result shows the first operand: always, or unless it has to be copied."""
    memory = table.memory_of(target)
    return memory in ("view", "read-only view") if certain else memory == "view or copy"


def is_read_only(target: Any) -> bool:
    """Return True if the result shows the first operand and cannot be written into."""
    return table.memory_of(target) == "read-only view"


def built_parts(op: Call) -> tuple[Arg, ...]:
    """Return the operands that a container is built of."""
    memory = memory_effect(op.target)
    return op.args[memory.first :] if isinstance(memory, Builds) else ()


def puts_in(target: Any) -> Literal["item", "items"] | None:
    """Return how a store puts its last operand into a list: as one item, or as its items."""
    memory = memory_effect(target)
    if not isinstance(memory, NewVersion) or memory.of != "list" or memory.does == "removes":
        return None
    return "items" if memory.does == "extends" else "item"


def depends_on_shape_only(target: Any) -> bool:
    """Return True if the result depends on the shape and dtype of the first operand alone."""
    row = operation_of(target)
    return row is not None and row.asks_of == 0


def measures(target: Any) -> bool:
    """Return True if the result is a length of the first operand, or made of its lengths."""
    row = operation_of(target)
    return row is not None and row.asks_of == 0 and row.asks_for != "likeness"


def is_shape(target: Any) -> bool:
    """Return True if the result is a tuple of the lengths of the first operand."""
    row = operation_of(target)
    return row is not None and row.asks_of == 0 and row.asks_for == "shape"


def joins_keys(target: Any) -> bool:
    """Return True if the result is a dict of given keys and the values in another operand."""
    memory = memory_effect(target)
    return isinstance(memory, Gathers) and memory.operand == 1


def never_returns(target: Any) -> bool:
    """Return True if a call does nothing but raise."""
    row = operation_of(target)
    return row is not None and row.hands_on == "error"


def never_raises(target: Any) -> bool:
    """Return True if a call raises nothing, whatever the operands are."""
    row = operation_of(target)
    return row is not None and row.raises == NOTHING


def calls_operand(target: Any) -> bool:
    """Return True if a call is one of its first operand, whatever that is."""
    row = operation_of(target)
    return row is not None and row.hands_on == "callee"


def answers(target: Any) -> bool:
    """Return True if the result is a flag that answers a question: a comparison, a test."""
    row = operation_of(target)
    return row is not None and row.answers


def is_inert(target: Any) -> bool:
    """Return True if the result depends on lengths, or is one answer for all entries."""
    row = operation_of(target)
    return measures(target) or (row is not None and row.answers and row.flows == ())


def costs_nothing(target: Any) -> bool:
    """Return True if the result is a part, another name or a length of something at hand."""
    row = operation_of(target)
    if row is None:
        return False
    return measures(target) or isinstance(row.memory, PartOf | SameAs)


def keeps_structure(target: Any) -> bool:
    """Return True if the parts of the result are those of the operands, one by one."""
    row = operation_of(target)
    if row is None or not row.flows:
        return False
    memory = row.memory
    if isinstance(memory, NewVersion):
        return memory.of == "list"
    return isinstance(memory, SameAs) or (isinstance(memory, Builds) and memory.is_open)


def is_stop(target: Any) -> bool:
    """Return True if the result is the first operand, but no derivative flows through it."""
    row = operation_of(target)
    return row is not None and isinstance(row.memory, SameAs) and row.flows == ()


def is_marker(target: Any) -> bool:
    """Return True if the result is the first operand, which is marked for those who derive code."""
    row = operation_of(target)
    return row is not None and isinstance(row.memory, SameAs) and row.written is None


def appends(target: Any) -> bool:
    """Return True if the result is a list with one more item at its end."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and memory.does == "appends"


def sets_item(target: Any) -> bool:
    """Return True if the result is a list, or dict, with another item at an index or key."""
    memory = memory_effect(target)
    return isinstance(memory, NewVersion) and memory.of == "list" and memory.does == "sets"


def returns_fresh_object(target: Any) -> bool:
    """Return True if two equal calls stay two: what they make may be written into later."""
    memory = memory_effect(target)
    return isinstance(memory, Fresh | NewVersion) or (isinstance(memory, Builds) and memory.is_open)


# ------------------------------------------------------------------------ facts of the row
_NOTHING_KNOWN = Rule(None, "")


def law_of(target: Any) -> Law:
    """Return the law of a function: of `np.multiply` and ``operator.mul`` it is ``product``."""
    return table.row_of(target).law


def row_with_infinities(target: Any) -> Rule:
    """Return the row of a function that is infinite where it overflows, and at poles.

    Those of `math` raise there instead; of them nothing is known.
    """
    return _NOTHING_KNOWN if module_of(target) == "math" else table.row_of(target)


def exponent_of(target: Any) -> float | None:
    """Return the exponent of `np.sqrt` and the like, which are powers of their operands.

    None for other functions, and for magnitudes.
    """
    exponent = row_with_infinities(target).exponent
    return exponent if exponent not in (0, 1) else None


def order_of(target: Any) -> Order:
    """Return the memory order of a function's result: of `np.outer` it is ``C``."""
    return table.row_of(target).order


def is_in_c_order(target: Any, args: tuple[Arg, ...]) -> bool:
    """Return True if the result of a call is in C order, however its operands lie."""
    order = order_of(target)
    return order == "C" or (order == "stacks" and not operands_in_loop_order(args))


def operands_in_loop_order(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """Return the operands of a product that may determine the memory order of the result.

    A loop over two or more axes of a stack goes in the order of the operands that have these axes,
    and the product with a number in that of the other operand.
    """
    ranks = [_number_of_axes(arg) for arg in args]
    if not all(ranks):
        return args
    return tuple(arg for arg, rank in zip(args, ranks, strict=True) if rank > 3)


def _number_of_axes(arg: Arg) -> int:
    """Return the number of axes of an array; 0 if it is unknown."""
    if isinstance(arg, Const):
        return getattr(arg.value, "ndim", 0)
    type_ = arg.type if isinstance(arg, Value) else None
    return len(type_.shape or ()) if isinstance(type_, Numeric) else 0


def compares(target: Any) -> bool:
    """Return True for a comparison of two operands."""
    return table.row_of(target).answers in ("order", "equality")


def operators(*laws: Law) -> tuple[Any, ...]:
    """Return the functions of `operator` with one of these laws."""
    return tuple(row.target for row in table.operators() if row.law in laws)


def is_comparison(target: Any) -> bool:
    """Return True for one of Python's comparisons of numbers, such as ``<`` and ``==``."""
    row = table.row_of_operator(target)
    return row is not None and row.answers in ("order", "equality")


def is_zeros_like(target: Any) -> bool:
    """Return True if the result is zeros in the memory order of an operand."""
    row = table.row_of(target)
    return row.law == "zeros" and row.order == "follows"


def special_methods_of(target: Any) -> tuple[str, ...]:
    """Return the special methods of objects that an operation may run, as far as its row tells."""
    row = operation_of(target)
    return (row.special if row is not None else ()) or table.row_of(target).special


def law_of_operator(target: Any) -> Law:
    """Return the law of one of Python's operators; of other functions none."""
    row = table.row_of_operator(target)
    return "" if row is None else row.law
