"""Where the handlers of the dispatch are: the index of the front end.

A module is loaded when what stands beside it is first met: half of the front end is for what many
functions do not have, and a fresh process does not wait for it.  The modules of `MEANINGS_NOW` give
a meaning to so many functions of Python that they are loaded at once.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Mapping
from typing import Any

import numpy as np

from srcad.frontend.domain.values import (
    BoundValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    FunctionValue,
    Holder,
    ListValue,
    MethodValue,
    RecordValue,
    Super,
    TupleValue,
    ViewValue,
)
from srcad.frontend.library import (
    builtins,
    conversions,
    in_python,
    introspection,
    iterators,
    ordering,
)
from srcad.frontend.machine import dispatch
from srcad.frontend.operations import instances
from srcad.frontend.prelude.containers import INSIDE
from srcad.ir.core import Value

Index = Mapping[str, tuple[Any, ...]]

EXPRESSIONS: Index = {
    "srcad.frontend.operations.expressions": (
        ast.Attribute, ast.Constant, ast.Dict, ast.JoinedStr, ast.Lambda, ast.List, ast.Name,
        ast.NamedExpr, ast.Set, ast.Starred, ast.Tuple,
    ),
    "srcad.frontend.operations.operators": (ast.BinOp, ast.UnaryOp),
    "srcad.frontend.operations.comparisons": (ast.Compare,),
    "srcad.frontend.operations.indexing": (ast.Slice, ast.Subscript),
    "srcad.frontend.branches.short_circuits": (ast.BoolOp, ast.IfExp),
    "srcad.frontend.calls.call": (ast.Call,),
    "srcad.frontend.control.comprehensions": (ast.DictComp, ast.ListComp, ast.SetComp),
    "srcad.frontend.control.generator_expressions": (ast.GeneratorExp,),
    "srcad.frontend.functions.generators": (ast.Yield, ast.YieldFrom),
}  # fmt: skip
STATEMENTS: Index = {
    "srcad.frontend.operations.statements": (
        ast.Assert, ast.Break, ast.Continue, ast.Delete, ast.Expr, ast.FunctionDef, ast.Global,
        ast.Nonlocal, ast.Pass, ast.Raise, ast.Return,
    ),
    "srcad.frontend.operations.assignment": (ast.AnnAssign, ast.Assign, ast.AugAssign),
    "srcad.frontend.operations.imports": (ast.Import, ast.ImportFrom),
    "srcad.frontend.control.loops": (ast.For, ast.While),
    "srcad.frontend.control.with_statement": (ast.With,),
    "srcad.frontend.control.try_statement": (ast.Try,),
}  # fmt: skip
ABBREVIATIONS: Index = {
    "srcad.frontend.operations.match": (ast.Match,),
}
CALLS: Index = {
    "srcad.frontend.calls.call": (
        BoundValue, Choice, Conflict, FunctionValue, RecordValue, Value, object,
    ),
    "srcad.frontend.calls.known_callee": (Constant,),
    "srcad.frontend.calls.method_call": (MethodValue,),
}  # fmt: skip
ATTRIBUTES: Index = {
    "srcad.frontend.operations.attributes": (
        BoundValue, Choice, Constant, DictValue, FunctionValue, Holder, ListValue, RecordValue,
        Super, TupleValue, Value, ViewValue, object,
    ),
}  # fmt: skip
ITERATED: Index = {"srcad.frontend.control.iteration": (Constant, Holder, RecordValue)}
REIFIED: Index = {
    "srcad.frontend.operations.outside_containers": (Holder,),
    "srcad.frontend.operations.reified_closures": (FunctionValue,),
}
MEANINGS: Index = {
    "srcad.frontend.operations.imports": (__import__,),
    "srcad.frontend.operations.mappings": (
        collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque,
        *INSIDE,
    ),
    "srcad.frontend.library.options": (np.einsum, np.linalg.svd, np.linspace, np.meshgrid),
    "srcad.frontend.library.array_writes": (
        np.copyto, np.fill_diagonal, np.median, np.nan_to_num, np.nanmedian, np.nanpercentile,
        np.nanquantile, np.percentile, np.place, np.put, np.put_along_axis, np.putmask,
        np.quantile,
    ),
}  # fmt: skip
MEANINGS_NOW = (builtins, conversions, in_python, instances, introspection, iterators, ordering)


def install() -> None:
    """Tell the dispatch where its handlers are."""
    dispatch.load_later(dispatch.EXPRESSIONS, EXPRESSIONS)
    dispatch.load_later(dispatch.STATEMENTS, STATEMENTS)
    dispatch.load_later(dispatch.ABBREVIATIONS, ABBREVIATIONS)
    dispatch.load_later(dispatch.CALLS, CALLS)
    dispatch.load_later(dispatch.ATTRIBUTES, ATTRIBUTES)
    dispatch.load_later(dispatch.ITERATED, ITERATED)
    dispatch.load_later(dispatch.REIFIED, REIFIED)
    dispatch.load_later(dispatch.MEANINGS, MEANINGS)
