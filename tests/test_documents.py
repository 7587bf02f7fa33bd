"""Every program in the documents prints what the document says."""

import ast
import contextlib
import importlib.util
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import srcad
from srcad import errors, rules, runtime, testing

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAIR = re.compile(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", re.DOTALL)
NEED_NUMBA = {"compiled.md"}
CASES = [
    pytest.param(document, k, id=f"{document.name}-{k}")
    for document in DOCUMENTS
    for k in range(len(PAIR.findall(document.read_text())))
]


def programs_of_errors():
    """Yield the code of each program of the page of errors, its place there, and its output."""
    page = ROOT / "docs" / "errors.md"
    text, code = page.read_text(), ""
    place = 0
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        code = part.split()[0]
        for program, out in PAIR.findall(part):
            yield code, place, program, out
            place += 1


PROGRAMS_OF_ERRORS = list(programs_of_errors())
FAILING = re.compile(r"\w+Error: \[(SRCAD-\d+)\]")
CORRECTED = {
    ("errors.md", place)
    for code, place, _, out in PROGRAMS_OF_ERRORS
    if code.startswith("SRCAD-") and not FAILING.match(out)
}
# What to install, and a command.
NO_PROGRAMS = {"SRCAD-305": 1}
# A defect of srcad, which has no remedy.
WITHOUT_REMEDY = {"SRCAD-901"}
# These need no derivative.
ABOUT_NAMES = {"SRCAD-104", "SRCAD-305"}


@pytest.fixture
def table():
    """A rule table that forgets what a document registers, not what is read meanwhile."""
    rows = rules.registry._table
    before = dict(rows)
    yield
    for target, row in list(rows.items()):
        if not row.shipped and before.get(target) is not row:
            del rows[target]
            rows.update({target: before[target]} if target in before else {})


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


@dataclass
class Recorded:
    """A derivative that notes the function and the arguments of each call."""

    function: Any
    derivative: Any
    calls: list[tuple[Any, tuple[Any, ...], Any]]
    wrt: Any

    def __call__(self, *args):
        self.calls.append((self.function, args, self.wrt))
        return self.derivative(*args)

    def __getattr__(self, name):
        return getattr(self.derivative, name)


def recorded_calls(monkeypatch):
    """Return a list that gets each call of a derivative: function, arguments, `wrt`."""
    found = []

    def maker(make):
        return lambda f, wrt=None, **how: Recorded(
            f, make(f, **({} if wrt is None else {"wrt": wrt}), **how), found, wrt
        )

    def caller(call):
        def recorded(f, *args):
            found.append((f, args, None))
            return call(f, *args)

        return recorded

    for name in ("grad", "jacobian", "elementwise_grad"):
        monkeypatch.setattr(srcad, name, maker(getattr(srcad, name)))
    for name in ("gradient", "pullback"):
        monkeypatch.setattr(srcad, name, caller(getattr(srcad, name)))
    return found


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """An empty folder, and what a program may change: the path, the search path, modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    yield tmp_path
    sys.modules.pop("law_of_this_page", None)


@pytest.mark.parametrize(("document", "k"), CASES)
def test_document_program_output_matches(
    document, k, surroundings, table, monkeypatch, update_golden
):
    text = document.read_text()
    found = list(PAIR.finditer(text))[k]
    if document.name in NEED_NUMBA or "srcad.Numba(" in found[1]:
        pytest.importorskip("numba", reason="needs the extra: pip install '.[numba]'")

    is_corrected = (document.name, k) in CORRECTED
    calls = recorded_calls(monkeypatch) if is_corrected else []

    out = printed(found[1], surroundings)

    if update_golden:
        document.write_text(text[: found.start(2)] + out.rstrip("\n") + "\n" + text[found.end(2) :])
    else:
        assert out.rstrip() == found[2].rstrip()
    for function, args, wrt in calls:
        testing.check_grads(function, args, wrt=wrt, order=1, modes=["rev"])


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
    classes = [
        c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.SrcadError)
    ]
    for cls in classes:
        if cls is not errors.SrcadError:
            assert f"## {cls.code} {cls.__name__}" in text


def test_every_error_has_a_program_for_each_remedy():
    codes = {
        c.code for c in vars(errors).values()
        if isinstance(c, type) and issubclass(c, errors.SrcadError)
    } - WITHOUT_REMEDY - {"SRCAD-000"}  # fmt: skip

    for code in codes:
        programs = [(program, out) for c, _, program, out in PROGRAMS_OF_ERRORS if c == code]
        failing = [FAILING.match(out) is not None for _, out in programs]
        remedies = sum(out.count("\n  help: ") for _, out in programs) - NO_PROGRAMS.get(code, 0)
        assert failing[:1] == [True], f"{code}: the first program fails"
        assert failing.count(False) >= max(remedies, 1), f"{code}: a program for each remedy"
        assert all(out.split("[")[1].startswith(code) for (_, out), fails
                   in zip(programs, failing, strict=True) if fails)  # fmt: skip
        corrected = [p for (p, _), fails in zip(programs, failing, strict=True) if not fails]
        derive = re.compile(r"srcad\.(?:grad|gradient|jacobian|elementwise_grad|pullback)\(")
        assert code in ABOUT_NAMES or all(map(derive.search, corrected))


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
