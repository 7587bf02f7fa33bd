# ruff: noqa: E501 - a program is one string
"""Every class that the parser can yield in a function is supported, or refused with its place."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import srcad
from srcad.errors import MissingRuleError, MutationError, UnsupportedSyntaxError
from tests.numeric import assert_close, difference

HEADER = """
import asyncio
import contextlib
import math
import numpy as np

LOG = []
COUNT = 0.0


class Box:
    def __init__(self, value):
        self.value = value

    __match_args__ = ("value",)


"""

# The body of ``def f(x)`` for a float x.  A body without ``return`` is followed by ``return x * x``.
BODIES: dict[str, str] = {
    "FunctionDef": "def g(t):\n    return t * x\nreturn g(x)",
    "AsyncFunctionDef": "async def g(t):\n    return t * x\nreturn asyncio.run(g(x))",
    "ClassDef": "class C:\n    y = x * x\nreturn C.y",
    "Return": "return x",
    "Delete": "y = x * x\ndel y",
    "Assign": "y = x * 3\nreturn y",
    "TypeAlias": "type Number = float",
    "AugAssign": "y = x\ny *= x\nreturn y",
    "AnnAssign": "y: float = x * x\nreturn y",
    "For": "y = x\nfor i in range(3):\n    y = y * x\nreturn y",
    "AsyncFor": "async def g(t):\n    async for i in t:\n        pass\nreturn x",
    "While": "y = x\nwhile y > 0.1:\n    y = y * 0.5\nreturn y",
    "If": "if x > 0:\n    return x * 2\nreturn x",
    "With": "with np.errstate(all='ignore'):\n    y = np.sin(x)\nreturn y",
    "AsyncWith": "async def g(t):\n    async with t:\n        pass\nreturn x",
    "Match": "match x > 0:\n    case True:\n        return x * x\n    case _:\n        return x",
    "Raise": "if x > 100:\n    raise ValueError('large')\nreturn x * x",
    "Try": "try:\n    y = math.sqrt(x)\nexcept ValueError:\n    y = 0.0\nreturn y",
    "TryStar": "try:\n    y = math.sqrt(x)\nexcept* ValueError:\n    y = 0.0\nreturn y",
    "Assert": "assert x > 0, 'positive'\nreturn x * x",
    "Import": "import math as m\nreturn m.sin(x)",
    "ImportFrom": "from math import sin as s\nreturn s(x)",
    "Global": "global COUNT\nCOUNT = x\nreturn COUNT * x",
    "Nonlocal": "y = x\ndef g():\n    nonlocal y\n    y = y * x\ng()\nreturn y",
    "Expr": "math.sin(x)\nreturn x * x",
    "Pass": "pass",
    "Break": "y = x\nfor i in range(3):\n    y = y * x\n    if i == 1:\n        break\nreturn y",
    "Continue": "y = x\nfor i in range(3):\n    if i == 1:\n        continue\n    y = y * x\nreturn y",
    "BoolOp": "return x * x if x > 0 and x < 5 or x > 9 else x",
    "NamedExpr": "return (y := x * x) * y",
    "BinOp": "return x + x * x",
    "UnaryOp": "return -x",
    "Lambda": "return (lambda t: t * x)(x)",
    "IfExp": "return x * x if x > 0 else x",
    "Dict": "return {'a': x, **{'b': x * x}}['b']",
    "Set": "return x * len({1, 2})",
    "ListComp": "return sum([x * k for k in range(3) if k])",
    "SetComp": "return x * len({k for k in range(3)})",
    "DictComp": "return {k: x * k for k in range(3)}[2]",
    "GeneratorExp": "return sum(x * k for k in range(3))",
    "Await": "async def g(t):\n    return await t\nreturn x",
    "Yield": "yield x",
    "YieldFrom": "yield from [x]",
    "Compare": "return x * (0 < x < 3)",
    "Call": "return math.sin(*[x])",
    "FormattedValue": "s = f'{x:.2f}{x!r}'\nreturn x * len(s) / len(s)",
    "JoinedStr": "s = f'value {x}'\nreturn x * x",
    "TemplateStr": "s = t'value {x}'\nreturn x * x",
    "Interpolation": "s = t'{x:.2f}'\nreturn x * x",
    "Constant": "return 2.5 * x",
    "Attribute": "return Box(2.0).value * x",
    "Subscript": "return (x, x * x)[1]",
    "Starred": "a, *b = x, x * x, x\nreturn b[0]",
    "Name": "return x",
    "List": "return [x, x * x][1]",
    "Tuple": "return (x, x * x)[1]",
    "Slice": "return (x, x * x, x)[1:][0]",
    "comprehension": "return sum(x * j * k for j in range(2) for k in range(3))",
    "ExceptHandler": "try:\n    y = x / 0\nexcept ZeroDivisionError as error:\n    y = x * 2\nreturn y",
    "arguments": "def g(a, /, b, *c, d=2.0, **e):\n    return a * b * d\nreturn g(x, x, 1.0, z=2.0)",
    "arg": "def g(a):\n    return a\nreturn g(x)",
    "keyword": "def g(a):\n    return a * a\nreturn g(a=x)",
    "alias": "import math as m, cmath\nreturn m.exp(x)",
    "withitem": "with contextlib.nullcontext(x) as y:\n    z = y * y\nreturn z",
    "match_case": "match (x, 1):\n    case (a, 1) if a > 0:\n        return a * a\nreturn x",
    "MatchValue": "match 3:\n    case 3:\n        return x * x\nreturn x",
    "MatchSingleton": "match None:\n    case None:\n        return x * x\nreturn x",
    "MatchSequence": "match [x, x]:\n    case [a, b]:\n        return a * b\nreturn x",
    "MatchMapping": "match {'a': x}:\n    case {'a': v}:\n        return v * v\nreturn x",
    "MatchClass": "match Box(2.0):\n    case Box(v):\n        return x * v\nreturn x",
    "MatchStar": "match [x, x * x]:\n    case [a, *b]:\n        return a * b[0]\nreturn x",
    "MatchAs": "match x:\n    case y:\n        return y * y",
    "MatchOr": "match 2:\n    case 1 | 2:\n        return x * x\nreturn x",
    "TypeVar": "def g[T](t: T) -> T:\n    return t * t\nreturn g(x)",
    "ParamSpec": "def g[**P](t):\n    return t * t\nreturn g(x)",
    "TypeVarTuple": "def g[*T](t):\n    return t * t\nreturn g(x)",
    "And": "return x * (x > 0 and 2.0)",
    "Or": "return x * (0.0 or 2.0)",
    "Add": "return x + x",
    "Sub": "return x - x * x",
    "Mult": "return x * x",
    "MatMult": "return np.array([x, x]) @ np.array([1.0, x])",
    "Div": "return 1 / x",
    "Mod": "return x % 0.3",
    "Pow": "return x**3",
    "LShift": "return x * (1 << 2)",
    "RShift": "return x * (8 >> 2)",
    "BitOr": "return x * (1 | 2)",
    "BitXor": "return x * (3 ^ 1)",
    "BitAnd": "return x * (3 & 1)",
    "FloorDiv": "return x * (x // 0.3)",
    "Invert": "return x * ~2",
    "Not": "return x * 2 if not x < 0 else x",
    "UAdd": "return +x * x",
    "USub": "return -x * x",
    "Eq": "return x * x if x == x else x",
    "NotEq": "return x * x if x != 3 else x",
    "Lt": "return x * x if x < 3 else x",
    "LtE": "return x * x if x <= 3 else x",
    "Gt": "return x * x if x > 0 else x",
    "GtE": "return x * x if x >= 0 else x",
    "Is": "return x * x if None is None else x",
    "IsNot": "return x * x if x is not None else x",
    "In": "return x * x if 1 in (1, 2) else x",
    "NotIn": "return x * x if 3 not in (1, 2) else x",
    "Load": "return x",
    "Store": "y = x\nreturn y",
    "Del": "y = [x, x * x]\ndel y[0]\nreturn y[0]",
}

# What may be written into: this must be refused, or right (and leave every argument as it was).
WRITES: dict[str, str] = {
    "array item": "y = np.zeros(3)\ny[1] = x\nreturn np.sum(y * y)",
    "array slice": "y = np.ones(3) * x\ny[1:] = 2.0\nreturn np.sum(y * y)",
    "array mask": "y = np.ones(3) * x\ny[y > 0] = x * x\nreturn np.sum(y)",
    "augmented item": "y = np.ones(3) * x\ny[0] += x\nreturn np.sum(y * y)",
    "alias": "y = np.ones(3) * x\nz = y\nz *= x\nreturn np.sum(y)",
    "alias of a view": "y = np.ones(3) * x\nz = y[1:]\nz += x\nreturn np.sum(y * y)",
    "augmented after a view": "y = np.ones(3) * x\nz = y[1:]\ny *= x\nreturn np.sum(z)",
    "array in a list": "y = np.ones(3) * x\nitems = [y]\ny *= x\nreturn np.sum(items[0])",
    "array in a tuple": "y = np.ones(3) * x\npair = (y, x)\ny += 1.0\nreturn np.sum(pair[0] * y)",
    "captured array": "y = np.ones(3) * x\ng = lambda: np.sum(y)\ny *= x\nreturn g()",
    "out": "y = np.zeros(3)\nnp.add(np.ones(3) * x, 1.0, out=y)\nreturn np.sum(y)",
    "sort": "y = np.array([x * x, x, 0.1])\ny.sort()\nreturn y[0] * 2 + y[2]",
    "fill": "y = np.ones(3)\ny.fill(x)\nreturn np.sum(y)",
    "copyto": "y = np.ones(3)\nnp.copyto(y, x)\nreturn np.sum(y)",
    "flat": "y = np.ones(3)\ny.flat[1] = x\nreturn np.sum(y)",
    "put": "y = np.ones(3)\nnp.put(y, [0], x)\nreturn np.sum(y)",
    "add at": "y = np.ones(3)\nnp.add.at(y, [0, 0], x)\nreturn np.sum(y)",
    "list item": "y = [x, x]\ny[0] = x * x\nreturn y[0]",
    "list insert": "y = [x]\ny.insert(0, x * x)\nreturn y[0]",
    "list pop": "y = [x, x * x]\nz = y.pop()\nreturn z + y[0]",
    "list extend": "y = [x]\ny.extend([x * x])\nreturn y[1]",
    "list plus": "y = [x]\nz = y\ny += [x * x]\nreturn z[-1]",
    "list sort": "y = [x * x * 3, x]\ny.sort()\nreturn y[0]",
    "list reverse": "y = [x * x, x]\ny.reverse()\nreturn y[1]",
    "aliased append": "y = [x]\nz = y\nz.append(x * x)\nreturn y[-1]",
    "append to an argument": "def g(items):\n    items.append(x * x)\ny = [x]\ng(y)\nreturn y[-1]",
    "append while looping": "y = [x]\nfor v in y:\n    if len(y) < 3:\n        y.append(v * x)\nreturn y[-1]",
    "list of lists": "y = [[x]]\ny[0].append(x * x)\nreturn y[0][-1]",
    "dict item": "d = {'a': x}\nd['b'] = x * x\nreturn d['b']",
    "dict update": "d = {'a': x}\nd.update(a=x * x)\nreturn d['a']",
    "dict pop": "d = {'a': x, 'b': x * x}\ny = d.pop('b')\nreturn y * len(d)",
    "dict setdefault": "d = {}\ny = d.setdefault('a', x * x)\nreturn y",
    "attribute": "box = Box(x)\nbox.value = x * x\nreturn box.value",
    "global list": "LOG.append(x)\nreturn x * x",
    "global item": "LOG[:] = [x]\nreturn LOG[0] * x",
    "closure": "total = [x]\ndef g(v):\n    total[0] = v * x\ng(x)\nreturn total[0]",
    "shape": "y = np.ones(4) * x\ny.shape = (2, 2)\nreturn np.sum(y[1])",
    "setattr": "box = Box(x)\nsetattr(box, 'value', x * x)\nreturn box.value",
    "exec": "exec('y = 1')\nreturn x * x",
    "locals": "y = locals()['x']\nreturn y * x",
}


def concrete_classes() -> list[str]:
    """The node classes of this Python that a function body can hold."""
    apart = {"Module", "Interactive", "Expression", "FunctionType", "Suite", "TypeIgnore"}
    old = {
        "Num",
        "Str",
        "Bytes",
        "NameConstant",
        "Ellipsis",
        "Index",
        "ExtSlice",
        "AugLoad",
        "AugStore",
        "Param",
    }
    found = []
    for name, cls in vars(ast).items():
        if isinstance(cls, type) and issubclass(cls, ast.AST) and cls.__module__ in ("ast", "_ast"):
            is_leaf = not any(
                c.__module__ in ("ast", "_ast") for c in _present(cls.__subclasses__())
            )
            if is_leaf and name not in apart | old and name[0] != "_" and name != "slice":
                found.append(name)
    return found


def _present(classes: list[type]) -> list[type]:
    deprecated = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"}
    return [c for c in classes if c.__name__ not in deprecated]


def module_of(body: str, folder: Path, name: str) -> ModuleType:
    """A module with ``f``, from a real file."""
    lines = [f"    {row}" for row in body.splitlines()]
    if not re.search(r"^(return|match|yield)", body.splitlines()[-1]):
        lines.append("    return x * x")
    path = folder / f"{name}.py"
    path.write_text(HEADER + "def f(x):\n" + "\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def supported_or_refused(module: ModuleType, *errors: type[Exception]) -> str:
    """Differentiate; a refusal must name file, line and column, show a caret and a remedy."""
    f, x = module.f, 0.7
    first = f.__code__.co_firstlineno
    try:
        value, slope = srcad.value_and_grad(f)(x)
    except errors as error:
        text = str(error)
        place = re.search(rf"{module.__name__}\.py:(\d+):(\d+)", text)
        assert place, text
        assert int(place[1]) >= first
        assert "^" in text
        assert "help:" in text
        return "refused"
    assert value == f(x)
    assert_close(slope, difference(f, (x,)), rtol=1e-6, atol=1e-8)
    return "supported"


def test_every_node_class_of_this_python_has_a_program() -> None:
    assert [name for name in concrete_classes() if name not in BODIES] == []


@pytest.mark.parametrize("name", [n for n in BODIES if hasattr(ast, n)])
def test_a_node_class_is_supported_or_refused(name: str, tmp_path: Path) -> None:
    module = module_of(BODIES[name], tmp_path, f"syntax_{name.lower()}")

    nodes = {type(n).__name__ for n in ast.walk(ast.parse(Path(str(module.__file__)).read_text()))}
    assert name in nodes
    supported_or_refused(module, UnsupportedSyntaxError, MutationError)


SUPPORTED = """
FunctionDef Return Assign AugAssign AnnAssign For While If With Raise Assert Expr Pass Break
Continue BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set ListComp SetComp DictComp
GeneratorExp Compare Call FormattedValue JoinedStr Constant Attribute Subscript Starred Name
List Tuple Slice comprehension arguments arg keyword And Or Add Sub Mult MatMult Div Mod Pow
LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot
In NotIn Load Store Match match_case MatchValue MatchSingleton MatchSequence MatchMapping
MatchClass MatchStar MatchAs MatchOr Try ExceptHandler withitem Import ImportFrom alias
""".split()


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_language_of_this_version_is_supported(name: str, tmp_path: Path) -> None:
    module = module_of(BODIES[name], tmp_path, f"supported_{name.lower()}")

    assert supported_or_refused(module) == "supported"


@pytest.mark.filterwarnings("ignore:Setting the shape")
@pytest.mark.parametrize("name", WRITES)
def test_write_correct_or_rejected(name: str, tmp_path: Path) -> None:
    module = module_of(WRITES[name], tmp_path, "write_" + re.sub(r"\W", "_", name))

    supported_or_refused(module, UnsupportedSyntaxError, MutationError, MissingRuleError)


@pytest.mark.parametrize(
    "body",
    [
        "x *= 2\nreturn np.sum(x)",
        "x[0] = 1.0\nreturn np.sum(x)",
        "y = x\ny += 1\nreturn np.sum(x * y)",
        "y = x[1:]\ny += 1\nreturn np.sum(x)",
        "x.sort()\nreturn x[0]",
        "np.add(x, 1, out=x)\nreturn np.sum(x)",
    ],
)
def test_write_into_argument_rejected_or_argument_unchanged(body: str, tmp_path: Path) -> None:
    module = module_of(body, tmp_path, f"argument_{len(body)}")
    x = np.array([0.3, 0.9, 0.5])
    refusal = ""
    try:
        g = srcad.grad(module.f)(x)
    except (MutationError, UnsupportedSyntaxError, MissingRuleError) as error:
        refusal = str(error)
    if refusal:
        assert re.search(r"\.py:\d+:\d+", refusal)
    else:
        np.testing.assert_allclose(g, difference(module.f, (x,)), rtol=1e-6)
    assert x.tolist() == [0.3, 0.9, 0.5]


def test_rejection_location_has_exact_line_and_column(tmp_path: Path) -> None:
    module = module_of(
        "y = x * x\nasync def g(t):\n    return t\nreturn y", tmp_path, "exact_place"
    )

    with pytest.raises(UnsupportedSyntaxError) as caught:
        srcad.grad(module.f)(0.7)

    line = module.f.__code__.co_firstlineno + 2
    assert f"exact_place.py:{line}:5" in str(caught.value)


def test_unsupported_syntax_in_inactive_call_accepted(tmp_path: Path) -> None:
    body = "n = count(3)\nreturn x * n"
    module: Any = module_of(body, tmp_path, "inactive_call")

    def count(k):
        total = 0
        try:
            with open(__file__) as handle:
                total = k + (handle.read(1) != "")
        except OSError:
            raise
        return total

    module.count = count

    assert srcad.grad(module.f)(0.7) == 4.0
