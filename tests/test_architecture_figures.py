"""The figures of the package count what they say, on small packages."""

import pytest

from tests.architecture import (
    Figure,
    Package,
    callable_fields,
    circles,
    folders,
    handed_on,
    imports,
    main,
    mutual,
    this_package,
    users_of_primitives,
)


def package(**texts):
    """A package whose modules are named without the package; ``__`` stands for a dot."""
    named = {f"h.{name.replace('__', '.')}": text for name, text in texts.items()}
    return Package("h", {"h": "", **named})


@pytest.mark.parametrize(
    "text",
    [
        "from h import b",
        "import h.b",
        "from h.b import name",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from h.b import name",
        "def f():\n    from h import b",
        "b = import_module('h.b')",
    ],
)
def test_import_counted_in_any_position(text):
    assert imports(package(a=text, b=""))["h.a"] == {"h.b"}


def test_external_imports_not_counted():
    assert imports(package(a="import os\nfrom numpy import b\nx = 'b'", b=""))["h.a"] == set()


def test_a_module_does_not_import_the_package_it_is_in():
    assert imports(package(a="from h import name"))["h.a"] == set()


def test_import_cycle_reported_with_all_modules():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}

    assert circles(graph) == [{"a", "b", "c"}, {"d", "e"}]


def test_import_chain_is_not_cycle():
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_two_folders_import_each_other_through_other_modules():
    made = package(p="", q="", p__a="from h.q import b", p__c="", q__b="", q__d="from h.p import c")

    assert mutual(folders(made, imports(made))) == ["h.p h.q"]


def test_top_level_modules_treated_as_own_folder():
    made = package(p="", p__a="from h import low", low="", high="from h.p import a")

    assert mutual(folders(made, imports(made))) == []


def test_reexport_found_in_either_spelling():
    made = package(
        low="def f(): ...\ndef g(): ...",
        a="from h.low import f, g\n__all__ = ['f']",
        b="from h.low import g as g",
        c="from h.low import f\ndef own(): ...\n__all__ = ['own']",
    )

    assert handed_on(made) == ["h.a.f", "h.b.g"]


def test_callable_fields_found():
    made = package(a="class Session:\n    n: int = 0\n    f: Callable[..., int] | None = None")

    assert callable_fields(made) == ["Session.f"]


def test_users_of_a_primitive_are_found_by_either_spelling():
    made = package(
        prim="def item(): ...\ndef field(): ...",
        a="from h import prim\nprim.item",
        b="from h.prim import item as i",
    )

    assert users_of_primitives(made, "h.prim") == {"item": {"h.a", "h.b"}, "field": set()}


def test_a_primitive_is_named_by_its_text_and_where_it_only_gets_its_row():
    made = package(
        prim="def item(): ...\nstored = Row()(writes.stored)",
        a="from h import prim\ngetattr(prim, 'item')\nprim.stored",
        b="getattr(other, 'item')",
        writes="def stored(): ...",
        c="from h.writes import stored",
    )

    found = users_of_primitives(made, "h.prim", "h.writes")
    assert found == {"item": {"h.a"}, "stored": {"h.a", "h.c"}}


def test_figure_reports_target_met():
    assert Figure("files", 3, 3).is_met
    assert Figure("files", 30, None).is_met
    assert str(Figure("files", 4, 3, "here")).split() == ["!", "4", "<=", "3", "files", "here"]


def test_the_figures_of_this_package_are_printed(capsys):
    main()

    out = capsys.readouterr().out
    assert "modules at top level" in out
    assert "targets are missed" in out


def test_no_modules_or_folders_import_each_other():
    graph = imports(this_package())

    assert circles(graph) == []
    assert mutual(folders(this_package(), graph)) == []
