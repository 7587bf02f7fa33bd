"""From a compiled derivative to the text of a module that needs NumPy alone."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcad.arguments.request import name_of
from srcad.errors import ExportError, SrcadError, file_title
from srcad.exporting import self_check
from srcad.exporting.definitions import Definitions, is_installed
from srcad.exporting.derivative import Derivative, Draft, drafted
from srcad.exporting.fronts import public_function, refused, sentence
from srcad.exporting.layout import import_lines, narrowed
from srcad.exporting.literals import MOST_ENTRIES, assignment, dtype_text, literal, size
from srcad.exporting.written_out import WIDTH, identifiers, reads_early, renamed
from srcad.frontend.source.definition import definition
from srcad.ir import primitives
from srcad.ir.core import Block, Call, Routine, walk
from srcad.ir.traits import is_stop
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent
from srcad.types.sources import Unreadable
from srcad.types.structures import TEXT, Fixed, ListOf, TupleOf, Type, Undefined

# The point at which an exported module checks itself, as text.

_PYTHON = {"f": "0.7", "c": "(0.7 + 0.2j)", "b": "True"}


def example_text(definitions: Definitions, value: Any, type_: Type) -> str | None:
    """Return an argument as it was given, or one of its type where there is none or it is large.

    ``rng`` is a generator of random numbers and ``np`` NumPy in the text.
    """
    text = "'text'" if type_ == TEXT else None
    if value is not None and size(value) <= MOST_ENTRIES:
        text = literal(value)
    return _of_type(definitions, type_) if text is None else text


def _of_type(d: Definitions, type_: Type) -> str | None:
    if isinstance(type_, Numeric):
        return _number(type_)
    if isinstance(type_, Fixed):
        text = literal(type_.value)
        return text if text is not None else d.importable(type_.value, str(type_)[1:])
    if isinstance(type_, ListOf):
        if isinstance(type_.item, Undefined):
            return "[]"
        item = _of_type(d, type_.item)
        return None if item is None else f"[{', '.join([item] * _count(type_.item))}]"
    if isinstance(type_, TupleOf) and type_.cls in (tuple, dict):
        items = [_of_type(d, item) for item in type_.items]
        if None in items:
            return None
        if type_.keys is None:
            return f"({', '.join(map(str, items))}{',' * (len(items) == 1)})"
        pairs = zip(type_.keys, items, strict=True)
        return "{" + ", ".join(f"{literal(key)}: {item}" for key, item in pairs) + "}"
    return None


def _number(type_: Numeric) -> str | None:
    kind = type_.kind
    if type_.form == "python":
        known = None if type_.value is None else _example(type_.value)
        return str(2 if known is None else known) if kind == "i" else _PYTHON.get(kind)
    if type_.form == "numpy" and type_.dtype is not None:
        return f"np.{type_.dtype.type.__name__}({'2' if kind in 'iu' else '0.7'})"
    if type_.form != "array" or type_.dtype is None or type_.shape is None:
        return None
    lengths = tuple(_example(extent) for extent in type_.shape)
    if None in lengths or kind not in "fiub":
        return None
    if kind == "f":
        text = f"rng.random({lengths!r})"
        plain = type_.dtype == np.float64
        return text if plain else f"{text}.astype({dtype_text(type_.dtype)})"
    return f"rng.integers(0, 2, {lengths!r}).astype({dtype_text(type_.dtype)})"


def _example(extent: Extent) -> int | None:
    """Return the value of an extent in the call that caused the compilation."""
    total = extent.constant
    for symbol, k in extent.terms:
        known = symbol.example[0] if isinstance(symbol.example, tuple) else symbol.example
        if known is None:
            return None
        total += k * known
    return total


def _count(type_: Type) -> int:
    """How many items a list had, where the lengths of their axes tell."""
    if isinstance(type_, Numeric) and type_.shape:
        for extent in type_.shape:
            for symbol, _ in extent.terms:
                if isinstance(symbol.example, tuple):
                    return len(symbol.example)
    return 3


# Exported modules as files: write them, and compare them with a new export.

_MARKS = re.compile(r"^# source ([0-9a-f]{16}), code ([0-9a-f]{16})$", re.MULTILINE)


def write(path: Any, text: str) -> None:
    """Write a module to a file, which is new or was written by srcad.

    Raises
    ------
    ExportError
        The file holds something else.
    """
    name = os.fspath(path)
    if os.path.exists(name) and _MARKS.search(_read(name)) is None:
        raise ExportError(
            f"{os.path.basename(name)!r} is there already, and was not written by srcad",
            why="what it holds would be lost.",
            help="choose another name, or remove the file first",
        )
    with open(name, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def staleness(path: Any, text: str) -> str | None:
    """Return why a file differs from a new export; None if it does not.

    Parameters
    ----------
    path : str or path
        The file.
    text : str
        What would be written now.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        return "it is not there"
    old, new = _read(name), text
    marks, current = _MARKS.search(old), _MARKS.search(new)
    assert current is not None
    if marks is None:
        return "it was not written by srcad"
    if marks[1] != current[1]:
        return "the source of the function has changed"
    if marks[2] != current[2]:
        return "srcad writes another text now"
    if old[marks.end() :] != new[current.end() :]:
        return "it was edited"
    return None


