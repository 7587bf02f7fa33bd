"""The table is closed: a rule calls only functions that have rules, so derivatives of any order."""

import ast
import builtins
import importlib
import inspect
import sys
import textwrap
import types

import pytest

from srcad import rules
from srcad.ir import primitives
from srcad.rules.formulas import spelling

# What the compiler takes apart before the call: no derivative is asked of these.
STRUCTURE = {
    "range",
    "zip",
    "reversed",
    "tuple",
    "list",
    "len",
    "isinstance",
    "slice",
    "any",
    "not",
    "abs",
}
METHODS = {"append", "index"}


def functions():
    """Every function of the table's files that can end up in generated code."""
    rows = [row for row in rules.rows() if row.shipped and row.function is not None]
    files = {row.file for row in rules.rows() if row.shipped}
    own = [m for name, m in sys.modules.items() if name.startswith("srcad.rules.")]
    topics = [module for module in own if module.__file__ in files]
    known = {f for topic in topics for f in vars(topic).values() if is_own(f, topic.__name__)}
    seen, pending = set(), [row.function for row in rows if row.function.__module__ != "__main__"]
    while pending:
        function = pending.pop()
        if function in seen or rules.is_static(function):
            continue
        seen.add(function)
        found = [function.__globals__.get(name) for name in names_in(function.__code__)]
        found += [cell.cell_contents for cell in function.__closure__ or ()]
        # A function with a row of its own is called, not inlined.
        pending += [one for one in found if is_function(one) and rules.lookup(one) is None]
    yield from sorted(known & seen, key=lambda f: (f.__module__, f.__name__))


def is_function(value):
    return isinstance(value, types.FunctionType) and value.__module__.startswith("srcad.rules.")


def is_own(value, module):
    return isinstance(value, types.FunctionType) and value.__module__ == module


def names_in(code):
    """The names of a code object and of those inside it."""
    inner = [names_in(one) for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*inner)


def resolved(expression, namespace):
    """The object that a dotted name stands for, or None."""
    match expression:
        case ast.Name(name):
            return namespace.get(name, getattr(builtins, name, None))
        case ast.Attribute(value, name):
            holder = resolved(value, namespace)
            return None if holder is None else getattr(holder, name, None)
    return None


def imported(body):
    """What statements ``from library import name`` of a function's own text bring."""
    lines = [n for part in body for n in ast.walk(part) if isinstance(n, ast.ImportFrom)]
    return {
        alias.name: getattr(importlib.import_module(line.module), alias.name)
        for line in lines
        for alias in line.names
    }


def given_for(parameter, function):
    """What the module's other functions give for a parameter of a function."""
    position = [*inspect.signature(function).parameters].index(parameter)
    tree = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return [
        call.args[position]
        for call in calls
        if resolved(call.func, function.__globals__) is function
    ]


def calls_known_parameter(call, function):
    """Whether a called parameter is given only functions with rules."""
    name = getattr(call.func, "id", None)
    if name not in inspect.signature(function).parameters:
        return False
    given = [resolved(one, function.__globals__) for one in given_for(name, function)]
    return given != [] and all(is_function(one) or rules.lookup(one) for one in given)


def is_known(call, namespace):
    """Whether a called function has a rule, or is part of the rule's own text."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        return True
    target = resolved(call.func, namespace)
    if target is None:
        return False
    if getattr(target, "__name__", "") in STRUCTURE or rules.is_static(target):
        return True
    if rules.lookup(target) is not None or target is rules.NoPartial:
        return True
    own = isinstance(target, types.FunctionType) and target.__module__.startswith("srcad.rules.")
    return own or getattr(primitives, getattr(target, "__name__", ""), None) is target


@pytest.mark.parametrize(
    "function", [*functions()], ids=lambda f: f"{f.__module__[12:]}.{f.__name__}"
)
def test_rule_calls_only_functions_with_rules(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    body = tree.body[0].body
    calls = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Call)]

    namespace = function.__globals__ | imported(body)

    unknown = [c for c in calls if not is_known(c, namespace)]
    assert [ast.unparse(c) for c in unknown if not calls_known_parameter(c, function)] == []


@pytest.mark.parametrize(
    "function",
    [*functions()],
    ids=lambda f: f"{f.__module__[12:]}.{f.__name__}",
)
def test_rule_writes_only_into_its_own_arrays(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))

    stores = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]

    own = filled_arrays(tree)
    assert [ast.unparse(node) for node in stores if ast.unparse(node.value) not in own] == []


def filled_arrays(tree):
    """The names that are bound once, to ``np.zeros_like(...)``."""
    bound = [
        (target.id, ast.unparse(node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for part in node.targets
        for target in ast.walk(part)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
    ]
    names = [name for name, _ in bound]
    return {n for n, value in bound if value.startswith("np.zeros_like(") and names.count(n) == 1}


def test_shipped_rules_match_target_signatures():
    """By position where NumPy takes them by position, by name where it takes them by name."""
    for row in rules.rows():
        if not row.shipped or row.kind == "nondifferentiable":
            continue
        try:
            parameters = inspect.signature(row.target).parameters.values()
        except (TypeError, ValueError):
            continue
        theirs = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            continue
        for p, ours in zip(theirs, row.parameters, strict=False):
            assert p.kind == p.POSITIONAL_ONLY or p.name == ours, (
                spelling(row.target),
                p.name,
                ours,
            )
        assert len(row.parameters) <= len(theirs), spelling(row.target)
        assert set(row.keywords) <= {p.name for p in parameters}, spelling(row.target)
