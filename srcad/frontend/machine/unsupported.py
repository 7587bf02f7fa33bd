"""Error messages for Python syntax without a handler."""

from __future__ import annotations

import ast
from typing import NoReturn

from srcad import errors
from srcad.frontend.machine.machine import Machine

REMEDIES = {
    ast.Await: (
        "the rest of the function runs at a time that the event loop decides; there is no "
        "one sequence to reverse.",
        "await first, then differentiate a plain function",
    ),
    ast.Yield: (
        "a generator hands out its values while it runs; there is no one result.",
        "collect the values in a list and return that",
    ),
    ast.YieldFrom: (
        "a generator hands out its values while it runs; there is no one result.",
        "collect the values in a list and return that",
    ),
    ast.ClassDef: (
        "every call makes a class of its own, and its methods may be called from anywhere.",
        "define the class outside the function",
    ),
    ast.AsyncFunctionDef: (
        "its body runs at times that the event loop decides; there is no one sequence to reverse.",
        "write a plain function",
    ),
    ast.SetComp: ("the order of a set is not defined.", "use a list"),
}


# What people call the forms that are refused.
_WORDS = {
    ast.AsyncFunctionDef: "'async def'",
    ast.AsyncFor: "'async for'",
    ast.AsyncWith: "'async with'",
    ast.ClassDef: "'class'",
    ast.SetComp: "a set comprehension",
    ast.TryStar: "'except*'",
    ast.Yield: "this 'yield'",
    ast.YieldFrom: "this 'yield from'",
}


def refuse_form(state: Machine, node: ast.AST) -> NoReturn:
    why, help_ = REMEDIES.get(
        type(node), ("this form of Python is not supported yet.", "write it with plain statements")
    )
    name = _WORDS.get(type(node), f"'{type(node).__name__.lower()}'")
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot differentiate through {name}",
        why=why,
        help=(help_,),
        node=node,
    )
