"""The command line: ``python -m srcad demo | show | ssa | info``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import srcad
from srcad import api, demo, rules
from srcad.errors import SrcadError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``python -m srcad``.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(_COMMANDS[options.command](options))
    except SrcadError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="srcad", description="Differentiate plain NumPy Python.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("demo", help="show, check and train a small network")
    command.add_argument("--seconds", type=float, default=3.0, help="how long to train")
    for name, what in (("show", "print the generated primal and adjoint"),
                       ("ssa", "print the function in the compiler's own form")):  # fmt: skip
        command = commands.add_parser(name, help=what)
        command.add_argument("function", help="module:function, or file.py:function")
        command.add_argument("--wrt", default="0", help="positions or names, separated by commas")
    commands.add_parser("info", help="print versions and the size of the rule table")
    return parser


def _demo(options: argparse.Namespace) -> int:
    return demo.run(options.seconds)


def _show(options: argparse.Namespace) -> int:
    shown = api.inspect(_function(options.function), wrt=_wrt(options.wrt))
    print(shown.primal_source.rstrip())
    print()
    print(shown.adjoint_source.rstrip())
    return 0


def _ssa(options: argparse.Namespace) -> int:
    shown = api.inspect(_function(options.function), wrt=_wrt(options.wrt))
    print(shown.ssa)
    print()
    print(shown.adjoint_ssa)
    return 0


def _info(options: argparse.Namespace) -> int:
    print(f"srcad    {srcad.__version__}")
    print(f"python   {platform.python_version()}")
    print(f"numpy    {np.__version__}")
    print(f"backends {', '.join(api.BACKENDS)}")
    print(f"rules    {len(rules.rows())}")
    return 0


_COMMANDS = {"demo": _demo, "show": _show, "ssa": _ssa, "info": _info}


def _function(spelled: str) -> Any:
    """Import what ``module:function`` names."""
    name, colon, path = spelled.rpartition(":")
    if not colon:
        raise SystemExit(f"srcad: write module:function, not {spelled!r}")
    found: Any = _module(name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise SystemExit(f"srcad: {name} has no {path!r}")
        found = getattr(found, part)
    return found


def _module(name: str) -> Any:
    if not name.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(os.path.basename(name)[:-3], name)
    if spec is None or spec.loader is None or not os.path.exists(name):
        raise SystemExit(f"srcad: there is no file {name!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _wrt(spelled: str) -> tuple[int | str, ...]:
    parts = [part.strip() for part in spelled.split(",")]
    return tuple(int(p) if p.lstrip("-").isdigit() else p for p in parts)


if __name__ == "__main__":
    sys.exit(main())
