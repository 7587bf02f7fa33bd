"""Long chains take text and time in proportion, and no more levels than Python has."""

import itertools
import linecache
import sys

import numpy as np
import pytest

import srcad
from srcad.frontend.source.code import is_among
from tests.marks import named_some

NUMBERS = itertools.count()


def written(body, **space):
    """A function from its text, which is at hand for the compiler."""
    file = f"<chain {next(NUMBERS)}>"
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    found = {"np": np, **space}
    exec(compile(body, file, "exec"), found)
    return found["f"]


def lines(*parts):
    return "\n".join(parts) + "\n"


def alternatives(n):
    tests = " or ".join(f"x == {-k - 1}.0" for k in range(n))
    return written(f"def f(x):\n    return x * x if {tests} or x > 1 else x\n")


def conditions(n):
    tests = " and ".join(f"x > {-k - 1}.0" for k in range(n))
    return written(f"def f(x):\n    return x * x if {tests} else x\n")


def first_number(n):
    values = " or ".join(f"(x > {k + 5}.0) * x" for k in range(n))
    return written(f"def f(x):\n    return ({values} or x * x) * x\n")


def last_number(n):
    values = " and ".join(f"(x + {k}.0)" for k in range(n))
    return written(f"def f(x):\n    return ({values}) * x\n")


def attributes(n):
    class AbstractValue:
        pass

    root = box = AbstractValue()
    for _ in range(n):
        box.a = AbstractValue()
        box = box.a
    box.v = 2.0
    return written(f"def f(x):\n    return x * o{'.a' * n}.v * x\n", o=root)


def items(n):
    held = 2.0
    for _ in range(n):
        held = [held]
    return written(f"def f(x):\n    return x * o{'[0]' * n} * x\n", o=held)


def elifs(n):
    return written(lines(
        "def f(x):", "    z = x * x", "    if x > 1000: z = x",
        *(f"    elif x > {n + 2 - k}.37: z = np.sin(z) * {k}.0" for k in range(n)),
        "    for _ in range(3): z = z * x", "    return z",
    ))  # fmt: skip


def elifs_that_return(n):
    return written(lines(
        "def f(x):", "    if x > 1000: return x",
        *(f"    elif x > {n + 2 - k}.37: return x * {k}.0" for k in range(n)),
        "    z = x * x", "    return z * x",
    ))  # fmt: skip


def mixed_elifs(n):
    return written(lines(
        "def f(x):", "    z = x * x", "    if x > 1000: z = x",
        *(f"    elif x > {n + 2 - k}.37: {('z =', 'return')[k % 2]} z * {k}.0"
          for k in range(n)),
        "    for _ in range(2): z = z * x", "    return z",
    ))  # fmt: skip


def elifs_in_a_loop(n):
    return written(lines(
        "def f(x):", "    z = x * x", "    for _ in range(3):", "        if z > 10000: z = x",
        *(f"        elif z > {n + 2 - k}.37: z = np.sin(z) * {k}.0" for k in range(n)),
        "        z = z * x", "    return z",
    ))  # fmt: skip


def guard_clauses(n):
    return written(lines(
        "def f(x):", *(f"    if x > {n + 2 - k}.37: return x * {k}.0" for k in range(n)),
        "    return x * x",
    ))  # fmt: skip


def guard_clauses_between_statements(n):
    return written(lines(
        "def f(x):", "    z = x",
        *(f"    if z > {n + 2 - k}.37: return z * {k}.0\n    z = np.sin(z) + z" for k in range(n)),
        "    return z * x",
    ))  # fmt: skip


def continues(n):
    return written(lines(
        "def f(x):", "    r = 0.0", "    for v in (x, 2 * x, 3 * x):",
        *(f"        if v > {n + 2 - k}.37:\n            r = r + v * {k}.0\n            continue"
          for k in range(n)),
        "        r = r + v * v", "    return r",
    ))  # fmt: skip


def breaks(n):
    return written(lines(
        "def f(x):", "    r = 0.0", "    for k in range(4):", "        v = x * (k + 1)",
        *(f"        if v > {n + 2 - k}.37: break" for k in range(n)),
        "        r = r + v * v", "    return r",
    ))  # fmt: skip


def cases(n):
    return written(lines(
        "def f(x):", "    match int(x):",
        *(f"        case {k}: return x * {k}.5" for k in range(n)),
        "    return x * x",
    ))  # fmt: skip


def cases_that_fall_through(n):
    return written(lines(
        "def f(x):", "    z = x * x", "    match int(x):",
        *(f"        case {k}: z = np.sin(z) * {k}.5" for k in range(n)),
        "        case _: z = x", "    for _ in range(3): z = z * x", "    return z",
    ))  # fmt: skip


CHAINS = [
    alternatives, conditions, first_number, last_number, attributes, items, elifs,
    elifs_that_return, mixed_elifs, elifs_in_a_loop, guard_clauses,
    guard_clauses_between_statements, continues, breaks, cases, cases_that_fall_through,
]  # fmt: skip


def compare(f, *points):
    value_and_gradient = srcad.value_and_grad(f)
    for x in points:
        step = 1e-6
        slope = (f(x + step) - f(x - step)) / (2 * step)
        found = value_and_gradient(x)
        assert found == (f(x), pytest.approx(slope, rel=1e-5, abs=1e-7))


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_bisected_branch_chain_gradient_at_every_exit(chain):
    compare(chain(24), 0.3, 2.45, 9.7, 17.2, 31.8, 2000.5)


@pytest.mark.parametrize(
    "chain", named_some([cases, breaks, elifs], ["breaks"]), ids=lambda chain: chain.__name__
)
def test_generated_code_size_linear_in_chain_length(chain):
    short, long = srcad.grad(chain(40)), srcad.grad(chain(100))
    short(2.7)
    long(2.7)

    assert len(long.source) < 4 * len(short.source)
    assert max(len(line) - len(line.lstrip()) for line in long.source.splitlines()) < 4 * 30


@pytest.mark.parametrize("chain", [alternatives, attributes], ids=lambda chain: chain.__name__)
def test_branch_chain_of_length_200_gradient(chain):
    compare(chain(200), 2.7)


def nested_lambdas(n):
    opened = "".join(f"lambda a{k}: (" for k in range(n))
    return written(f"def f(x):\n    return ({opened}x * a0{')' * n}){'(x)' * n}\n")


def test_source_lookup_of_26_nested_lambdas():
    compare(nested_lambdas(26), 2.5)


def test_code_object_comparison_includes_nested_constants():
    text = "def f(x):\n    return (lambda a: (lambda b: b * {}))(x)(x)\n"
    one, same, other = (compile(text.format(c), "file", "exec") for c in ("2", "2", "2.0"))

    assert is_among(one.co_consts[0], same.co_consts)
    assert not is_among(one.co_consts[0], other.co_consts)
    assert not is_among(one.co_consts[0], (None, 3))


def test_elif_after_return_emitted_as_if():
    gradient = srcad.grad(elifs_that_return(3))

    gradient(2.5)

    assert "else" not in gradient.source
    assert gradient.source.count("return") == 5


def test_long_attribute_chain_reevaluated_on_each_call():
    f = attributes(40)
    root = f.__globals__["o"]
    gradient = srcad.grad(f)
    first = gradient(3.0)
    for _ in range(40):
        root = root.a

    root.v = 5.0

    assert (first, gradient(3.0)) == (12.0, 30.0)


def test_recursion_limit_unchanged():
    before = sys.getrecursionlimit()

    srcad.grad(guard_clauses(30))(2.5)

    assert sys.getrecursionlimit() == before
