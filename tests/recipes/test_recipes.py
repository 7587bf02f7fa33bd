"""Apply each recipe of the page: one source file, and at most one line of an index or order."""

from __future__ import annotations

import shutil

import pytest

from tests import architecture
from tests.recipes.change import ROOT, changes, copies, write
from tests.recipes.runner import tried

CHANGES = changes()
TWO_FILES = {"operation"}
PAGE = (ROOT / "docs" / "design" / "how-to-extend.md").read_text()


def headings():
    """The titles of the recipes on the page."""
    return {line.removeprefix("## ") for line in PAGE.splitlines() if line.startswith("## ")}


def test_every_recipe_of_the_page_is_tried():
    assert {change.recipe for change in CHANGES.values()} == headings()


def test_every_change_finds_its_place(tmp_path):
    shutil.copytree(ROOT / "srcad", tmp_path / "srcad", ignore=shutil.ignore_patterns("*.pyc"))

    for change in CHANGES.values():
        write(change, tmp_path)

    assert all((tmp_path / section.path).exists() for change in CHANGES.values()
               for section in change.of("new", "append", "line", "out"))  # fmt: skip


@pytest.mark.random
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_by_the_recipe_touches_what_it_names_and_works(name, tmp_path):
    if not CHANGES[name].is_for_this_python:
        pytest.skip("the form is of a newer Python")

    found = tried(CHANGES[name], tmp_path)

    assert len(found.sources) == (2 if name in TWO_FILES else 1)


@pytest.mark.random
def test_all_changes_together_make_no_circle_of_imports(tmp_path):
    first, *others = [change for change in CHANGES.values() if change.is_for_this_python]
    _, after = copies(first, tmp_path)
    for change in others:
        write(change, after)

    graph = architecture.imports(architecture.Package.read(after / "srcad"))
    assert architecture.circles(graph) == []
