"""Side effects of opaque calls: names of attributes and globals that they may change.

A function is searched together with all that it may call: the functions, classes and objects that
it names or is given, and the methods and properties of these under the names that it mentions.
A place outside may be changed if its name is written, and what holds it is in sight.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.source.definition import definition
from srcad.frontend.source.written_names import WrittenNames, written_by_code, written_outside
from srcad.startup.identifiers import is_instance, module_of
from srcad.startup.records import dataclass, field
from srcad.types.reading import namespace
from srcad.types.sources import is_filled

_MOST = 400
_DEEPEST = 4
_PLAIN = (int, float, complex, str, bytes, type(None))


@dataclass(eq=False)
class Effects:
    """The effects of a call: names written, and reachable objects, by identity.

    `others` are the names that are no attributes of a method's own object; `skipped` are the
    packages that change nothing of the user's; `cut` says that more was in sight than was looked
    at.  Of the special methods of the classes `asked` only those in `special` are run.
    """

    skipped: Collection[str]
    asked: Collection[type] = ()
    special: Collection[str] = ()
    names: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    classes: dict[type, None] = field(default_factory=dict)
    functions: dict[types.FunctionType, None] = field(default_factory=dict)
    seen: dict[int, Any] = field(default_factory=dict)
    cut: bool = False

    def reaches(self, owner: Any) -> bool:
        """Return True if an object may be one of those changed."""
        return self.cut or id(owner) in self.seen or isinstance(owner, types.ModuleType)

    def see(self, found: Any, depth: int = 0) -> None:
        """Take in a function, a class, or an object with what it holds."""
        self.cut = self.cut or len(self.seen) > _MOST or depth > _DEEPEST
        if self.cut or is_instance(found, _PLAIN) or id(found) in self.seen:
            return
        self.seen[id(found)] = found
        if is_instance(found, types.FunctionType):
            if not self._is_skipped(found):
                self.functions[found] = None
        elif is_instance(found, type):
            self._see_class(found)
        elif not is_instance(found, types.ModuleType | np.ndarray):
            self._see_class(type(found))
            for part in _parts(found):
                self.see(part, depth + 1)

    def _see_class(self, cls: type) -> None:
        for one in cls.__mro__:
            if not self._is_skipped(one):
                self.classes[one] = None
                self.seen[id(one)] = one

    def _is_skipped(self, found: Any) -> bool:
        return module_of(found).partition(".")[0] in self.skipped

    def search(self) -> None:
        """Search until nothing more is found."""
        done: set[types.FunctionType] = set()
        while True:
            for cls in tuple(self.classes):
                for name, member in tuple(vars(cls).items()):
                    if name in self.mentioned or self._is_run(cls, name):
                        self._see_member(member)
            new = [one for one in self.functions if one not in done]
            if not new:
                return
            for function in new:
                done.add(function)
                self._search(function)

    def _is_run(self, cls: type, name: str) -> bool:
        """Return True if a special method may be run, though nothing names it."""
        if cls in self.asked:
            return name in self.special
        return name[:2] == "__" and name != "__init_subclass__"

    def _see_member(self, member: Any) -> None:
        if isinstance(member, staticmethod | classmethod):
            self.see(member.__func__)
        elif isinstance(member, property):
            for part in (member.fget, member.fset, member.fdel):
                self.see(part)
        elif isinstance(member, functools.cached_property | functools.partialmethod):
            self.see(member.func)
        else:
            self.see(member)

    def take(self, written: WrittenNames, names: dict[str, Any]) -> None:
        """Add the names that a function mentions, and its globals."""
        self.names |= written.names
        self.others |= written.others
        self.mentioned |= written.mentioned
        for name in written.mentioned:
            self.see(names.get(name))

    def _search(self, function: types.FunctionType) -> None:
        # A wrapper that a skipped package makes has the module of the wrapped function, by `wraps`.
        if str(function.__globals__.get("__name__")).partition(".")[0] not in self.skipped:
            written = _written(function)
            written = written or written_by_code(function.__code__)
            self.take(written, function.__globals__)
        for cell in function.__closure__ or ():
            self.see(cell.cell_contents if is_filled(cell) else None)
        for part in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.see(part)


def _parts(found: Any) -> Iterator[Any]:
    """Yield the contents of an object."""
    if is_instance(found, types.MethodType):
        yield from (found.__func__, found.__self__)
    elif is_instance(found, functools.partial):
        yield from (found.func, *found.args, *found.keywords.values())
    elif is_instance(found, functools._lru_cache_wrapper):
        yield found.__wrapped__
    elif is_instance(found, dict):
        yield from dict.values(found)
    elif is_instance(found, list | tuple | set | frozenset):
        plain: Any = next(cls for cls in (list, tuple, set, frozenset) if is_instance(found, cls))
        yield from plain.__iter__(found)  # a class derived from it may count its own reads
    else:
        yield from namespace(found).values()


def _written(function: types.FunctionType) -> WrittenNames | None:
    try:
        node = definition(function).tree
    except errors.SrcadError:
        return None
    return written_outside(node) if isinstance(node, ast.FunctionDef | ast.Lambda) else None


def effects_of(function: Any, given: Iterable[Any], skipped: Collection[str]) -> Effects:
    """Return the state outside that a call may change, given some objects."""
    found = Effects(skipped)
    for one in (function, *given):
        found.see(one)
    found.search()
    return found


def effects_of_special_methods(
    objects: Collection[Any], names: Collection[str] | None, skipped: Collection[str]
) -> Effects:
    """Return the outside state that an operation may change through its operands.

    Parameters
    ----------
    objects : collection
        The operands that are functions or objects of users' classes.
    names : collection of str or None
        The special methods that the operation may run.  None: all that read an object, and it may
        call the functions.
    skipped : collection of str
        The packages that change nothing of the user's.
    """
    classes = {type(one): None for one in objects if not is_instance(one, types.FunctionType)}
    asked = tuple(dict.fromkeys(base for cls in classes for base in cls.__mro__))
    own = {
        name
        for base in asked
        if module_of(base).partition(".")[0] not in skipped
        for name, member in vars(base).items()
        if name[:2] == "__" and is_instance(member, types.FunctionType)
    }
    run = own - _OF_STATEMENTS if names is None else own.intersection(names)
    found = Effects(skipped, asked, run)
    for one in objects:
        if names is None if is_instance(one, types.FunctionType) else run:
            found.see(one)
    found.search()
    return found


# Special methods that statements run, and making and calling objects.
_OF_STATEMENTS = frozenset(
    ["__init__", "__post_init__", "__new__", "__init_subclass__", "__set_name__", "__del__",
     "__setattr__", "__delattr__", "__setitem__", "__delitem__", "__getattr__", "__getattribute__",
     "__enter__", "__exit__", "__aenter__", "__aexit__", "__get__", "__set__", "__delete__",
     "__call__", "__class_getitem__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
     "__copy__", "__deepcopy__"]
)  # fmt: skip
