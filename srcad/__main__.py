"""The command line: ``python -m srcad demo | show | check | rules | explain | ...``."""

from __future__ import annotations

import argparse
import difflib
import functools
import importlib
import importlib.util
import math
import os
import platform
import re
import sys
import textwrap
import traceback
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

import srcad
from srcad import demo, rules, runtime, testing
from srcad.api import asking, looking
from srcad.arguments.request import parameters_of, requested
from srcad.backends.numba.lowering import is_lowered
from srcad.backends.registry import BACKENDS
from srcad.calling.gradient import exported, inspection
from srcad.calling.inspection import Inspection
from srcad.errors import SrcadError
from srcad.exporting.module import MODES_OF_FILES, staleness, write
from srcad.rules import printing, registry

_FIRST = "0"  # which argument is differentiated by if none is named
_OWN = [n for n, one in vars(runtime).items() if getattr(one, "__module__", "") == "srcad.runtime"]
_HELPERS = re.compile(rf"\b({'|'.join(map(re.escape, _OWN))})\(")  # in generated text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``python -m srcad``.
    """
    options = _parser().parse_args(arguments)
    try:
        status = int(_COMMANDS[options.command](options))
        sys.stdout.flush()
    except SrcadError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever reads has seen enough; Python flushes once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="srcad", description="Differentiate plain NumPy Python.")
    parser.add_argument("--version", action="version", version=f"srcad {srcad.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("demo", help="show, check and train a small network")
    command.add_argument("--seconds", type=float, default=3.0, help="how long to train")
    _add_backend(command)
    for name, what in (
        ("show", "print the generated primal and adjoint"),
        ("ssa", "print the function in the compiler's own form"),
        ("graph", "print or draw the graph of the function"),
        ("check", "compare the derivatives with finite differences"),
        ("export", "write a derivative to a file of its own"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("function", help="module:function, or file.py:function")
        command.add_argument(
            "--wrt", default=_FIRST, help="positions or names, separated by commas"
        )
        command.add_argument(
            "--args",
            metavar="ARGUMENTS",
            help='arguments of a call, whose kinds and shapes decide the text: "np.ones(4), k=2"',
        )
    _add_backend(commands.choices["show"])
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="the file")
    command.add_argument(
        "--mode",
        choices=MODES_OF_FILES,
        default="grad",
        metavar="MODE",
        help=f"one of {', '.join(MODES_OF_FILES)}",
    )
    command.add_argument(
        "--check", action="store_true", help="write nothing: say whether the file is up to date"
    )
    command = commands.choices["graph"]
    form = command.add_mutually_exclusive_group()
    form.add_argument("--dot", action="store_true", help="the text for Graphviz (the default)")
    form.add_argument("--svg", action="store_true", help="a drawing, by the program 'dot'")
    what = "write to a file: .dot or .gv, or what 'dot' draws: .svg, .pdf, .png"
    command.add_argument("-o", "--output", metavar="FILE", help=what)
    command = commands.choices["check"]
    command.add_argument("--order", type=int, default=1, help="how often to differentiate")
    command = commands.add_parser("rules", help="print rows of the table of rules")
    command.add_argument("word", nargs="?", default="", help="what the name of a function contains")
    command = commands.add_parser("explain", help="print what is said of the code of an error")
    command.add_argument("code", help="SRCAD-101, 101, or the name of the class")
    commands.add_parser("info", help="print versions and the size of the rule table")
    return parser


def _add_backend(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--backend",
        choices=BACKENDS.names(),
        default=BACKENDS.names()[0],
        help="what runs the code",
    )


def _demo(options: argparse.Namespace) -> int:
    try:
        return demo.run(options.seconds, options.backend)
    except ImportError as error:
        raise SystemExit(f"srcad: {error}") from None


def _show(options: argparse.Namespace) -> int:
    shown = _inspected(options)
    halves = dict.fromkeys((shown.primal_source.rstrip(), shown.adjoint_source.rstrip()))
    print("\n\n".join(halves))
    if not options.args and (len(halves) == 1 or any(map(_HELPERS.search, halves))):
        sys.stdout.flush()
        print(
            f"srcad: this is for arguments of any kind; for yours, {_arguments_option(options)}",
            file=sys.stderr,
        )
    return 0


def _arguments_option(options: argparse.Namespace) -> str:
    """How the arguments are given."""
    parameters = parameters_of(_function(options.function)[0]) or (None,)
    needed = [
        p
        for p in parameters
        if p is None
        or (p.default is p.empty and p.kind < p.VAR_KEYWORD and p.kind != p.VAR_POSITIONAL)
    ]
    spelled = [
        f"{p.name}=np.ones(3)" if p is not None and p.kind == p.KEYWORD_ONLY else "np.ones(3)"
        for p in needed
    ]
    words = f"{options.command} {options.function}"
    return f'give some:  python -m srcad {words} --args "{", ".join(spelled)}"'


def _check(options: argparse.Namespace) -> int:
    """Compare with differences: status 0 if they agree, 1 if not."""
    function, module = _function(options.function)
    if not options.args:
        raise SystemExit(
            f"srcad: derivatives are checked for some arguments; {_arguments_option(options)}"
        )
    _refuse_unreadable(options, function, module)
    args, kwargs = _arguments(options.args, module)
    wrt = _wrt(options.wrt) if options.wrt is not _FIRST else None
    try:
        testing.check_grads(
            functools.partial(function, **kwargs) if kwargs else function,
            args,
            wrt=wrt,
            order=options.order,
        )
    except AssertionError as error:
        print(f"{options.function}: {error}")
        return 1
    except SrcadError:
        raise
    except Exception as error:  # the function is the user's, and may raise anything
        raise SystemExit(_failed(f"calling {options.function!r}", error)) from None
    print(f"{options.function}: the derivatives agree with finite differences")
    return 0


def _rules(options: argparse.Namespace) -> int:
    """Print the whole row of an exact name, or the rules of functions with a word in theirs."""
    exact = printing.rows_of_exact_name(options.word)
    for row in exact:
        print(
            printing.whole(row, ("numba", "lowered" if is_lowered(row.target) else "not lowered"))
        )
    if exact:
        return 0
    named = {registry.qualified_name(row.target): row for row in rules.rows()}
    found = {name: named[name] for name in sorted(named) if options.word in name}
    for row in found.values():
        print(printing.heading(row))
        if options.word and row.function is not None:
            print(textwrap.indent(printing.formula(row.function), "    "))
    if not found:
        names = [name.rpartition(".")[2] for name in named]
        raise SystemExit(
            f"srcad: no rule has {options.word!r} in its name{_meant(options.word, names)}"
        )
    return 0


def _explain(options: argparse.Namespace) -> int:
    """Return the section of the page of errors for a code, or for the class of an error."""
    sections = _sections()
    word = options.code.strip().strip("[]").lower()
    for title, text in sections.items():
        if word in (part.lower() for part in (*title.split(), title.split()[0][-3:])):
            print(text)
            return 0
    codes = "\n".join(f"  {title}" for title in sections)
    raise SystemExit(f"srcad: there is no error {options.code!r}; there are\n{codes}")


def _sections() -> dict[str, str]:
    """Return the sections of the page of errors by their titles."""
    home = os.path.dirname(os.path.abspath(srcad.__file__))
    pages = [os.path.join(home, "errors.md"), os.path.join(home, "..", "docs", "errors.md")]
    page = next(path for path in pages if os.path.exists(path))  # a checkout has it in docs
    with open(page, encoding="utf-8") as file:
        _, *parts = file.read().split("\n## ")
    return {part.partition("\n")[0]: part.rstrip() for part in parts}


def _ssa(options: argparse.Namespace) -> int:
    shown = _inspected(options)
    print(shown.ssa)
    print()
    print(shown.adjoint_ssa)
    return 0


def _export(options: argparse.Namespace) -> int:
    """Write the file, or with ``--check`` say why it is stale (status 1)."""
    function, module = _function(options.function)
    args, kwargs = _arguments(options.args or "", module)
    wrt = _wrt(options.wrt)
    try:
        made = asking.derivative(function, options.mode, wrt[0] if len(wrt) == 1 else wrt)
        text = exported(made, args, kwargs, [_spelled(options)])
    except SrcadError:
        raise
    except TypeError as error:  # no function, or no arguments of it
        raise SystemExit(f"srcad: {error}") from None
    if not options.check:
        try:
            write(options.output, text)
        except OSError as error:  # no such folder, or no right to write there
            raise SystemExit(f"srcad: {error}") from None
        return 0
    why = staleness(options.output, text)
    print(f"{options.output}: {'up to date' if why is None else f'stale, {why}'}")
    return 0 if why is None else 1


def _spelled(options: argparse.Namespace) -> str:
    """Return the command that was given."""
    words = [f"python -m srcad export {options.function}"]
    if options.mode != "grad":
        words.append(f"--mode {options.mode}")
    if options.wrt != "0":
        words.append(f"--wrt {options.wrt}")
    if options.args:
        words.append(f'--args "{options.args}"')
    return " ".join([*words, f"-o {os.path.basename(options.output)}"])


def _graph(options: argparse.Namespace) -> int:
    graph = _inspected(options).graph
    suffix = os.path.splitext(options.output or "")[1].lstrip(".").lower()
    form = "svg" if options.svg else "" if options.dot or suffix in ("dot", "gv") else suffix
    made = graph.drawn(form) if form else f"{graph}\n".encode()
    if options.output:
        try:
            with open(options.output, "wb") as file:
                file.write(made)
        except OSError as error:
            raise SystemExit(f"srcad: {error}") from None
    else:
        sys.stdout.write(made.decode())
    return 0


def _inspected(options: argparse.Namespace) -> Inspection:
    """Inspect the function for the arguments that are given."""
    function, module = _function(options.function)
    _refuse_unreadable(options, function, module)
    args, kwargs = _arguments(options.args or "", module)
    try:
        backend: Any = getattr(options, "backend", BACKENDS.names()[0])
        if backend == BACKENDS.names()[0]:
            return looking.inspect(function, *args, wrt=_wrt(options.wrt), **kwargs)
        request = requested("grad", (_wrt(options.wrt),), backend=backend)
        return inspection(asking.checked(function, backend), request, args, kwargs)
    except SrcadError:
        raise
    except (TypeError, ImportError) as error:  # no function, or no arguments of it
        raise SystemExit(f"srcad: {error}") from None


def _refuse_unreadable(options: argparse.Namespace, function: Any, module: Any) -> None:
    """Raise an error for a class or compiled function; name objects that can be shown."""
    if isinstance(function, type):
        what = "is a class"
        names = [
            f"{options.function}.{name}"
            for name, one in vars(function).items()
            if isinstance(one, FunctionType) and name[:2] != "__"
        ]
    elif callable(function) and not options.args and parameters_of(function) is None:
        what = "is compiled"
        if registry.lookup(function) is not None:
            raise SystemExit(f"srcad: {options.function!r} {what}; {_arguments_option(options)}")
        names = []
    else:
        return
    path = options.function.rpartition(":")[0]
    names += [
        f"{path}:{name}"
        for name, one in vars(module).items()
        if isinstance(one, FunctionType) and one.__module__ == module.__name__
    ]
    instead = f", such as {', '.join(names[:3])}" if names else ""
    raise SystemExit(
        f"srcad: {options.function!r} {what}; functions that are written in Python "
        f"can be shown{instead}"
    )


def _info(options: argparse.Namespace) -> int:
    print(f"srcad    {srcad.__version__}")
    print(f"python   {platform.python_version()}")
    print(f"numpy    {np.__version__}")
    print(f"backends {', '.join(BACKENDS.names())}")
    print(f"rules    {len(rules.rows())}")
    return 0


_COMMANDS = {
    "demo": _demo,
    "show": _show,
    "ssa": _ssa,
    "graph": _graph,
    "check": _check,
    "rules": _rules,
    "explain": _explain,
    "export": _export,
    "info": _info,
}


def _function(spelled: str) -> tuple[Any, Any]:
    """Return the object that ``module:function`` names, and the module."""
    name, colon, path = spelled.rpartition(":")
    if not colon:
        raise SystemExit(f"srcad: write module:function, not {spelled!r}")
    module = found = _module(name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise SystemExit(f"srcad: {name} has no {path!r}{_meant(part, dir(found))}")
        found = getattr(found, part)
    return found, module


def _meant(name: str, names: Sequence[str]) -> str:
    """Names that look like the one that is not there."""
    close = difflib.get_close_matches(name, sorted(set(names)), n=3)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _module(name: str) -> Any:
    is_file = name.endswith(".py")
    if is_file and not os.path.exists(name):
        raise SystemExit(f"srcad: there is no file {name!r}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(name)) if is_file else os.getcwd())
    try:
        return _loaded(name) if is_file else importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise SystemExit(f"srcad: there is no module {name!r} here or installed") from None
        raise SystemExit(_failed(f"importing {name!r}", error)) from None
    except Exception as error:  # the module is the user's, and may raise anything
        raise SystemExit(_failed(f"importing {name!r}", error)) from None


def _loaded(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(os.path.basename(file)[:-3], file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _arguments(spelled: str, module: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments that are written out, read with the names of the module."""
    space = {"np": np, "numpy": np, "math": math, **vars(module)}
    space["__call__"] = lambda *args, **kwargs: (args, kwargs)
    try:
        found: tuple[tuple[Any, ...], dict[str, Any]] = eval(f"__call__({spelled}\n)", space)
    except Exception as error:  # what is written there may raise anything
        raise SystemExit(_failed(f"reading --args {spelled!r}", error)) from None
    return found


def _failed(what: str, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = [f for f in frames if not f.filename.startswith("<") and f.filename != __file__]
    place = f"  ({where[-1].filename}:{where[-1].lineno})" if where else ""
    return f"srcad: {what} failed: {type(error).__name__}: {error}{place}"


def _wrt(spelled: str) -> tuple[int | str, ...]:
    parts = [part.strip() for part in spelled.split(",")]
    return tuple(int(p) if p.lstrip("-").isdigit() else p for p in parts)


if __name__ == "__main__":
    sys.exit(main())
