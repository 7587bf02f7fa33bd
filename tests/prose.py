"""``python -m tests.prose``: count what makes docstrings of srcad hard to read.  It fails nothing.

Two figures, for all of ``srcad/`` and for each package: docstrings whose first paragraph has no
verb at its head or speaks in riddles (it begins with "What", "Whether", "Of", ... or has "nobody",
"whose", ...), and phrases that are not the field's ("trip", "plain call", ...).  ``--list PACKAGE``
prints the docstrings that are counted, with file and line.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADS = re.compile(r"^(What|Whether|Of|The making|Those)\b")
INSIDE = re.compile(r"\b(has what|nobody|whose|that which)\b")
PHRASES = re.compile(
    r"\b(trips?|taken for granted|plain call|left as it stands|known now|only the call knows"
    r"|nobody)\b"
)
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield file, line and text of every docstring below a folder."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            text = ast.get_docstring(node) if isinstance(node, DEFINITIONS) else None
            if text is not None:
                yield file, getattr(node, "lineno", 1), text


def is_counted(text: str) -> bool:
    """Return whether the first paragraph of a docstring is counted."""
    first = text.partition("\n\n")[0]
    return bool(HEADS.search(first) or INSIDE.search(first))


def package_of(file: Path) -> str:
    """Return the name of the package of srcad that a file belongs to."""
    parts = file.relative_to(ROOT / "srcad").parts
    return parts[0] if len(parts) > 1 else "(top level)"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose", description=__doc__)
    parser.add_argument("--list", metavar="PACKAGE", help="print the docstrings that are counted")
    options = parser.parse_args()
    every, heads, phrases = Counter[str](), Counter[str](), Counter[str]()
    for file, line, text in docstrings(ROOT / "srcad"):
        package = package_of(file)
        every[package] += 1
        found = len(PHRASES.findall(text))
        phrases[package] += found
        heads[package] += is_counted(text)
        if options.list == package and (is_counted(text) or found):
            print(f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}")
    print(f"{'package':14} docstrings  counted  phrases")
    for package in sorted(every):
        print(f"{package:14} {every[package]:10} {heads[package]:8} {phrases[package]:8}")
    print(f"{'all':14} {every.total():10} {heads.total():8} {phrases.total():8}")


if __name__ == "__main__":
    main()
