"""Where the handlers of the dispatch are: the index of the front end.

A module is loaded when what stands beside it is first met: half of the front end is for what many
functions do not have, and a fresh process does not wait for it.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import copy
import functools
import inspect
import itertools
import operator
import sys
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
from srcad.frontend.machine import dispatch
from srcad.frontend.prelude.containers import INSIDE
from srcad.ir.core import Value
from srcad.rules.conjugates import conj, may_be_complex
from srcad.rules.registry import is_known

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
    "srcad.frontend.library.builtins": (
        dict, dict.fromkeys, enumerate, filter, functools.partial, functools.reduce,
        functools.wraps, list, map, range, reversed, sum, tuple, zip,
    ),
    "srcad.frontend.library.conversions": (
        abs, bool, divmod, float, format, int, is_known, np.asanyarray, np.asarray, np.ndim,
        np.shape, np.where, pow, print, repr, slice, str,
    ),
    "srcad.frontend.library.conjugates": (conj, may_be_complex),
    "srcad.frontend.library.introspection": (
        callable, compile, dir, eval, exec, getattr, globals, hasattr, inspect.currentframe,
        inspect.stack, inspect.trace, isinstance, locals, sys._current_frames, sys._getframe,
        object.__getattribute__, type, vars,
    ),
    "srcad.frontend.library.iterators": (
        iter, itertools.accumulate, itertools.chain, itertools.chain.from_iterable,
        itertools.combinations, itertools.combinations_with_replacement, itertools.count,
        itertools.dropwhile, itertools.islice, itertools.pairwise, itertools.permutations,
        itertools.product, itertools.repeat, itertools.starmap, itertools.takewhile,
        itertools.zip_longest, next, np.ndenumerate, np.ndindex,
    ),
    "srcad.frontend.library.ordering": (all, any, max, min, sorted),
    "srcad.frontend.library.caches": (functools.cache, functools.lru_cache),
    "srcad.frontend.library.getters": (
        contextlib.contextmanager, operator.attrgetter, operator.itemgetter, operator.methodcaller,
    ),
    "srcad.frontend.library.options": (np.einsum, np.linalg.svd, np.linspace, np.meshgrid),
    "srcad.frontend.library.array_writes": (
        np.copyto, np.fill_diagonal, np.median, np.nan_to_num, np.nanmedian, np.nanpercentile,
        np.nanquantile, np.percentile, np.place, np.put, np.put_along_axis, np.putmask,
        np.quantile,
    ),
    "srcad.frontend.operations.assignment": (
        operator.iadd, operator.iand, operator.ifloordiv, operator.ilshift, operator.imatmul,
        operator.imod, operator.imul, operator.ior, operator.ipow, operator.irshift, operator.isub,
        operator.itruediv, operator.ixor,
    ),
    "srcad.frontend.operations.imports": (__import__,),
    "srcad.frontend.operations.instances": (
        copy.copy, copy.deepcopy, delattr, len, object.__init__, object.__setattr__,
        operator.delitem, operator.iconcat, operator.setitem, setattr, super,
    ),
    "srcad.frontend.operations.mappings": (
        collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque,
        *INSIDE,
    ),
}  # fmt: skip
# Of modules that a program may not have loaded: the functions by name.
MEANINGS_IN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "srcad.frontend.library.conversions": {
        "logging": (
            "critical", "debug", "error", "exception", "info", "log", "warning",
            "Logger.critical", "Logger.debug", "Logger.error", "Logger.exception", "Logger.info",
            "Logger.log", "Logger.warning",
        ),
        "warnings": ("warn",),
    },
    "srcad.frontend.library.getters": {"scipy._lib._array_api": ("array_namespace",)},
    "srcad.frontend.library.in_python": {
        "heapq": ("nlargest", "nsmallest"),
    },
    "srcad.frontend.operations.instances": {
        "bisect": ("insort", "insort_left", "insort_right"),
        "dataclasses": ("asdict", "replace"),
        "heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace"),
        "types": ("SimpleNamespace",),
    },
}  # fmt: skip


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
    dispatch.load_later_in(MEANINGS_IN)
