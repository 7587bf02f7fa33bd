"""Keywords of functions with a rule that the rule does not take, with the reason for each."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable

from srcad.rules.registry import qualified_name
from srcad.rules.row import Rule

_LOOP = "how NumPy runs the loop; refused"
_LIBRARY = "for arrays of other libraries; refused"
_MASKED = (
    "options of SciPy's wrapper around the function; refused: write np.where or an axis before"
)

# By the keyword, whatever the function.
REASONS = {
    "out": "interpreted before the rule: the call, and a write of its result",
    "where": "interpreted before the rule: a choice between the result and what `out` held",
    "casting": _LOOP,
    "signature": _LOOP,
    "subok": "there are no subclasses of arrays in a differentiated call; refused unless False",
    "writeable": "a view is read only in a differentiated call",
    "order": "the memory order of the result, or fields of records; refused",
    "device": _LIBRARY,
    "like": _LIBRARY,
    "plan": "reserved by SciPy; every value but None raises",
    "nan_policy": _MASKED,
    "overwrite_input": "the argument would have undefined content afterwards; refused",
    "axes": "refused: move the axes with np.moveaxis before and after the call",
    "weights": "refused: write the weighted sum",
}
# Where the reason depends on the function.
OF_FUNCTIONS = {
    ("dtype", "ufunc"): "interpreted before the rule: a conversion; else refused",
    ("dtype", "trace"): "refused: convert the result",
    ("dtype", "mean"): "refused: convert the argument",
    ("keepdims", "ufunc"): "refused: use np.expand_dims",
    ("keepdims", ""): _MASKED,
    ("axis", "ufunc"): "refused: move the axis with np.moveaxis before the call",
    ("axis", "linregress"): _MASKED,
    ("mean", "var"): "refused: it would have to be the mean of the same array",
    ("correction", "var"): "another name of ddof; refused: write ddof",
    ("axisa", "cross"): "interpreted before the rule: np.moveaxis",
    ("axisb", "cross"): "interpreted before the rule: np.moveaxis",
    ("axisc", "cross"): "interpreted before the rule: np.moveaxis",
    ("ndmax", "array"): "for arrays of objects; refused",
    ("retstep", "linspace"): "another number of results; refused: (stop - start) / (num - 1)",
    ("copy", "meshgrid"): "False makes views with shared entries; refused",
    ("sparse", "meshgrid"): "another kind of result; refused: index with np.newaxis",
    ("descending", "sort"): "refused: sort, then reverse with [::-1]",
    ("subset_by_value", "eigh"): "the number of results would depend on values; refused",
    ("diff_n", "MultiUFunc"): "another number of results; refused",
    ("extend", "factorial"): "for complex arguments; refused",
    ("allow_singular", "pdf"): "a singular matrix has no derivative; refused",
    ("alpha", "boxcox"): "another number of results; refused",
    ("optimizer", "boxcox"): "the parameter would be found by another program; refused",
    ("method", "pearsonr"): "resampling, whose p-value is no function of the data; refused",
}
_ALIKE = {
    "var": ("std", "nanvar", "nanstd"),
    "eigh": ("eigvalsh",),
    "mean": ("gmean", "hmean", "pmean"),
    "factorial": ("factorial2", "factorialk"),
}


def untaken(row: Rule) -> list[str]:
    """Return the keywords of a function that its rule does not take."""
    try:
        parameters = inspect.signature(row.about).parameters.values()
    except (TypeError, ValueError):
        return []  # it takes no keywords, or does not tell which
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = {*row.parameters, *row.keywords}
    return [p.name for p in parameters if p.kind in named and p.name not in known]


def reason(row: Rule, keyword: str) -> str | None:
    """Return why a rule does not take a keyword; None if no reason is noted."""
    name = qualified_name(row.about).rpartition(".")[2]
    kinds = [name, *(kind for kind, names in _ALIKE.items() if name in names)]
    cls = type(row.about).__name__
    kinds += ["ufunc"] if cls == "ufunc" else [cls, ""]
    found = (OF_FUNCTIONS.get((keyword, kind)) for kind in kinds)
    return next((text for text in found if text), REASONS.get(keyword))


def table(rows: Iterable[Rule]) -> list[str]:
    """Return the lines of the table: keyword, functions, reason."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        for keyword in untaken(row):
            groups[keyword, reason(row, keyword) or "?"].append(qualified_name(row.about))
    return [
        f"| `{keyword}` | {_functions(names)} | {why} |"
        for (keyword, why), names in sorted(groups.items())
    ]


def _functions(names: list[str]) -> str:
    found = sorted(set(names))
    more = f" and {len(found) - 4} others" if len(found) > 5 else ""
    return ", ".join(f"`{name}`" for name in (found[:4] if more else found)) + more
