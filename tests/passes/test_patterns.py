"""Patterns over Python syntax bind what stands in their holes."""

import ast

import pytest

from srcad.passes.by_pattern import filled, match, rewritten, sides


def shown(found):
    """What a match has bound, as text."""
    if found is None:
        return None
    return {
        name: [ast.unparse(v) for v in value] if isinstance(value, list)
        else value if isinstance(value, str) else ast.unparse(value)
        for name, value in found.items()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "text", "bound"),
    [
        ("a_ * a_", "x * x", {"a": "x"}),
        ("a_ * a_", "x * y", None),
        ("a_ * a_", "(x + 1) * (x + 1)", {"a": "x + 1"}),
        ("a_ * a_", "1 * 1.0", None),
        ("a_ * a_", "1 * True", None),
        ("[1, a_, 3, b__, c_]", "[1, 2, 3, 4, 5, 6, 7]",
         {"a": "2", "b": ["4", "5", "6"], "c": "7"}),
        ("[1, a_, 3, b__, c_]", "[1, 2, 3, 7]", {"a": "2", "b": [], "c": "7"}),
        ("[1, a_, 3, b__, c_]", "[1, 2, 3]", None),
        ("f(xs__)", "f()", {"xs": []}),
        ("f(xs__, k=v_)", "f(1, k=2)", {"xs": ["1"], "v": "2"}),
        ("f_(x_)", "np.sin(y)", {"f": "np.sin", "x": "y"}),
        ("x_.name_", "a.b.c", {"x": "a.b", "name": "c"}),
        ("x_ = y_ + z_", "a = b + c", {"x": "a", "y": "b", "z": "c"}),
        ("x_ = x_ + z_", "a = a + c", {"x": "a", "z": "c"}),
        ("b_ += e_", "b[0] += 2 * e", {"b": "b[0]", "e": "2 * e"}),
        ("if t_: body__", "if x > 0:\n    y = 1\n    z = 2",
         {"t": "x > 0", "body": ["y = 1", "z = 2"]}),
        ("for k_ in range(n_): s_", "for i in range(3):\n    y = i",
         {"k": "i", "n": "3", "s": "y = i"}),
        ("def f_(a__): return r_", "def g(x, y):\n    return x",
         {"f": "g", "a": ["x", "y"], "r": "x"}),
        ("_ + _", "1 + 2", {}),
        ("g(__)", "g(1, 2)", {}),
        ("f(__init__)", "f(x)", None),
        ("x_", "3", {"x": "3"}),
        ("-x_", "-y", {"x": "y"}),
        ("2", "2", {}),
        ("2", "2.0", None),
    ],
)  # fmt: skip
def test_a_pattern_binds(pattern, text, bound):
    assert shown(match(pattern, text)) == bound


def test_two_slurps_in_one_sequence_are_refused():
    with pytest.raises(ValueError, match="at most one"):
        match("[a__, b__]", "[1, 2]")

    assert shown(match("[a__] + [b__]", "[1] + [2, 3]")) == {"a": ["1"], "b": ["2", "3"]}


def test_repeated_slurp_binds_equal_sequences():
    assert match("f(xs__) + g(xs__)", "f(1, y) + g(1, y)")
    assert not match("f(xs__) + g(xs__)", "f(1, y) + g(1, z)")


def test_bindings_substituted_into_template():
    found = match("def f_(a__): body__", "def g(x, y):\n    z = x\n    return z")

    made = filled("def f_(a__):\n    before()\n    body__", found)

    assert ast.unparse(made) == "def g(x, y):\n    before()\n    z = x\n    return z"


@pytest.mark.parametrize(
    ("rule", "text", "new"),
    [
        ("b_ += e_ * 1.0 -> b_ += e_", "b += e * 1.0", "b += e"),
        ("b_ += e_ * 1.0 -> b_ += e_", "b += e * 2.0", None),
        ("x_ + x_ -> 2 * x_", "(a - b) + (a - b)", "2 * (a - b)"),
        ("f(x_, xs__) -> g(xs__, x_)", "f(1, 2, 3)", "g(2, 3, 1)"),
    ],
)
def test_a_rule_rewrites(rule, text, new):
    assert rewritten(rule, text) == new


def test_matched_node_not_modified():
    node = ast.parse("x * x", mode="eval").body
    found = match("a_ * a_", node)

    made = filled("a_ ** 2", found)

    assert made.left is not node.left
    assert ast.unparse(node) == "x * x"


@pytest.mark.parametrize("rule", ["x_ + 0", "a -> b -> c"])
def test_rewrite_rule_needs_one_arrow(rule):
    with pytest.raises(ValueError, match="pattern -> replacement"):
        sides(rule)
