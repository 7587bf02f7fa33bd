"""Rewriting engine of `simplify`: one walk in program order, rewriting calls as they come.

The rewrites that are tried for a call are found in the table in `rewrites`.  Only the reverse half
is rewritten: the primal stays what the user wrote, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from srcad.ir.constructors import Constructors
from srcad.ir.core import (
    CHECKPOINT,
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Loop,
    Op,
    Try,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.definitions import uses_of
from srcad.ir.inference.builder import atom_type, result_type
from srcad.ir.memory import has_storage
from srcad.ir.substitute import substituted, substituted_atom, substituted_call
from srcad.passes.purity import is_mergeable
from srcad.passes.rewrites import rewrites_of
from srcad.startup.records import changed, dataclass, field, replace
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, resolved
from srcad.types.structures import Opaque, Type

# Merge equal values that a loop carries, collects and iterates over.


@dataclass(eq=False)
class LoopMerging:
    """Merges values that are equal in every iteration, during the walk of the rewriter.

    `merged` replaces values everywhere; `alike` replaces values of the primal in the reverse half
    by an earlier value that is certainly equal.  `homes` says in which block a value is made,
    `constant_lists` which lists hold one atom over and over.  `unfinished` says that the walk has
    come by something for which it was too early.

    >>> from srcad.passes.rewriting import Rewriter
    >>> function = parse('''
    ... f(x: float64[n], c: float):
    ...     # reverse half
    ...     for x_k, z_k in x, x [y, d = 1.0, c] -> tag, count, y_n, d_n:
    ...         t = mul(x_k, z_k)
    ...         u = mul(t, d)
    ...         y_1 = mul(y, u)
    ...         yield 0, y_1, d
    ...     return y_n, d_n
    ... ''')
    >>> print(text(Rewriter().function(function)))
    f(x, c):
        for x_k, z_k in x, x [y, d = 1.0, c] -> tag, count, y_n, d_n:
            t = mul(x_k, x_k)
            u = mul(t, c)
            y_1 = mul(y, u)
            yield 0, y_1, c
        return y_n, c

    Dead-code elimination then removes `z_k` and `d`.
    """

    merged: dict[Value, Atom] = field(default_factory=dict)
    alike: dict[Value, Atom] = field(default_factory=dict)
    homes: dict[Value, int] = field(default_factory=dict)
    open_blocks: list[int] = field(default_factory=list)
    changed: bool = False
    unfinished: bool = False
    constant_lists: dict[Value, Atom] = field(default_factory=dict)

    def note_constant_lists(self, op: Loop, body: Block) -> None:
        """Note the lists in which a loop collects the same atom in every iteration."""
        pairs = zip(collected_outputs(op), body.results[1 + len(op.inits) :], strict=True)
        for output, atom in pairs:
            outside = isinstance(atom, Value) and self.homes.get(atom) in self.open_blocks
            if outside or (isinstance(atom, Const) and atom != UNDEF):
                self.constant_lists[output] = atom

    def note_equal_lists(self, op: For, body: Block) -> None:
        """Note the lists in which a loop collects the same atom."""
        first: dict[Atom, Value] = {}
        for output, atom in zip(
            collected_outputs(op), body.results[1 + len(op.inits) :], strict=True
        ):
            earlier = first.setdefault(atom, output) if isinstance(atom, Value) else output
            if earlier is not output and op.half == "primal":
                self.alike[output] = earlier
            elif earlier is not output:
                self.merged[output] = earlier
                self.changed = True

    def merge_equal_items(self, op: For, seqs: tuple[Arg, ...]) -> None:
        """Replace the items of one list, gone through twice in step, by one."""
        first: dict[Arg, Value] = {}
        for item, seq in zip(op.items, seqs, strict=True):
            earlier = first.setdefault(seq, item) if isinstance(seq, Value) else item
            if earlier is not item:
                self.merged[item] = earlier
                self.changed = True

    def merge_constant_items(self, op: For, seqs: tuple[Arg, ...]) -> None:
        """Replace the items of a list that holds one atom over and over by that atom."""
        for item, seq in zip(op.items, seqs, strict=True):
            if isinstance(seq, Value) and seq in self.constant_lists:
                atom = self.constant_lists[seq]
                if isinstance(atom, Const) or self.homes.get(atom) in self.open_blocks:
                    self.merged[item] = atom
                    self.changed = True

    def merge_unchanged(self, op: Loop, inits: tuple[Atom, ...]) -> None:
        """Replace a carried value that no iteration changes by its value before the loop."""
        results = op.body.results[1 : 1 + len(inits)]
        rows = zip(op.carried, inits, results, carried_outputs(op), strict=True)
        for k, (param, init, result, output) in enumerate(rows):
            result = substituted_atom(result, self.merged)
            if (result is param or result == init) and init != UNDEF:
                self.merged[param] = init
                self.merged[output] = init
                if isinstance(op, While):
                    self.merged[op.test.params[k]] = init
                self.changed = True

    def note_unchanged(self, op: Loop, inits: tuple[Atom, ...], body: Block) -> None:
        """Note values that an iteration hands on unchanged, which a simplified body may show."""
        if op.half != "primal":
            for param, init, result in zip(op.carried, inits, body.results[1:], strict=False):
                handed_on = (result is param or result == init) and init != UNDEF
                self.unfinished |= handed_on and param not in self.merged


_DEEPEST = 8
_KEPT = ("primal", "again")


@dataclass(eq=False)
class Rewriter(LoopMerging, Constructors[Arg, Atom]):
    """The state of the walk.

    `known` is the table of calls seen so far: what they compute, and in which block.  `uses` counts
    how often a value was read before the walk.  `integers` are those of the primal that are in
    scope everywhere, by what is known of them.  `shared` are the values that a rewrite has found to
    be read more than once: see `is_settled`.  `primal` are the results of primal ops; they get no
    names of cotangents.  `params` are the parameters of the function, which is `whole`, and
    `early_params` those that its forward ops read, once they are known.
    """

    definitions: dict[Value, Call] = field(default_factory=dict)
    primal: set[Value] = field(default_factory=set)
    known: dict[Any, Value] = field(default_factory=dict)
    uses: dict[Value, int] = field(default_factory=dict)
    out: list[Op] = field(default_factory=list)
    current: Call | None = None
    depth: int = 0
    blocks: int = 0
    shared: set[Value] = field(default_factory=set)
    integers: dict[Extent, Value] = field(default_factory=dict)
    params: tuple[Value, ...] = ()
    early_params: tuple[Value, ...] | None = None
    whole: Function | None = None

    # -------------------------------------------------------------- for rewrites
    def call_of(self, arg: Arg, *targets: Any) -> Call | None:
        """Return the call that makes an argument, if it is one of some targets."""
        if not isinstance(arg, Value):
            return None
        made = self.definitions.get(arg)
        if made is not None:
            for target in targets:
                if made.target is target:
                    return made
        return None

    def made_by(self, arg: Arg, question: Callable[[Any], bool]) -> Call | None:
        """Return the call that makes an argument, if it is of an operation of some sort."""
        made = self.definitions.get(arg) if isinstance(arg, Value) else None
        return made if made is not None and question(made.target) else None

    def make(self, target: Any, *args: Arg, **kwargs: Arg) -> Atom:
        """Return a new call in the place of the current one, simplified in turn."""
        assert self.current is not None
        found = result_type(target, args, tuple(kwargs.items()))
        call = replace(
            self.current,
            target=target,
            args=args,
            kwargs=tuple(kwargs.items()),
            result=Value(found),
            in_place=False,
        )
        return self._simplest(call)

    def _construct(self, target: Any, *args: Any, **how: Any) -> Atom:
        return self.make(target, *args, **how)

    def made_before(self, target: Any, *args: Arg) -> Value | None:
        """Return the result of an equal call that is in scope here, to be read once more."""
        assert self.current is not None
        earlier = self.known.get((target, *args))
        if earlier is None or not self._reaches(earlier, self.current):
            return None
        self.uses[earlier] = self.uses.get(earlier, 1) + 1
        return earlier

    def is_used_once(self, atom: Arg) -> bool:
        """Return True if only the current call reads a value.

        Of a new value that is not known yet.
        """
        if not isinstance(atom, Value):
            return False
        if self.uses.get(atom, 2) <= 1:
            return True
        self.shared.add(atom)
        return False

    def is_settled(self, block: Block) -> bool:
        """Return True if another walk over the result of this one would find nothing.

        All that a rewrite looks at is final when it sees it, but for how often a value is read.
        """
        if self.unfinished or not self.shared:
            return not self.unfinished
        uses = uses_of(block)
        return all(uses.get(value, 2) > 1 for value in self.shared)

    def params_at_hand(self) -> tuple[Value, ...]:
        """Return the parameters that the current call may read."""
        assert self.current is not None
        if self.current.half == "reverse" or self.whole is None:
            return self.params
        if self.early_params is None:
            self.early_params = params_of_forward_ops(self.whole)
        return self.early_params

    # -------------------------------------------------------------- the walk
    def function(self, function: Function) -> Function:
        """Simplify a whole function; the same object if there is nothing to do.

        Calls of the reverse half that are equal are merged by value numbering, also with those of
        the primal.

        >>> function = parse('''
        ... f(x: float, y: float):
        ...     z = exp(x)
        ...     # reverse half
        ...     t = exp(x)
        ...     u = mul(t, y)
        ...     v = mul(t, y)
        ...     w = sub(u, 1.0)
        ...     return z, v, w
        ... ''')
        >>> print(text(Rewriter().function(function)))
        f(x, y):
            z = exp(x)
            u = mul(z, y)
            w = sub(u, 1.0)
            return z, u, w
        """
        self.uses = uses_of(function.block)
        self.params, self.whole, self.early_params = function.params, function, None
        return changed(function, block=self.block(function.block, function.params))

    def block(self, block: Block, params: Iterable[Value] = ()) -> Block:
        """Simplify the ops of a block."""
        self.blocks += 1
        number = self.blocks
        self.open_blocks.append(number)
        self._live_in(number, (*params, *block.params))
        before, self.out = self.out, []
        for op in block.ops:
            self._op(op, number)
        ops, self.out = tuple(self.out), before
        self.open_blocks.pop()
        results = tuple(substituted_atom(a, self.merged) for a in block.results)
        return changed(block, ops=ops, results=results)

    def _live_in(self, number: int, values: Iterable[Value]) -> None:
        for value in values:
            self.homes[value] = number

    def _op(self, op: Op, number: int) -> None:
        match op:
            case Call():
                self._call(op)
            case If():
                self._if(op)
            case For() | While():
                self._loop(op)
        self._live_in(number, op.results)
        if op.half in _KEPT:
            self.primal.update(op.results)

    def _arguments(self, op: Call) -> Call:
        op = substituted_call(op, self.merged)
        return op if op.half in _KEPT else substituted_call(op, self.alike)

    def _call(self, op: Call) -> None:
        op = self._arguments(op)
        if op.half in _KEPT:
            self._keep(op)
            if len(self.open_blocks) == 1:
                self._note_integer(op.result)
            key = self._key(substituted_call(op, self.alike))
            if key is not None:
                earlier = self.known.get(key)
                if earlier is not None and self._reaches(earlier, op):
                    self.alike[op.result] = earlier
                else:
                    self.known[key] = op.result
            return
        self.current, self.depth = op, 0
        found = self._simplest(op)
        self.current = None
        if found is not op.result:
            self.changed = True
            self.merged[op.result] = found
            if isinstance(found, Value) and found.hint is None and found not in self.primal:
                found.hint = op.result.hint

    def _simplest(self, call: Call) -> Atom:
        """Return the atom that stands for a call: rewritten, known already, or the call itself."""
        if self.depth < _DEEPEST:
            self.depth += 1
            for rewrite in rewrites_of(call, self.definitions):
                found = rewrite(self, call)
                if found is None or isinstance(found, Display):
                    continue
                if has_storage(call.result) or not has_storage(found):  # a number stays one
                    found = self._of_same_dtype(found, call)
                    self.depth -= 1
                    return found
            self.depth -= 1
        else:
            self.unfinished = True
        key = self._key(call)
        if key is not None:
            earlier = self.known.get(key)
            if earlier is not None and self._reaches(earlier, call):
                return earlier
            self.known[key] = call.result
        self._keep(call)
        self.homes[call.result] = self.open_blocks[-1]
        return call.result

    def _note_integer(self, value: Value) -> None:
        """Note an integer that is available in the whole reverse half, by its properties."""
        if isinstance(value.type, Numeric) and value.type.value is not None:
            self.integers.setdefault(resolved(value.type.value), value)

    def _of_same_dtype(self, found: Atom, call: Call) -> Atom:
        """Keep the dtype of a replaced array: ``broadcast_to(2.0, n) * y`` is float64."""
        new, old = atom_type(found), call.result.type
        if not isinstance(new, Numeric) or not isinstance(old, Numeric):
            return found
        if new.form != "array" or old.form != "array" or (new.kind, old.kind) != ("f", "f"):
            return found
        return found if new.dtype == old.dtype else self.make(np.astype, found, Const(old.dtype))

    def _keep(self, op: Call) -> None:
        self.out.append(op)
        self.definitions[op.result] = op
        self.homes[op.result] = self.open_blocks[-1]

    def _key(self, op: Call) -> Any:
        return (op.target, *op.args, *op.kwargs) if is_mergeable(op) else None

    def _reaches(self, earlier: Value, op: Call) -> bool:
        """Return True if an equal value from before is in scope where `op` stands.

        While a transform is open, reverse blocks read values from inside the blocks that they
        mirror: a block is in reach when an operand comes from it.
        """
        home = self.homes[earlier]
        if home in self.open_blocks:
            return True
        return any(self.homes.get(value) == home for value in op.operands)

    # -------------------------------------------------------------- control flow
    def _if(self, op: If) -> None:
        test = substituted_atom(op.test, self.merged)
        if op.half != "primal" and not isinstance(op, Try):
            test = substituted_atom(test, self.alike)
            if isinstance(test, Const) and test != CHECKPOINT:
                self._inline_branch(op.then if test.value else op.orelse, op.outputs)
                return
        then, orelse = self.block(op.then), self.block(op.orelse)
        if op.half != "primal":
            for output, a, b in zip(op.outputs, then.results, orelse.results, strict=True):
                if a == b and (isinstance(a, Const) or self.homes.get(a) in self.open_blocks):
                    self.merged[output] = a
                    self.changed = True
        self.out.append(changed(op, test=test, then=then, orelse=orelse))

    def _inline_branch(self, block: Block, outputs: tuple[Value, ...]) -> None:
        for op in block.ops:
            self._op(op, self.open_blocks[-1])
        for output, atom in zip(outputs, block.results, strict=True):
            self.merged[output] = substituted_atom(atom, self.merged)
        self.changed = True

    def _loop(self, op: Loop) -> None:
        inits = tuple(substituted_atom(a, self.merged) for a in op.inits)
        if op.half != "primal":
            inits = tuple(substituted_atom(a, self.alike) for a in inits)
            self.merge_unchanged(op, inits)
        if isinstance(op, While):
            test, body = self.block(op.test), self.block(op.body)
            self.note_unchanged(op, inits, body)
            self.out.append(changed(op, inits=inits, test=test, body=body))
            return
        seqs = tuple(substituted(a, self.merged) for a in op.seqs)
        count = None if op.count is None else substituted_atom(op.count, self.merged)
        segments = tuple(substituted_atom(a, self.merged) for a in op.segments)
        if op.half != "primal":
            seqs = tuple(substituted(a, self.alike) for a in seqs)
            self.merge_constant_items(op, seqs)
            self.merge_equal_items(op, seqs)
        body = self.block(op.body)
        self.note_unchanged(op, inits, body)
        self.note_constant_lists(op, body)
        self.note_equal_lists(op, body)
        self.out.append(
            changed(op, seqs=seqs, inits=inits, body=body, count=count, segments=segments)
        )


def params_of_forward_ops(function: Function) -> tuple[Value, ...]:
    """Return the parameters that ops outside the reverse half read: no seed is among them.

    The forward ops of a derivative of a derivative are not all primal, and they run before a seed
    is known.
    """
    read: set[Value] = set()
    for op in function.block.ops:
        if op.half != "reverse":
            read.update(op.operands, *(block.free for block in op.blocks))
    return tuple(param for param in function.params if param in read)


def type_of(arg: Arg) -> Type:
    """Return the type of an atom; displays have none here."""
    return Opaque() if isinstance(arg, Display) else atom_type(arg)
