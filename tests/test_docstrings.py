"""Docstrings of public names: complete by numpydoc's checks, in plain words."""

import importlib
import inspect
import re
import types
from pathlib import Path

import pytest

import srcad
from tests.prose import PHRASES

ROOT = Path(__file__).resolve().parent.parent
LISTED = re.findall(r"^   (srcad\.[\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
UNPLAIN = re.compile(
    rf"{PHRASES.pattern}|\b(?:comes? back|came back|sweeps?)\b|\bby `[a-z]`|^ *Whether\b",
    re.MULTILINE,
)
FIELD = re.compile(r"^ *\w+ : ", re.MULTILINE)  # the name of a field, as `trip` of a row
# No extended summary where one line says all, and links between pages are in the pages.
LEFT_OUT = {"ES01", "SA01"}
MODULES = (srcad, srcad.rules, srcad.testing, srcad.errors)
# Only srcad makes its errors, with the parameters of `SrcadError`; `docs/errors.md` has programs
# for each code, and tests/test_documents.py checks that it has.
LEFT_OUT_OF_ERRORS = LEFT_OUT | {"PR01", "EX01"}


def found(name):
    """Return the object of a dotted name."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def members(cls):
    """Yield name and docstring of the public methods and properties that a class defines."""
    for name, value in vars(cls).items():
        if not name.startswith("_") and isinstance(value, (types.FunctionType, property)):
            yield f"{cls.__module__}.{cls.__qualname__}.{name}", inspect.getdoc(value)


PUBLIC = [
    name for name in LISTED
    if callable(found(name)) and name.rpartition(".")[0] in {m.__name__ for m in MODULES}
]  # fmt: skip
DOCSTRINGS = {name: inspect.getdoc(found(name)) for name in LISTED}
for name in LISTED:
    if inspect.isclass(found(name)):
        DOCSTRINGS.update(members(found(name)))


@pytest.mark.parametrize("name", DOCSTRINGS)
def test_public_docstring_is_there_in_plain_words(name):
    assert DOCSTRINGS[name]
    text = FIELD.sub("", DOCSTRINGS[name])
    assert [match[0] for match in UNPLAIN.finditer(text)] == []


def test_phrases_are_found():
    text = "Whether a trip of the reverse sweep by `x` comes back.\n    Whether it does."

    assert len(UNPLAIN.findall(text)) == 6
    assert not UNPLAIN.search("True if the reverse pass with respect to `x` returns it.")


@pytest.mark.parametrize("name", PUBLIC)
def test_public_docstring_passes_the_checks_of_numpydoc(name):
    validate = pytest.importorskip("numpydoc.validate", reason="needs the extra: docs").validate
    one = found(name)
    is_error = inspect.isclass(one) and issubclass(one, (srcad.errors.SrcadError, Warning))

    left_out = LEFT_OUT_OF_ERRORS if is_error else LEFT_OUT
    assert [error for error in validate(name)["errors"] if error[0] not in left_out] == []
