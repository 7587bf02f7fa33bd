"""Names and values of the user's that go into generated text.

Attribute names, keys, fields, names of functions, classes, modules and files can be any text, also
one that would end an expression and begin another, and of a class of the user's own whose methods
would run when it is formatted.  Whatever is written into text that is compiled has passed here: it
comes out as an identifier or as the literal of an exact string.

>>> attribute_text("box", "scale"), attribute_text("box", "class")
('box.scale', "getattr(box, 'class')")
>>> attribute_text("box", "a) or (b")
"getattr(box, 'a) or (b')"
"""

from __future__ import annotations

import builtins
import enum
import keyword
import re
import sys
import types
import unicodedata
from typing import TYPE_CHECKING, Any, TypeGuard

__all__ = [
    "attribute_text", "class_label", "dotted", "has_generic_getattribute", "identifier",
    "is_instance", "is_name", "key_text", "label", "module_of", "plain", "printable", "quoted",
    "shown", "ufunc_of",
]  # fmt: skip

_NOT_WORD = re.compile(r"\W+")
_SOFT = frozenset({"_", "match", "case", "type"})
_LONGEST = 200
_MADE_BY_STATEMENT = 1 << 9  # CPython: the class lies on the heap
_PLAIN = (int, float, complex, bool, bytes, type(None), type(...))
_MAKING = frozenset({"reduce", "accumulate", "reduceat", "outer"})  # methods of ufuncs


def is_name(text: object) -> TypeGuard[str]:
    """Return True if a text can be written as a name and then is read as that very name.

    Exactly a `str`, an identifier in NFKC (Python takes ``ﬁ`` for ``fi``), no keyword.

    >>> [is_name(text) for text in ("scale", "class", "a b", "ﬁ", "__debug__")]
    [True, False, False, False, False]
    """
    if type(text) is not str or not text.isidentifier() or keyword.iskeyword(text):
        return False
    return text != "__debug__" and _normal(text) == text


def plain(text: str) -> str:
    """Return the characters of a text, of whatever class it is, as exactly a `str`."""
    return text if type(text) is str else str.__str__(text)


def quoted(text: str) -> str:
    """Return the literal of a text."""
    return repr(plain(text))


def attribute_text(holder: str, name: str, reader: str = "getattr") -> str:
    """Return the expression of an attribute; `reader` is what ``getattr`` is called in the text."""
    return f"{holder}.{name}" if is_name(name) else f"{reader}({holder}, {quoted(name)})"


def dotted(path: str) -> str:
    """Return a name with its owners, to be pasted; where it cannot be written, what to put there.

    >>> dotted("model.loss"), dotted("outer.<locals>.loss")
    ('model.loss', '...')
    """
    path = plain(path)
    return path if all(is_name(part) for part in path.split(".")) else "..."


def identifier(wanted: object) -> str:
    """Return a legal identifier that looks like `wanted`.

    Exactly `str`, in NFKC, no keyword, no dunder.

    >>> identifier("x y"), identifier("lambda"), identifier("__import__"), identifier("3d")
    ('x_y', 'lambda_', 'import_', 'x_3d')
    """
    text = wanted if type(wanted) is str else plain(type(wanted).__name__)
    if text.startswith("%"):  # a name of ours, which nobody else has
        text = text[1:].partition(" ")[0]
    text = _NOT_WORD.sub("_", _normal(text)).strip("_") or "value"
    if not text.isidentifier():
        text = f"x_{text}"
    if not text.isidentifier() or not text.isprintable():
        text = "value"
    return f"{text}_" if keyword.iskeyword(text) or text in _SOFT else text


def printable(text: str) -> str:
    r"""Return a text on one line, without characters that no file name and no terminal can take.

    >>> printable("a\nb\0c")
    'a b c'
    """
    text = plain(text)
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


if TYPE_CHECKING:
    from builtins import isinstance as is_instance
else:

    def is_instance(value, kinds):
        """Return `isinstance` of a value, by its type alone: no code of its class is run."""
        return issubclass(type(value), kinds)


def module_of(value: Any) -> str:
    """Return the module that a function or class says it belongs to, or ''.

    What is defined in a space without a name belongs to none: Python says it is a builtin.
    Methods of ufuncs that return a new array count among NumPy's functions.

    >>> space = {}
    >>> exec("class Net: pass", space)
    >>> module_of(space["Net"]), module_of(dict)
    ('', 'builtins')
    """
    found: Any = type(value) if has_generic_getattribute(type(value)) else value
    found = None if is_instance(value, types.ModuleType) else getattr(found, "__module__", None)
    if not isinstance(found, str):
        return "numpy" if ufunc_of(value) is not None else ""
    return "" if found == "builtins" and _is_nameless(value) else plain(found)


def ufunc_of(value: Any) -> Any:
    """Return the ufunc of a bound method such as ``np.add.reduce``, which makes an array; or None.

    >>> import numpy as np
    >>> ufunc_of(np.add.reduce), ufunc_of(np.add.at)
    (<ufunc 'add'>, None)
    """
    if type(value) is not types.BuiltinMethodType or value.__name__ not in _MAKING:
        return None
    numpy = sys.modules.get("numpy")
    return value.__self__ if numpy and isinstance(value.__self__, numpy.ufunc) else None


def has_generic_getattribute(kind: type) -> bool:
    """Return True if a class of Python says itself what every attribute of its objects is."""
    return isinstance(type.__getattribute__(kind, "__getattribute__"), types.FunctionType)


def _is_nameless(value: Any) -> bool:
    """Return True if a class, or that of an object, was defined in a space without a name."""
    kind = value if is_instance(value, type) else type(value)
    made = bool(kind.__flags__ & _MADE_BY_STATEMENT)
    return made and vars(builtins).get(kind.__name__) is not kind


def shown(value: Any) -> str:
    """Return a value in a message: a number or text by its literal, a structure by its items.

    Of the user's own classes nothing runs.

    >>> shown(("a", 1.5)), shown(object())
    ("('a', 1.5)", '<object>')
    """
    kind = type(value)
    if isinstance(value, enum.Enum):
        return f"{printable(kind.__name__)}.{printable(value._name_)}"
    if isinstance(value, str):
        return quoted(value)
    if kind is int and abs(value) >= 10**_LONGEST:
        return "<int>"
    if kind in _PLAIN:
        return repr(value)
    if kind is tuple:
        items = [shown(item) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return f"<{printable(kind.__name__)}>"


def key_text(key: Any) -> str:
    """Return a key as it is shown: a text by its characters."""
    return printable(key) if isinstance(key, str) else shown(key)


def label(value: Any) -> str:
    """Return the name of a function or class in a message."""
    name = getattr(value, "__name__", None)
    if not isinstance(name, str) or not name:
        return printable(type(value).__name__)
    return printable(name.removeprefix("function "))  # of a Fortran routine


def class_label(cls: type) -> str:
    """Return the name of a class in Python's own messages.

    >>> import datetime
    >>> class_label(float), class_label(datetime.timedelta)
    ('float', 'datetime.timedelta')
    """
    bare = cls.__flags__ & _MADE_BY_STATEMENT or cls.__module__ == "builtins"
    return label(cls) if bare else f"{cls.__module__}.{label(cls)}"


def _normal(text: str) -> str:
    """Return the text in the form in which Python compares names."""
    return text if text.isascii() else str(unicodedata.normalize("NFKC", text))
