"""Random programs that read and write entries, prefixes and rows of two arrays in nested loops."""

from __future__ import annotations

import random

import numpy as np
import pytest

import srcad
from tests.marks import some

SIZE = 4
X = np.array([0.31, -0.52, 0.73, 0.44])
INDICES = ("i", "j", "j", "i", "i - 1", "j - 1", "0", "-1", "k", "(i + j) % 4")
PARTS = ("A[i, :j]", "A[j, :j]", "A[:i, j]", "y[:i]", "y[j:]", "A[i, 1:]", "y[:-1]", "A[i]",
         "y[::2]", "A[:, j]")  # fmt: skip
WRITTEN = ("A[i, :j]", "A[:i, j]", "y[:i]", "A[i, 1:]", "A[:, j]")
OUTER = ("range(1, 4)", "range(4)", "range(3, 0, -1)", "range(1, 3)", "(2, 1, 3)",
         "np.arange(1, 4)")  # fmt: skip
INNER = ("range(i)", "range(i + 1)", "range(i - 1, -1, -1)", "range(i, 4)", "range(4)",
         "range(1, i)")  # fmt: skip


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def entry(self) -> str:
        row, column = self.rng.choice(INDICES), self.rng.choice(INDICES)
        return self.rng.choice([f"A[{row}, {column}]", f"A[{row}, {column}]", f"y[{row}]",
                                f"y[{row}]", "row[j]"])  # fmt: skip

    def expression(self, depth: int = 0) -> str:
        chance = self.rng.random()
        if chance < 0.45 or depth == 2:
            return self.entry()
        if chance < 0.6:
            return f"np.sum({self.rng.choice(PARTS)})"
        if chance < 0.7:
            return f"np.sin({self.expression(depth + 1)})"
        if chance < 0.9:
            sign = self.rng.choice("+-*")
            return f"({self.expression(depth + 1)} {sign} {self.expression(depth + 1)})"
        return self.rng.choice(["0.5", "x[i]", "x[j]", "1.25"])

    def statement(self, indent: int, depth: int = 0) -> str:
        chance, margin = self.rng.random(), " " * indent
        if chance < 0.12 and depth == 0:
            test = f"{margin}if {self.entry()}.real > {self.rng.choice([0.1, -0.2, 0.6])}:\n"
            return test + self.statement(indent + 4, 1)
        if chance < 0.2:
            sign = self.rng.choice(["*=", "+=", "="])
            return f"{margin}{self.rng.choice(WRITTEN)} {sign} 0.5 * {self.expression()}\n"
        if chance < 0.28:
            read = f"{margin}t = {self.expression()}\n"
            return f"{read}{margin}{self.entry()} = t * 0.5 + {self.entry()}\n"
        sign = self.rng.choice(["=", "+=", "-=", "*=", "="])
        return f"{margin}{self.entry()} {sign} 0.4 * {self.expression()}\n"

    def program(self) -> str:
        body = "".join(self.statement(12) for _ in range(self.rng.randint(2, 4)))
        if self.rng.random() < 0.3:
            body += "            if y[j].real > 2.0:\n                break\n"
        return (
            "import numpy as np\n\n\ndef f(x):\n"
            "    A = np.outer(x, x) + 0.3\n    y = x * 1.5\n    k = 2\n"
            f"    for i in {self.rng.choice(OUTER)}:\n"
            f"        row = A[{self.rng.choice(['i', '0', 'i - 1'])}]\n"
            f"        for j in {self.rng.choice(INNER)}:\n{body}"
            "    return np.sum(A * A) + 2.0 * np.sum(y * x)\n"
        )


def agrees(seed: int, folder) -> str:
    text = Writer(seed).program()
    path = folder / f"entries_{seed}.py"
    path.write_text(text)
    space = {"__name__": path.stem}
    exec(compile(text, str(path), "exec"), space)
    f = space["f"]
    with np.errstate(all="ignore"):
        want = f(X.copy())
    if not abs(want) < 1e6:
        return "too large"
    try:
        value, gradient = srcad.value_and_grad(f)(X)
    except srcad.errors.MutationError:
        return "refused"
    steps = X + 1e-30j * np.eye(SIZE)
    slopes = np.array([f(step).imag / 1e-30 for step in steps])
    _, back = srcad.pullback(f, X)
    assert value == want, text
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9, err_msg=text)
    np.testing.assert_allclose(back(1.0)[0], slopes, rtol=1e-9, atol=1e-9, err_msg=text)
    return "right"


@pytest.mark.parametrize("first", some(range(0, 24, 4), 1))
def test_random_entry_access_programs_gradient(first: int, tmp_path) -> None:
    found = [agrees(seed, tmp_path) for seed in range(first, first + 4)]

    assert found.count("right") > 2