def _read(name: str) -> str:
    with open(name, encoding="utf-8") as file:
        return file.read()


MARK = "# srcad"
# What generated code does on purpose: it goes backwards through lists of the same name, asks for
# nan by x != x, unpacks what the user unpacked, and has the user's branches and names.
_NOQA = (
    "B009, B020, C405, C415, E741, F841, FURB136, PERF402, PLR0124, PLR1704, PLR1716, RUF034,"
    " RUF059, RUF100, SIM102, SIM113, SIM210, TRY201, UP031"
)
_COMPARISONS = {
    "pullback": self_check.compare_pullback,
    "jvp": self_check.compare_tangent,
    "hvp": self_check.compare_product,
    "jacobian": self_check.compare_jacobian,
    "jacfwd": self_check.compare_jacobian,
    "jacrev": self_check.compare_jacobian,
    "hessian": self_check.compare_hessian,
}
_BY_GRADIENTS = ("grad", "value_and_grad", "elementwise_grad")
_IN_DIRECTIONS = ("jvp", "hvp")
MODES_OF_FILES = (*_BY_GRADIENTS, *_COMPARISONS)  # those that can be written to a file


def module_text(derivative: Derivative, recipe: Sequence[str]) -> str:
    """Return the text of the module.

    Parameters
    ----------
    derivative : Derivative
        What is written.
    recipe : sequence of str
        The lines that say how the file is written again.

    Raises
    ------
    ExportError
        Something that the derivative uses cannot be written to a file.
    """
    if derivative.request.mode not in MODES_OF_FILES:
        raise refused(derivative)
    draft = drafted(derivative)
    d = draft.definitions
    public, generated, check = public_function(draft), _generated(draft), _main(draft)
    modules = {line.split()[1].partition(".")[0] for line in d.imports}
    own = {module for module in modules if not is_installed(module)}
    top = "\n".join(import_lines(d.imports, own)) + "\n"
    if d.constants:
        top += "\n" + "".join(d.constants)
    parts = [public, f"# fmt: off\n{generated}# fmt: on\n", *d.functions, *draft.after, check]
    code = "\n\n".join([top, *(narrowed(text) for text in parts if text)])
    rules = _NOQA + ", F821" * reads_early(generated)
    marks = "".join(f"# ruff: noqa: {line}\n" for line in textwrap.wrap(rules, WIDTH - 14))
    marks = marks.replace(",\n", "\n") + f"{MARK} {_version()}, numpy {np.__version__}\n"
    marks += f"# source {_digest(source_of(derivative))}, code {_digest(code)}\n"
    return f"{_header(draft, recipe)}\n{marks}\n{code}"


def _version() -> str:
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _generated(draft: Draft) -> str:
    """Return the texts of all pieces, under names that do not clash."""
    d, texts = draft.definitions, []
    for piece, inner in zip(draft.pieces, draft.inner, strict=True):
        names = {piece.own[0]: inner} | {own: d.fresh(own) for own in piece.own[1:]}
        used = identifiers(piece.text)
        names |= {n: d.name_of(value, n) for n, value in piece.space.items() if n in used}
        texts.append(renamed(piece.text, names))
    return "\n\n".join(texts)


