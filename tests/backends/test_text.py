"""Layout, comments, and the files that tracebacks show."""

from __future__ import annotations

import ast
import gc
import inspect
import linecache
import operator
import traceback

import numpy as np

from srcad.backends.python.backend import load
from srcad.backends.python.emitter import emit
from srcad.backends.python.writing.text import Comment, render, same_tree
from srcad.ir.core import Const, Function, Location, Value
from srcad.ir.inference.builder import Builder
from srcad.types.numeric import FLOAT


def function(line: int = 14, text: str = "y = np.log(x)") -> Function:
    """A function with one statement in each half."""
    b, x = Builder(), Value(FLOAT, "x")
    b.where = Location("/home/me/model.py", line)
    y = b.call(np.log, x, hint="y")
    b.half = "reverse"
    g = b.call(operator.truediv, y, x)
    product = b.call(operator.mul, g, g)
    return Function("loss", (x,), b.finish(product), Location("/home/me/model.py", 13))


def test_the_header_names_function_file_and_line() -> None:
    text = emit(function()).text

    assert text.startswith("# loss  (model.py:13)\ndef loss(x):\n")


def test_reverse_statements_commented_with_source_line() -> None:
    text = emit(function(), source_line=lambda where: "y = np.log(x)").text

    assert "    # y = np.log(x)  (model.py:14)\n    g = y / x\n" in text


def test_comment_is_sanitized_to_one_line() -> None:
    text = emit(function(), source_line=lambda where: "y = 1\nimport os  # \x00 'quote\"").text

    assert "# y = 1 import os #   'quote\"  (model.py:14)" in text


def test_long_comments_are_cut() -> None:
    text = emit(function(), source_line=lambda where: "y = " + "x + " * 60).text

    (comment,) = (line for line in text.splitlines() if line.startswith("    #"))
    assert 85 <= len(comment) <= 88
    assert comment.endswith("...  (model.py:14)")


def test_short_comment_beside_a_long_place_is_kept_whole() -> None:
    file = f"/home/me/{'long_' * 12}name.py"
    b, x = Builder(), Value(FLOAT, "x")
    b.half, b.where = "reverse", Location(file, 14)
    made = Function("loss", (x,), b.finish(b.call(np.sin, x)))

    short, long = (emit(made, source_line=lambda _: line).text for line in ("x", "x + " * 9))

    assert f"    # x  ({file[9:]}:14)\n" in short
    assert f"    # {('x + ' * 9).strip()}\n    # ({file[9:]}:14)\n" in long


def test_long_lines_are_broken_at_commas_or_operators() -> None:
    b = Builder()
    names = [Value(FLOAT, f"a_long_parameter_name_{k}") for k in range(9)]
    total = names[0]
    for name in names[1:]:
        total = b.call(operator.add, total, name)
    text = emit(Function("f", tuple(names), b.finish(total))).text

    assert max(map(len, text.splitlines())) <= 88
    assert len(text.splitlines()) > 3


def test_unparseable_layout_emitted_without_comments() -> None:
    node = ast.Constant(-2.0)
    wrong = ast.Expr(ast.BinOp(node, ast.Pow(), ast.Constant(2)))
    tree = ast.Module([Comment("gone"), wrong], [])

    text, parsed = render(tree)

    assert "#" not in text
    assert same_tree(parsed, ast.parse(text))


def test_line_map_points_to_user_source() -> None:
    emitted = emit(function(), source_line=lambda where: "y = np.log(x)")
    lines = emitted.text.splitlines()

    mapped = {lines[k - 1].strip(): where.line for k, where in emitted.line_map.items()}

    assert mapped == {"y = np.log(x)": 14, "g = y / x": 14, "return g * g": 14}


def test_tracebacks_and_inspect_show_generated_code() -> None:
    emitted = emit(function())
    run = load(emitted, "model.loss")

    try:
        run("no number")
    except TypeError as error:
        shown = "".join(traceback.format_exception(error))

    assert "y = np.log(x)" in shown
    assert "<srcad model.loss" in shown
    assert inspect.getsource(run) in emitted.text


def test_linecache_entry_removed_for_collected_function() -> None:
    emitted = emit(function())
    first, second = load(emitted, "model.gone"), load(emitted, "model.gone")
    file = first.__code__.co_filename

    del first
    gc.collect()
    kept = file in linecache.cache
    del second
    gc.collect()
    load(emitted, "model.next")

    assert kept
    assert file not in linecache.cache


def test_linecache_entry_removal_deferred() -> None:
    # A doctest went over the entries when a function died: KeyError, from linecache itself.
    dying = load(emit(function()), "model.dying")
    file = dying.__code__.co_filename

    del dying
    gc.collect()

    assert file in linecache.cache


def test_a_constant_string_cannot_leave_its_quotes() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    nasty = "\"'\n\\\x00\u2028" + "a" * 200
    emitted = emit(Function("f", (x,), b.finish(Const(nasty))))

    assert load(emitted)(1.0) == nasty


def test_loop_over_many_lists_wrapped_to_line_limit() -> None:
    names = [f"a_rather_long_name_{k}" for k in range(9)]
    target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    lists = [ast.Name(f"{n}_saved", ast.Load()) for n in names]
    iterable = ast.Call(ast.Name("zip", ast.Load()), lists, [])
    loop = ast.For(target, iterable, [ast.Pass()], [])
    left = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    right = ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())

    text, _ = render(ast.Module([loop, ast.Assign([left], right)], []))

    assert max(map(len, text.splitlines())) <= 88
