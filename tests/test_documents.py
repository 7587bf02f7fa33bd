"""Every program in the documents prints what the document says."""

import ast
import contextlib
import importlib.util
import io
import linecache
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

import srcad
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


# Commands are blocks with an indentation of four columns, outside of programs.
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}\S.*\n)+")
COMMANDS = [
    pytest.param(line.strip(), id=f"{document.name}: {line.strip()[:40]}")
    for document in DOCUMENTS
    for block in INDENTED.findall(FENCED.sub("", document.read_text()))
    for line in block.splitlines()
    if "python" in block
]


@pytest.mark.parametrize("line", COMMANDS)
def test_indented_line_is_one_command(line):
    python, *words = shlex.split(line, comments=True)

    assert python == "python"
    assert "python" not in words
    if words[0] == "-m":
        spec = importlib.util.find_spec(words[1])
        assert spec is not None
        texts = [f.read_text() for folder in spec.submodule_search_locations or ()
                 for f in Path(folder).glob("*.py")] or [Path(spec.origin).read_text()]  # fmt: skip
        for option in (word for word in words[2:] if word.startswith("--")):
            assert f'"{option}"' in "".join(texts)


def test_documents_have_indented_commands():
    assert len(COMMANDS) >= 8


def test_commands_of_the_page_of_exports_run(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "export.md").read_text()
    (tmp_path / "model.py").write_text(PAIR.search(text)[1].partition("w, x =")[0])
    (block,) = [b for b in INDENTED.findall(FENCED.sub("", text)) if "python" in b]
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    for line in block.splitlines():
        _, *words = shlex.split(line, comments=True)
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, check=False,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, (line, done.stderr)


def test_seconds_of_compilation_are_those_of_the_table():
    text = (ROOT / "docs" / "benchmarks.md").read_text()

    for word, number in re.findall(r"(median|largest) ([\d.]+) s", text):
        assert re.search(rf"\| first call \[s\], {word} \|.*\| {re.escape(number)} \|", text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_programs_of_users_import_public_names_only(document):
    if document.parent.name == "design":
        return
    for module in re.findall(r"^(?:from|import) (srcad\.\S+)", document.read_text(), re.MULTILINE):
        assert module.split(".")[1] in srcad.__all__ or module == "srcad.testing_plugin"


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