# ------------------------------------------------------------------------------- the header
def _header(draft: Draft, recipe: Sequence[str]) -> str:
    derivative, d = draft.derivative, draft.definitions
    others = sorted({line.split()[1].partition(".")[0] for line in d.imports} - {"numpy"})
    needs = ["NumPy", *(name for name in others if name not in sys.stdlib_module_names)]
    where = derivative.primal.where
    lines = [*_filled(f'"""{sentence(derivative)}'), ""]
    if where is not None:
        file = _one_line(file_title(where.file))
        lines += _filled(f"Written by srcad from {draft.derivative.name} of {file}.")
    lines += _filled(f"It needs {' and '.join(needs)} only, and is for arguments like these:")
    lines.append("")
    for parameter, type_ in zip(derivative.parameters, derivative.types, strict=True):
        lines += _filled(f"    {parameter.name}: {_one_line(str(type_))}", " " * 8)
    lines.append("")
    if set(draft.captured) - {"None", *draft.keywords}:
        lines += ["What the function reads besides its arguments is as it was then.", ""]
    lines += ["Run as a program it compares itself with finite differences.  To write it again:"]
    lines += ["", *(row for line in recipe for row in _command(_one_line(line))), '"""', ""]
    return "\n".join(lines)


def _filled(text: str, indent: str = "") -> list[str]:
    """Return a line of the header as lines that are not too long; later ones are indented."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _command(text: str) -> list[str]:
    """Return a command as lines that a shell joins; so does Python, in the docstring's value."""
    lines = textwrap.wrap(
        text,
        WIDTH - 2,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _one_line(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in text).replace("\\", "\\\\")
    return text.replace('"""', "'''")


def source_of(derivative: Derivative) -> str:
    """Return the user's text of the function, and of those that were read with it."""
    texts = [_text(derivative.function)]
    for guard in derivative.guards:
        if guard.kind == "code":
            try:
                texts.append(_text(derivative.outside(guard.path)))
            except Unreadable:
                texts.append("")
    return "\n".join(dict.fromkeys(texts))


def _text(function: Any) -> str:
    while hasattr(function, "__func__") or hasattr(function, "func"):
        function = getattr(function, "__func__", None) or function.func
    try:
        return definition(function).text
    except SrcadError:
        return name_of(function)


# ------------------------------------------------------------------------------- the self-check
def _list_of(items: list[str]) -> list[str]:
    """Return the statement that returns these items in a list."""
    line = f"return [{', '.join(items)}]"
    if len(line) + 4 <= WIDTH:
        return [line]
    texts = [assignment("", f"{item},", WIDTH - 8).replace(" = ", "", 1) for item in items]
    lines = [line for text in texts for line in text.splitlines() if not line.startswith("#")]
    return ["return [", *(f"    {line}" for line in lines), "]"]


def _main(draft: Draft) -> str:
    """Return the code that runs if the module is run as a program."""
    d, derivative = draft.definitions, draft.derivative
    np_ = d.name_of(np, "np")
    given = derivative.arguments or [None] * len(derivative.types)
    texts = [example_text(d, v, t) for v, t in zip(given, derivative.types, strict=True)]
    if None in texts or draft.keywords or not _is_comparable(derivative):
        return (
            "\n".join(
                [
                    'if __name__ == "__main__":',
                    f'    print("{draft.name}: nothing to compare, there is no example")',
                    "    raise SystemExit(2)",
                ]
            )
            + "\n"
        )
    items = [renamed(text or "", {"np": np_}) for text in texts]
    rng = [f"rng = {np_}.random.default_rng(0)"] if any("rng." in t for t in items) else []
    names = [p.name for p in derivative.parameters]
    inputs, called = ", ".join([*names, *draft.captured]), _call(derivative)
    if derivative.request.mode in _IN_DIRECTIONS:
        called = _directions(derivative)
    compare = _COMPARISONS.get(derivative.request.mode, self_check.compare_gradients)
    result = f"{draft.name}({called})"
    places = tuple((p.parameter, p.keys) for p in derivative.places)
    compared = [
        f"{d.name_of(compare, compare.__name__)}(",
        f'    "{draft.name}", value, derivative, example(), {places!r}',
        ")",
    ]
    if _has_marks(derivative.primal.block):
        unless = d.name_of(self_check.unless_marked, "unless_marked")
        inner = [f"    {line}" for line in compared]
        compared = [f"{unless}(", f'    "{draft.name}",', *inner[:-1], f"{inner[-1]},", ")"]
    lines = [
        "# fmt: off",
        "def example():",
        '    """Return arguments to try the derivative with."""',
        *(f"    {line}" for line in rng),
        *(f"    {line}" for line in _list_of(items)),
        "",
        "",
        "def main():",
        '    """Compare the derivative with differences; return the exit status."""',
        "",
        f"    def value({', '.join(names)}):",
        f"        return {_value(derivative, f'{draft.primal}({inputs})', d.name_of)}",
        "",
        f"    def derivative({_derivative_parameters(derivative)}):",
        f"        return {_gradients(derivative, result)}",
        "",
        f"    return {compared[0]}",
        *(f"    {line}" for line in compared[1:]),
        "# fmt: on",
        "",
        "",
        'if __name__ == "__main__":',
        "    raise SystemExit(main())",
    ]
    return "\n".join(lines) + "\n"


def _has_marks(block: Block) -> bool:
    """Return True if a function contains `stop_gradient`, `hook` or `cotangent`."""
    seen: set[Routine] = set()
    pending = [block]
    while pending:
        for op in walk(pending.pop()):
            if not isinstance(op, Call):
                continue
            if is_stop(op.target) or op.target is primitives.hooked:
                return True
            if isinstance(op.target, Routine) and op.target not in seen:
                seen.add(op.target)
                pending += [] if op.target.function is None else [op.target.function.block]
    return False


def _is_comparable(derivative: Derivative) -> bool:
    """Return True if the self-check knows what the derivative returns."""
    places = derivative.places
    if derivative.request.mode == "hessian":  # a row is by whole parameters, each once
        whole = {p.parameter for p in places if not p.keys and p.item is None}
        return len(whole) == len(places)
    return derivative.request.mode in MODES_OF_FILES


def _call(derivative: Derivative) -> str:
    """Return the arguments of a call, each parameter being a variable."""
    texts = []
    for parameter in derivative.parameters:
        match parameter.kind:
            case parameter.VAR_POSITIONAL:
                texts.append(f"*{parameter.name}")
            case parameter.VAR_KEYWORD:
                texts.append(f"**{parameter.name}")
            case parameter.KEYWORD_ONLY:
                texts.append(f"{parameter.name}={parameter.name}")
            case _:
                texts.append(parameter.name)
    return ", ".join(texts)


def _directions(derivative: Derivative) -> str:
    """Return the arguments and directions of a call, in variables ``args`` and ``dots``."""
    if derivative.request.mode == "hvp":
        v = "dots[0]" if derivative.request.single else "tuple(dots)"
        return f"*args, {v}" if len(derivative.parameters) == 1 else f"*args, v={v}"
    places = [p.parameter for p in derivative.places]
    count = len(derivative.parameters)
    dots = [f"dots[{places.index(k)}]" if k in places else "None" for k in range(count)]
    return f"tuple(args), ({', '.join(dots)},)"


def _derivative_parameters(derivative: Derivative) -> str:
    if derivative.request.mode in _IN_DIRECTIONS:
        return "args, dots"
    return ", ".join(p.name for p in derivative.parameters)


def _value(derivative: Derivative, call: str, name_of: Any) -> str:
    """Return the number, or whatever it is, that is differentiated."""
    if derivative.request.has_aux:
        call = f"{call}[0]"
    if derivative.request.mode == "elementwise_grad":
        return f"{name_of(self_check.total, 'total')}({call})"
    return call


def _gradients(derivative: Derivative, call: str) -> str:
    """Return the gradients in a tuple, of what the derivative returns."""
    request = derivative.request
    if request.mode in ("pullback", "jvp"):
        return call
    if request.mode == "value_and_grad":
        call = f"{call}[1]"
    elif request.has_aux:
        call = f"{call}[0]"
    if request.mode == "hessian" and request.single and len(derivative.places) == 1:
        return f"(({call},),)"
    return f"({call},)" if request.single else call
