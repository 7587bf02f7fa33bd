"""The site has each page and each public name, once; it is built by `.ci/run docs`."""

import importlib.util
import inspect
import re
import types
from collections import Counter
from pathlib import Path

import pytest

import srcad
from srcad.__main__ import main
from tests import test_comparison, test_documents, test_migration

DOCS = Path(__file__).resolve().parent.parent / "docs"
WRITTEN_BY_THE_BUILD = {"gallery/index"}
PAGES = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
MODULES = ["srcad", "srcad.rules", "srcad.testing", "srcad.errors"]


def entries(directive, text):
    """Return the lines without options of each directive of a page."""
    found = re.findall(rf"(?:```\{{|\.\. ){directive}(?:\}}|::)\n(.*?)```", text, re.DOTALL)
    lines = [line.strip() for body in found for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def public_names():
    """Yield each public name that is no module, with its object."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            found = getattr(module, name)
            if not isinstance(found, types.ModuleType):
                yield f"{module.__name__}.{name}", found


def returned_classes(function):
    """Return the classes of srcad in the annotation of the result of a function."""
    words = re.findall(r"\w+", str(inspect.signature(function).return_annotation))
    found = [function.__globals__.get(word) for word in words]
    return {c for c in found if inspect.isclass(c) and c.__module__.startswith("srcad.")}


LISTED = entries("autosummary", (DOCS / "api.md").read_text())


def test_each_page_is_in_one_toctree():
    linked = Counter()
    for page in PAGES:
        folder = Path(page).parent
        for entry in entries("toctree", (DOCS / f"{page}.md").read_text()):
            linked[(folder / entry).as_posix()] += 1

    assert set(linked) == PAGES - {"index"} | WRITTEN_BY_THE_BUILD
    assert set(linked.values()) == {1}


# The page with the answer, and a part of its text.
QUESTIONS = {
    "How do I install it?": ("start", "pip install ."),
    "Does it run on a GPU?": ("faq", "## Does it run on a GPU?\n\nNo."),
    "How do I get standard errors?": ("fit", "np.sqrt(np.diag("),
    "How do I freeze a layer?": ("faq", "srcad.grad(loss, wrt="),
    "How do I write a rule of my own?": ("custom-rules", "@rules.adjoint("),
    "How do I use less memory?": ("checkpoints", "checkpointed_range("),
    "How do I make it faster?": ("compiled", 'backend="numba"'),
    "How do I ship a derivative?": ("ship", ".export(folder"),
    "What is refused?": ("limitations", "srcad refuses code that"),
    "How do I cite it?": ("cite", "CITATION.cff"),
}
LINK = re.compile(r"\]\(([\w/-]+)\.md(?:#[\w-]+)?\)")


def pages_within(clicks, start="index"):
    """Return the pages that so many clicks reach, by the links in the texts of pages."""
    found = {start}
    for _ in range(clicks):
        for page in list(found):
            links = LINK.findall((DOCS / f"{page}.md").read_text())
            found |= {(Path(page).parent / link).as_posix() for link in links} & PAGES
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_is_answered_within_two_clicks_of_the_home_page(question):
    page, answer = QUESTIONS[question]

    assert answer in (DOCS / f"{page}.md").read_text()
    assert page in pages_within(2)


def test_each_public_name_has_a_page():
    assert {name for name, _ in public_names()} - set(LISTED) == set()


def test_no_name_is_listed_twice_and_each_exists():
    assert len(LISTED) == len(set(LISTED))
    for name in LISTED:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name


def test_each_class_of_a_result_has_a_page():
    listed = [getattr(importlib.import_module(m), n) for m, _, n in
              (name.rpartition(".") for name in LISTED)]  # fmt: skip
    functions = [f for _, f in public_names() if inspect.isfunction(f)]
    found = set().union(*map(returned_classes, functions))

    assert len(found) >= 6
    assert {c for c in found if not any(c is one for one in listed)} == set()


def test_public_errors_are_all_classes_that_can_be_raised():
    module = srcad.errors
    raised = {
        key for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, (srcad.errors.SrcadError, Warning))
        and value.__module__ == module.__name__
    }  # fmt: skip

    assert set(module.__all__) == raised


def configuration():
    """Return the configuration of the site, a module."""
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_are_linked_to_pages_with_programs_that_use_them():
    pages = configuration().pages_with_programs()

    names = {f"srcad.{name}" for name in srcad.__all__}
    assert len(names & set(pages)) >= 20
    assert {"higher-order", "jacobians"} <= set(pages["srcad.hvp"])
    assert "custom-rules" in pages["srcad.rules.adjoint"]


def gallery_names():
    """Return the public names in the code of the gallery, which sphinx-gallery links."""
    found = set()
    for file in sorted((DOCS.parent / "examples").glob("*.py")):
        code = re.sub(r'^""".*?^"""', "", file.read_text(), flags=re.DOTALL | re.MULTILINE)
        found |= set(re.findall(r"\bsrcad\.[A-Za-z]\w*", code))
    return found & {f"srcad.{name}" for name in srcad.__all__}


def test_most_names_are_linked_to_programs_of_gallery_or_pages():
    gallery = gallery_names()
    pages = set(configuration().pages_with_programs())

    assert len(gallery) >= 15
    linked = gallery | pages & {f"srcad.{name}" for name in srcad.__all__}
    assert {f"srcad.{name}" for name in srcad.__all__} - linked <= {
        "srcad.BackendWarning", "srcad.SolverWarning", "srcad.errors", "srcad.rules",
        "srcad.testing",
    }  # fmt: skip


def test_pages_have_150_programs_of_srcad_that_print_what_stands_under_them():
    pairs = len(test_documents.CASES)
    recipes = len(list((DOCS.parent / "tests" / "recipes").glob("*.md")))
    compared = sum(system == "srcad" for _, system in test_comparison.TASKS)
    ported = sum(system == "srcad" and (page, system) in test_migration.CASES
                 for page in test_migration.TEXTS
                 for _, system, _, _ in test_migration.programs(page))  # fmt: skip

    assert pairs + recipes + compared + ported >= 150


def test_each_code_of_an_error_has_a_section_that_the_build_indexes():
    module = configuration()
    text = [(DOCS / "errors.md").read_text()]

    module.adapt_source(None, "errors", text)

    codes = set(re.findall(r"```\{index\} ! (SRCAD-\d+)\n", text[0]))
    errors = [getattr(srcad.errors, name) for name in srcad.errors.__all__]
    assert codes >= {error.code for error in errors if "code" in vars(error)} - {"SRCAD-000"}


def test_page_of_the_command_line_lists_each_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    (commands,) = re.findall(r"\{([a-z,]+)\}", capsys.readouterr().out)[:1]
    page = (DOCS / "command-line.md").read_text()

    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == commands.split(",")
