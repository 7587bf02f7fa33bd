"""Random programs that write objects outside by several names: value, state and gradient."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import errors

X = np.array([0.7, -0.4, 1.3])
OWNERS = ("a", "b", "pair[0]", "pair[1]", "table['b']", "both[0]", "a.next", "o")
VALUES = ("s", "x[1]", "np.sin(s)", "a.w * x[1]", "b.w", "pair[1].w", "0.5", "a.n * s * 0.1", "b.p")
HELPERS = (
    "o.w = v; return o.w",
    "o.n += 1; return v * a.w",
    "return o.bump(v) + d.w",
    "o.p = v; return d.p",
    "setattr(o, 'w', v); return d.w",
    "o.next.w = v; return o.w",
    "return sum([q.bump(v) for q in pair])",
    "q = o; q.w = v; return d.w",
)
STATEMENTS = (
    "{o}.w = {v}",
    "{o}.w += {v} * 0.5",
    "{o}.n += 1",
    "{o}.p = {v}",
    "{o}.h = x * {v}",
    "s = s + np.sum({o}.h) * 0.2",
    "s = s * 0.5 + helper({o}, {v}) * 0.5",
    "s = s * 0.5 + {o}.bump({v}) * 0.3",
    "setattr({o}, 'w', {v})",
)
START = """
class Store:
    def bump(self, v):
        self.w = self.w * 0.5 + v
        return self.w
    @property
    def p(self):
        return self.w * 2.0
    @p.setter
    def p(self, v):
        self.w = v * 0.5
def world():
    a, b = Store(), Store()
    a.w, a.n, a.h, b.w, b.n, b.h = 1.0, 0, np.ones(3), 2.0, 1, np.full(3, 2.0)
    {alias}
    a.next, b.next = b, a
    pair, table, both = [a, b], {{"b": b}}, (b, a)
    def helper(o, v, d=a):
        {helper}
    def f(x, o=a):
        s = x[0] * 1.0
"""
END = """
        return s + a.w * x[2] + b.w + np.sum(a.h) * x[0]
    return f, lambda: [a.w, a.n, [*a.h], b.w, b.n, [*b.h]]
"""


def program(seed: int) -> str:
    """The text of a program."""
    r = random.Random(seed)
    lines = []
    for _ in range(r.randint(2, 4)):
        head = r.choice(("", "", "for i in range(2):", "for i in range(0):", "if s > 0:"))
        statement = r.choice(STATEMENTS).format(o=r.choice(OWNERS), v=r.choice(VALUES))
        lines += (
            [f"        {head}", f"            {statement}"] if head else [f"        {statement}"]
        )
    start = START.format(alias=r.choice(("b = a", "pass")), helper=r.choice(HELPERS))
    return start + "\n".join(lines) + END


def loaded(seed: int) -> Any:
    """What makes the function and the objects that it writes anew."""
    text, name = program(seed), f"<program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np, "__name__": "programs"}
    exec(compile(text, name, "exec"), space)
    return space["world"]


@pytest.mark.parametrize("seed", range(40))
def test_random_program_final_state_matches_original(seed):
    world = loaded(seed)
    plain, left = world()
    value = plain(X)
    function, seen = world()

    try:
        found, gradient = srcad.value_and_grad(function)(X.copy())
    except errors.SrcadError:
        pytest.skip("refused")

    assert found == value
    assert seen() == left()
    for k, step in enumerate(1e-6 * np.eye(3)):
        slope = (world()[0](X + step) - world()[0](X - step)) / 2e-6
        assert abs(gradient[k] - slope) < 1e-4 * max(1.0, abs(slope))
