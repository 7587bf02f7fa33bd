"""Seeded random IR: nested control flow with exits, swaps, undefined values and collected lists."""

from __future__ import annotations

import operator
import random

import numpy as np

from srcad.ir.core import (
    BREAK,
    CONTINUE,
    NONE,
    RETURN,
    UNDEF,
    Atom,
    Block,
    Const,
    Display,
    Function,
    Location,
    Value,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import add_at, append, build_list, build_tuple, identity, item, updated
from srcad.types.numeric import FLOAT, INT, array_type
from srcad.types.sizes import constant_extent
from srcad.types.structures import ListOf

HINTS = (None, None, None, "x", "y", "s", "x_bar", "h", "np", "len", "range")
LENGTH = 3
VECTOR = array_type(float, (constant_extent(LENGTH),))
LIST = ListOf(FLOAT)
LOG: list[float] = []


def record(x: float) -> float:
    """An effect: what it saw, in order, must be the same however the function is run."""
    LOG.append(x)
    return x


class Generator:
    """Builds one random function of two floats, an array and an int."""

    def __init__(self, seed: int, depth: int = 2) -> None:
        self.random = random.Random(seed)
        self.depth = depth
        self.line = 0

    def function(self) -> Function:
        x, y, v, n = (Value(t, h) for t, h in
                      ((FLOAT, "x"), (FLOAT, "y"), (VECTOR, "v"), (INT, "n")))  # fmt: skip
        builder = Builder()
        numbers: list[Atom] = [x, y, Const(0.5), Const(-1.5)]
        vectors: list[Atom] = [v]
        lists: list[Atom] = []
        scope = (numbers, vectors, lists, n)
        builder.half = "primal"
        self.fill(builder, scope, depth=0)
        builder.half = "reverse"
        self.fill(builder, scope, depth=0)
        results = self.random.choices(numbers, k=2) + self.random.choices(vectors, k=1)
        if lists:
            results += self.random.choices(lists, k=1)
        if self.random.random() < 0.3:
            results = [builder.call(build_tuple, *results)]
        return Function("f", (x, y, v, n), builder.finish(*results))

    def hint(self) -> str | None:
        return self.random.choice(HINTS)

    def fill(self, builder, scope, depth: int) -> None:
        for _ in range(self.random.randint(1, 3 if depth else 6)):
            self.line += self.random.randint(0, 1)
            builder.where = Location(
                "model.py", self.line, end_line=self.line + self.random.randint(0, 1)
            )
            roll = self.random.random()
            if roll < 0.55 or depth > self.depth:
                self.simple(builder, scope)
            elif roll < 0.65:
                self.conditional(builder, scope, depth)
            elif roll < 0.7:
                self.conditional_pair(builder, scope, depth)
            elif roll < 0.9:
                self.loop(builder, scope, depth)
            else:
                self.while_(builder, scope, depth)

    # ------------------------------------------------------------------------------- ops
    def number(self, scope) -> Atom:
        numbers = scope[0]
        recent = numbers[-4:] if self.random.random() < 0.6 else numbers
        return self.random.choice(recent)

    def vector(self, scope) -> Atom:
        return self.random.choice(scope[1][-3:])

    def simple(self, builder, scope) -> None:
        numbers, vectors, lists, _ = scope
        roll = self.random.random()
        if roll < 0.5:
            target = self.random.choice((operator.add, operator.sub, operator.mul))
            numbers.append(self.bounded(builder, target, self.number(scope), self.number(scope)))
        elif roll < 0.6:
            index = Const(self.random.randrange(LENGTH))
            read = builder.call(operator.getitem, self.vector(scope), index)
            numbers.append(builder.call(float, read, hint=self.hint()))
        elif roll < 0.7:
            target = self.random.choice((operator.add, operator.sub))
            vectors.append(
                builder.call(target, self.vector(scope), self.number(scope), hint=self.hint())
            )
        elif roll < 0.8:
            target = self.random.choice((updated, add_at))
            place = Const(self.random.randrange(LENGTH))
            if self.random.random() < 0.3:
                place = Display("slice", (Const(0), Const(2), Const(None)))
            vectors.append(
                builder.call(
                    target, self.vector(scope), place, self.number(scope), hint=self.hint()
                )
            )
        elif roll < 0.86:
            pair = builder.call(divmod, self.number(scope), Const(1.25))
            for k in range(self.random.randint(0, 2)):
                numbers.append(builder.call(item, pair, Const(k), hint=self.hint()))
        elif roll < 0.9:
            numbers.append(builder.call(identity, self.number(scope), hint=self.hint()))
        elif roll < 0.92:
            numbers.append(builder.call(record, self.number(scope), effect=True, hint=self.hint()))
        elif roll < 0.95:
            lists.append(builder.call(build_list, self.number(scope), self.number(scope)))
        elif lists:
            grown = builder.call(append, self.random.choice(lists), self.number(scope))
            lists.append(grown)

    def bounded(self, builder, target, a: Atom, b: Atom) -> Value:
        raw = builder.call(target, a, b)
        return builder.call(np.tanh, raw, hint=self.hint())

    def test(self, builder, scope) -> Value:
        target = self.random.choice((operator.lt, operator.gt))
        return builder.call(target, self.number(scope), self.number(scope))

    def inner(self, scope):
        numbers, vectors, lists, n = scope
        return (list(numbers), list(vectors), list(lists), n)

    # ---------------------------------------------------------------------- conditionals
    def conditional(self, builder, scope, depth: int) -> None:
        test = self.test(builder, scope)
        blocks, kinds = [], [self.random.random() for _ in range(self.random.randint(0, 2))]
        for _ in range(2):
            with builder.block() as arm:
                own = self.inner(scope)
                if self.random.random() < 0.8:
                    self.fill(arm, own, depth + 1)
                results = [self.number(own) if k < 0.7 else self.vector(own) for k in kinds]
                blocks.append(arm.finish(*results))
        for kind, out in zip(kinds, builder.if_(test, *blocks), strict=True):
            scope[0 if kind < 0.7 else 1].append(out)

    def conditional_pair(self, builder, scope, depth: int) -> None:
        """A value that only one path defines, read on that path of a later conditional."""
        test = self.test(builder, scope)
        arms = []
        for _ in range(2):
            with builder.block() as arm:
                own = self.inner(scope)
                self.fill(arm, own, depth + 1)
                arms.append((arm, self.number(own), self.number(own)))
        (then, a, b), (orelse, c, _) = arms
        outs = builder.if_(test, then.finish(a, b), orelse.finish(c, UNDEF))
        self.simple(builder, scope)
        results = []
        for known in (outs, outs[:1]):
            with builder.block() as arm:
                own = self.inner(scope)
                own[0].extend(known)
                self.fill(arm, own, depth + 1)
                results.append(arm.finish(self.number(own)))
        scope[0].extend(builder.if_(test, *results))
        scope[0].append(outs[0])

    # ----------------------------------------------------------------------------- loops
    def loop(self, builder, scope, depth: int) -> None:
        numbers, _, lists, n = scope
        seqs, items = [], []
        for _ in range(self.random.randint(1, 2)):
            roll = self.random.random()
            if lists and roll < 0.5:
                seqs.append(self.random.choice(lists))
                items.append(Value(FLOAT, self.hint()))
            elif roll < 0.8:
                seqs.append(Display("range", (Const(0), n, Const(1))))
                items.append(Value(INT, self.hint()))
            else:
                seqs.append(self.vector(scope))
                items.append(Value(FLOAT, self.hint()))
        count = n if self.random.random() < 0.2 else None
        own = self.inner(scope)
        backward = self.random.random() < 0.4
        if backward and count is None and builder.half == "reverse":
            del seqs[1:], items[1:]  # what a transform reads backward is equally long
        own[0].extend(items)
        inits, params, body, kinds = self.body(builder, scope, own, depth)
        outs = builder.for_(
            tuple(seqs), inits, Block((*items, *params), body.ops, body.results),
            backward=backward, count=count,
        )  # fmt: skip
        self.bind(builder, scope, outs, kinds)
        if self.random.random() < 0.5 and len(outs) > 2 + len(inits):
            self.reverse(builder, scope, seqs, items, outs, len(inits), depth)

    def reverse(self, builder, scope, seqs, items, outs, width: int, depth: int) -> None:
        """A backward loop over what the loop collected, as an adjoint has it."""
        own = self.inner(scope)
        again = [Value(i.type, i.hint) for i in items]
        saved = [Value(LIST if k else FLOAT) for k in range(len(outs) - 2 - width)]
        own[0].extend((*again, *saved[:1]))
        own[2].extend(saved[1:])
        inits, params, body, kinds = self.body(builder, scope, own, depth)
        block = Block((*again, *saved, *params), body.ops, body.results)
        outs = builder.for_((*seqs, *outs[2 + width :]), inits, block,
                            backward=self.random.random() < 0.8, count=outs[1])  # fmt: skip
        self.bind(builder, scope, outs, kinds)

    def body(self, builder, scope, own, depth: int):
        kinds = [self.random.random() < 0.75 for _ in range(self.random.randint(1, 3))]
        params = [Value(FLOAT if k else VECTOR, self.hint()) for k in kinds]
        inits = tuple(self.number(scope) if k else self.vector(scope) for k in kinds)
        for kind, param in zip(kinds, params, strict=True):
            own[0 if kind else 1].append(param)
        with builder.block() as inside:
            collected = self.random.randint(0, 2 if own[2] else 1)
            self.fill(inside, own, depth + 1)
            results = self.ending(inside, own, kinds, params, collected, depth)
        return inits, params, inside.finish(*results), kinds

    def yields(self, own, kinds, params, collected: int) -> list[Atom]:
        carried: list[Atom] = [self.number(own) if k else self.vector(own) for k in kinds]
        if self.random.random() < 0.3:
            numbers = [p for k, p in zip(kinds, params, strict=True) if k]
            rotated = iter(numbers[1:] + numbers[:1])
            carried = [next(rotated) if k else c for k, c in zip(kinds, carried, strict=True)]
        return carried + [self.saved(own, k) for k in range(collected)]

    def saved(self, own, k: int) -> Atom:
        """What a trip saves: a number, or a list (always in the second place)."""
        return self.random.choice(own[2]) if k == 1 else self.number(own)

    def ending(self, inside, own, kinds, params, collected: int, depth: int) -> list[Atom]:
        roll = self.random.random()
        if roll < 0.4:
            return [Const(NONE), *self.yields(own, kinds, params, collected)]
        exit_tag = Const(self.random.choice((CONTINUE, BREAK, RETURN)))
        if roll < 0.6:
            return self.sure_exit(inside, own, kinds, params, collected, exit_tag, depth)
        if roll < 0.85:
            return self.guarded(inside, own, kinds, params, collected, exit_tag, depth)
        picked = inside.call(int, inside.call(operator.gt, self.number(own), Const(0.2)))
        tag = inside.call(operator.mul, picked, exit_tag, hint="tag")
        return [tag, *self.yields(own, kinds, params, collected)]

    def sure_exit(self, inside, own, kinds, params, collected, tag, depth) -> list[Atom]:
        test = self.test(inside, own)
        blocks = []
        for arm_tag in (tag, Const(NONE)):
            with inside.block() as arm:
                mine = self.inner(own)
                if self.random.random() < 0.6:
                    self.fill(arm, mine, depth + 1)
                blocks.append(arm.finish(arm_tag, *self.yields(mine, kinds, params, collected)))
        if self.random.random() < 0.3:
            blocks.reverse()
        return list(inside.if_(test, *blocks))

    def guarded(self, inside, own, kinds, params, collected, tag, depth) -> list[Atom]:
        outer = self.test(inside, own)
        with inside.block() as arm:
            mine = self.inner(own)
            self.fill(arm, mine, depth + 1)
            inner_test = self.test(arm, mine)
            with arm.block() as leaving:
                left = leaving.finish(tag, *self.yields(mine, kinds, params, collected))
            with arm.block() as staying:
                stay = staying.finish(Const(NONE), *self.yields(mine, kinds, params, collected))
            then = arm.finish(*arm.if_(inner_test, left, stay))
        with inside.block() as other:
            undefined: list[Atom] = self.yields(own, kinds, params, collected)
            orelse = other.finish(Const(NONE), *undefined)
        outs = inside.if_(outer, then, orelse)
        goes_on = inside.call(operator.eq, outs[0], Const(NONE))
        with inside.block() as rest:
            mine = self.inner(own)
            for k, out in zip([*kinds, *[True] * collected], outs[1:], strict=True):
                if out is not outs[-1] or collected < 2:
                    mine[0 if k else 1].append(out)
            self.fill(rest, mine, depth + 1)
            later = rest.finish(Const(NONE), *self.yields(mine, kinds, params, collected))
        with inside.block() as gone:
            done = gone.finish(*outs)
        joined = list(inside.if_(goes_on, later, done))
        past = [self.random.random() < 0.3 for _ in joined[1:]]
        return [
            joined[0],
            *(a if p else b for p, a, b in zip(past, outs[1:], joined[1:], strict=True)),
        ]

    def bind(self, builder, scope, outs, kinds) -> None:
        tag, trips, *rest = outs
        for kind, out in zip(kinds, rest, strict=False):
            scope[0 if kind else 1].append(out)
        scope[2].extend(rest[len(kinds) : len(kinds) + 1])
        if self.random.random() < 0.3:
            scope[0].append(trips)
        if self.random.random() < 0.3:
            left = builder.call(operator.eq, tag, Const(RETURN))
            scope[0].append(builder.call(float, left, hint=self.hint()))

    def while_(self, builder, scope, depth: int) -> None:
        counter, test_counter = Value(INT, "k"), Value(INT, "k")
        own = self.inner(scope)
        own[0].append(counter)
        kinds = [True] * self.random.randint(1, 2)
        params = [Value(FLOAT, self.hint()) for _ in kinds]
        tests = [Value(FLOAT, p.hint) for p in params]
        inits = tuple(self.number(scope) for _ in kinds)
        own[0].extend(params)
        with builder.block() as condition:
            small = condition.call(operator.lt, test_counter, Const(self.random.randint(0, 4)))
            outcome = small
            if self.random.random() < 0.5:
                with condition.block() as more:
                    second = more.call(operator.lt, self.random.choice(tests), Const(0.7))
                    both = more.finish(second)
                with condition.block() as short:
                    neither = short.finish(small)
                (outcome,) = condition.if_(small, both, neither)
            test = condition.finish(outcome, params=(test_counter, *tests))
        with builder.block() as inside:
            self.fill(inside, own, depth + 1)
            collected = self.random.randint(0, 1)
            tag, *rest = self.ending(inside, own, kinds, params, collected, depth)
            grown = inside.call(operator.add, counter, Const(1), hint="k")
            body = inside.finish(tag, grown, *rest, params=(counter, *params))
        outs = builder.while_((Const(0), *inits), test, body)
        scope[0].append(outs[2])
        self.bind(builder, scope, (outs[0], outs[1], *outs[3:]), kinds)
