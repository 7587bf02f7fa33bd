"""Dead-code elimination.

What is needed is marked first, from the results backwards, once for the whole function: so a value
that only feeds itself around a loop is not needed, and neither is an output of a conditional that
is unused.  Then every block is rebuilt from what is needed.

An op of the reverse half goes when its results are unused.  In the primal half an op also stays if
running it can be noticed: by an effect, or by an exception that the original call would raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from srcad.analysis import trips
from srcad.ir.core import (
    Arg,
    Block,
    Call,
    Display,
    For,
    Function,
    If,
    Loop,
    Op,
    Try,
    Value,
    While,
    values_in,
)
from srcad.ir.traits import is_indexed
from srcad.passes.purity import is_mergeable, is_noticeable
from srcad.startup.records import dataclass, field, replace

_AS_IT_STANDS = ("primal", "again")  # halves whose loops may have sequences of several lengths


def dce(function: Function) -> Function:
    """Drop every operation with unused results and without a visible effect.

    This is safe while a transform is open, when the reverse half names values from inside the
    blocks of the primal: what is needed is told by values, wherever they are.

    `q` feeds only itself, and NumPy's logarithm does not raise; that of `math` may.

    >>> function = parse('''
    ... f(x: float, n: int):
    ...     for k in range(0, n, 1) [p, q = 1.0, 1.0] -> tag, count, p_n, q_n:
    ...         p_1 = mul(p, x)
    ...         q_1 = add(q, x)
    ...         yield 0, p_1, q_1
    ...     t = log(x)
    ...     u = math.log(x)
    ...     return p_n
    ... ''')
    >>> print(text(dce(function)))
    f(x, n):
        for k in range(0, n, 1) [p = 1.0] -> tag, count, p_n:
            p_1 = mul(p, x)
            yield 0, p_1
        u = log(x)
        return p_n
    """
    needs = _Needs()
    needs.read(function.block, None)
    needs.want(function.block.results)
    needs.settle()
    return replace(function, block=needs.kept(function.block, range(len(function.block.results))))


@dataclass(eq=False)
class _Frame:
    """An op that owns blocks, and the one around it."""

    op: If | For | While
    parent: _Frame | None
    needed: bool = False
    tried: bool = False


@dataclass(eq=False)
class _Needs:
    """The operands behind each value, and the values that are needed."""

    made_of: dict[Value, Sequence[Arg]] = field(default_factory=dict)
    frames: dict[Value, _Frame | None] = field(default_factory=dict)
    by_op: dict[int, _Frame] = field(default_factory=dict)
    needed: set[Value] = field(default_factory=set)
    pending: list[Value] = field(default_factory=list)
    loops: list[For] = field(default_factory=list)
    owners: dict[Value, _Frame] = field(default_factory=dict)
    run: list[set[Any]] = field(default_factory=list)  # in this block, and in those around it

    # -------------------------------------------------------------- reading the function
    def read(self, block: Block, frame: _Frame | None) -> None:
        """Note what every value of a block is made of; want what must stay."""
        self.run.append(set())
        for op in block.ops:
            if isinstance(op, Call):
                self._read_call(op, frame)
                continue
            assert isinstance(op, If | For | While)
            inner = self.by_op[id(op)] = _Frame(op, frame)
            inner.tried = frame is not None and frame.tried
            self.frames.update(dict.fromkeys(op.results, frame))
            self.owners.update(dict.fromkeys(op.results, inner))
            for one in op.blocks:
                self.frames.update(dict.fromkeys(one.params, inner))
                if isinstance(op, Try):
                    outside = frame is not None and frame.tried
                    inner.tried = outside or one is op.then
                self.read(one, inner)
            if isinstance(op, Try):
                self.want(op.outputs[:1])
            if isinstance(op, If):
                yields = zip(op.outputs, op.then.results, op.orelse.results, strict=True)
                for output, a, b in yields:
                    self.made_of[output] = [op.test, a, b]
            else:
                self._read_loop(op, inner)
        self.run.pop()

    def _read_call(self, op: Call, frame: _Frame | None) -> None:
        named = [a for _, a in op.kwargs] if op.kwargs else ()
        self.made_of[op.result] = (*op.args, *named) if named else op.args
        if frame is not None:
            self.frames[op.result] = frame
        if frame is not None and frame.tried and op.half in _AS_IT_STANDS:
            self.want([op.result])  # whether it fails decides what runs
        elif is_noticeable(op) and not self._is_inside(op, frame) and not self._has_run(op):
            self.want([op.result])

    def _has_run(self, op: Call) -> bool:
        """Return True if an equal call has run before, which has raised then whatever it raises.

        Note that this one has.
        """
        if op.effect or not is_mergeable(op):
            return False
        key = (op.target, *op.args, *op.kwargs)
        if any(key in known for known in self.run):
            return True
        self.run[-1].add(key)
        return False

    def _is_inside(self, op: Call, frame: _Frame | None) -> bool:
        """Return True if a call reads at an index of a loop that never leaves the array."""
        if not is_indexed(op.target):
            return False
        loops = []
        while frame is not None:
            if isinstance(frame.op, For):
                loops.append(frame.op)
            frame = frame.parent
        return trips.is_surely_inside(op, loops)

    def _read_loop(self, op: Loop, frame: _Frame) -> None:
        width = len(op.inits)
        tag, *results = op.body.results
        if isinstance(op, For):
            self.loops.append(op)
            for item, seq in zip(op.items, op.seqs, strict=True):
                self.made_of[item] = [seq]
        rows = zip(op.outputs[2 : 2 + width], op.carried, op.inits, results[:width], strict=True)
        for k, (output, param, init, result) in enumerate(rows):
            self.made_of[output] = [init, result, param]
            self.made_of[param] = [init, result]
            if isinstance(op, While):
                self.made_of[op.test.params[k]] = [param]
        for output, result in zip(op.outputs[2 + width :], results[width:], strict=True):
            self.made_of[output] = [result, tag]
        self.made_of[op.outputs[0]] = self.made_of[op.outputs[1]] = [tag]
        if isinstance(op, While) and op.half == "primal":
            self._enter(frame)

    # -------------------------------------------------------------- marking
    def want(self, args: Iterable[Arg]) -> None:
        """Mark values as needed."""
        needed, pending = self.needed, self.pending
        for arg in args:
            for value in (arg,) if isinstance(arg, Value) else values_in(arg):
                if value not in needed:
                    needed.add(value)
                    pending.append(value)

    def settle(self) -> None:
        """Mark everything that the marked values are made of."""
        while self.pending:
            while self.pending:
                value = self.pending.pop()
                if value in self.made_of:
                    self.want(self.made_of[value])
                for frame in (self.frames.get(value), self.owners.get(value)):
                    if frame is not None and not frame.needed:
                        self._enter(frame)
            for loop in self.loops:
                if self.by_op[id(loop)].needed and loop.count is None and not self._items(loop):
                    self.want([cheapest_sequence(loop)])

    def _enter(self, frame: _Frame | None) -> None:
        """Mark the test or the sequences of an operation as needed, since its block is."""
        while frame is not None and not frame.needed:
            frame.needed = True
            op = frame.op
            if isinstance(op, If):
                self.want([op.test])
            else:
                self.want([op.body.results[0]])
                if isinstance(op, While):
                    self.want(op.test.results)
                else:
                    self.want(op.seqs if op.half in _AS_IT_STANDS else ())
                    self.want(op.segments if op.count is None else (op.count,))
            frame = frame.parent

    def _items(self, loop: For) -> list[int]:
        return [k for k, item in enumerate(loop.items) if item in self.needed]

    # -------------------------------------------------------------- rebuilding
    def kept(self, block: Block, results: Iterable[int]) -> Block:
        """Return a block with the needed ops and some of its results."""
        ops: list[Op] = []
        for op in block.ops:
            if isinstance(op, Call):
                if op.result in self.needed:
                    ops.append(op)
                continue
            assert isinstance(op, If | For | While)
            if self.by_op[id(op)].needed:
                ops.append(self._kept_if(op) if isinstance(op, If) else self._kept_loop(op))
        chosen = tuple(block.results[k] for k in results)
        whole = len(ops) == len(block.ops) and len(chosen) == len(block.results)
        if whole and all(a is b for a, b in zip(ops, block.ops, strict=True)):
            return block
        return Block(block.params, tuple(ops), chosen)

    def _kept_if(self, op: If) -> If:
        chosen = [k for k, output in enumerate(op.outputs) if output in self.needed]
        then, orelse = self.kept(op.then, chosen), self.kept(op.orelse, chosen)
        if then is op.then and orelse is op.orelse and len(chosen) == len(op.outputs):
            return op
        outputs = tuple(op.outputs[k] for k in chosen)
        return replace(op, then=then, orelse=orelse, outputs=outputs)

    def _kept_loop(self, op: Loop) -> Loop:
        width = len(op.inits)
        first = len(op.body.params) - width
        pairs = enumerate(zip(op.carried, op.outputs[2 : 2 + width], strict=True))
        carried = [k for k, pair in pairs if not self.needed.isdisjoint(pair)]
        lists = [k for k, out in enumerate(op.outputs[2 + width :]) if out in self.needed]
        chosen = [0, *(1 + k for k in carried), *(1 + width + k for k in lists)]
        body = self.kept(op.body, chosen)
        outputs = (*op.outputs[:2], *(op.outputs[1 + k] for k in chosen[1:]))
        inits = tuple(op.inits[k] for k in carried)
        params = tuple(op.body.params[first + k] for k in carried)
        if isinstance(op, While):
            test = self.kept(op.test, (0,))
            tested = tuple(op.test.params[k] for k in carried)
            return replace(
                op,
                inits=inits,
                test=replace(test, params=tested),
                body=replace(body, params=params),
                outputs=outputs,
            )
        items = self._kept_items(op)
        params = (*(op.items[k] for k in items), *params)
        return replace(
            op,
            seqs=tuple(op.seqs[k] for k in items),
            inits=inits,
            body=replace(body, params=params),
            outputs=outputs,
        )

    def _kept_items(self, op: For) -> list[int]:
        """Return the items that are read.

        In loops made by a transform all sequences are equally long.
        """
        if op.half in _AS_IT_STANDS:
            return list(range(len(op.seqs)))
        found = self._items(op)
        if found or op.count is not None or not op.seqs:
            return found
        return [op.seqs.index(cheapest_sequence(op))]


def cheapest_sequence(loop: For) -> Arg:
    """Return the sequence that tells the number of iterations at the least cost."""
    return next((seq for seq in loop.seqs if isinstance(seq, Display)), loop.seqs[0])
