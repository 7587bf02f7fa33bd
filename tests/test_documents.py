"""Every program in the documents prints what the document says."""

import ast
import contextlib
import importlib.util
import io
import linecache
import re
import sys
import types
from pathlib import Path

import pytest

from srcad import rules, runtime

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAIR = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
NEED_NUMBA = {"compiled.md"}
CASES = [
    pytest.param(document, k, id=f"{document.name}-{k}")
    for document in DOCUMENTS
    for k in range(len(PAIR.findall(document.read_text())))
]


@pytest.fixture
def table(monkeypatch):
    """A rule table that forgets what a document registers."""
    rules.rows()  # what is read meanwhile would be forgotten with the rest
    monkeypatch.setattr(rules.registry, "_table", dict(rules.registry._table))


def printed(program, folder):
    """What a program prints, and the error with which it ends."""
    path = folder / "model.py"
    path.write_text(program)
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # noqa: BLE001 - the document shows it
            notes = getattr(error, "__notes__", [])
            print("\n".join([f"{type(error).__name__}: {error}", *notes]))
    return out.getvalue()


@pytest.mark.parametrize(("document", "k"), CASES)
def test_document_program_output_matches(document, k, tmp_path, monkeypatch, table, update_golden):
    if document.name in NEED_NUMBA:
        pytest.importorskip("numba", reason="needs the extra: pip install '.[numba]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = document.read_text()
    found = list(PAIR.finditer(text))[k]

    out = printed(found[1], tmp_path)

    if update_golden:
        document.write_text(text[: found.start(2)] + out.rstrip("\n") + "\n" + text[found.end(2) :])
    else:
        assert out.rstrip() == found[2].rstrip()


def test_every_error_has_a_section_with_its_code():
    text = (ROOT / "docs" / "errors.md").read_text()
    from srcad import errors

    classes = [
        c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.SrcadError)
    ]
    for cls in classes:
        if cls is not errors.SrcadError:
            assert f"## {cls.code} {cls.__name__}" in text


def test_the_first_screen_of_the_readme_has_both_commands():
    text = (ROOT / "README.md").read_text()

    assert (
        "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/python -m srcad demo"
        in text
    )
    assert "pip install -q -e '.[test]' && .venv/bin/python -m pytest -q" in text


def test_how_it_works_lists_functions_that_exist():
    text = (ROOT / "docs" / "how-it-works.md").read_text()
    rows = re.findall(r"\| `(srcad/\S+\.py)` \| (.+) \|", text)

    assert rows
    for path, names in rows:
        missing = {name.strip(" `") for name in names.split(",")} - defined_names(ROOT / path)
        assert not missing, f"{path} does not define {missing}"


def defined_names(path):
    """The functions and variables that a file defines, on all levels."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return functions | {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def test_every_helper_of_generated_code_documented():
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    helpers = {
        name for name, value in vars(runtime).items()
        if isinstance(value, types.FunctionType) and value.__module__ == "srcad.runtime"
        and not name.startswith("_")
    }  # fmt: skip

    assert {name for name in helpers if f"| `{name}(" not in page} == set()
