"""Containers that are registered with `optree`: differentiated by their children.

A class says there how its objects are taken apart, into children and metadata, and put together
again.  A derivative by such an object is one by its children: the function is read with the object
put together of them, the metadata is constant, and a gradient is a node with the same metadata.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad import errors
from srcad.arguments.request import Parameter, anchor_of, name_of, parameters_of
from srcad.arguments.signature import described_parts
from srcad.arguments.wrt import POSITIONAL, WrtEntry
from srcad.calling.cache import Entry, Family, record_of
from srcad.calling.patterns import Failure, Pattern
from srcad.errors import ExportError, SeedError, UnsupportedTypeError
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    Structure,
    TupleValue,
)
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import mappings
from srcad.frontend.store.lookup import value_of_object
from srcad.ir.primitives import rebuilt
from srcad.startup.identifiers import label
from srcad.startup.records import dataclass, field
from srcad.types.reading import looked_up, signature
from srcad.types.structures import Opaque

# A function of nodes that `optree` knows: read with each put together of its children.


def called(
    state: Machine,
    form_of: Callable[[int | str], Any],
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a function with the arguments put together."""
    given = tuple(_made(state, form_of(k), box) for k, box in enumerate(args))
    named = {name: _made(state, form_of(name), box) for name, box in kwargs.items()}
    return apply(state, function, given, named)


def _made(state: Machine, form: Any, box: AbstractValue) -> AbstractValue:
    """Return a value of a form, of the box of its parts."""
    if form is None:
        return box
    assert isinstance(box, TupleValue)
    parts = tuple(_made(state, f, part) for f, part in zip(form.parts, box.items, strict=True))
    if form.cls in (OrderedDict, defaultdict):
        keys, factory = form.metadata
        if any(isinstance(part, Structure) for part in parts):
            state.refuse(
                errors.UnsupportedTypeError,
                f"cannot differentiate by a {label(form.cls)!r} that holds containers",
                why="it is read as a dict to which any key may be added: its values have one kind.",
                help=("pass a plain dict:  dict(d)",),
            )
        made_by = Constant(None) if factory is None else value_of_object(state, factory, None)
        return mappings.library_dict(state, form.cls, keys, parts, made_by)
    if form.make is not None:
        made = apply(
            state,
            value_of_object(state, form.make, None),
            (_known(state, form.metadata), TupleValue(parts)),
            {},
        )
        if not isinstance(made, RecordValue | DictValue | ListValue | TupleValue):
            state.refuse(
                errors.UnsupportedTypeError,
                f"cannot tell what is in a {label(form.cls)!r} that optree puts together",
                why="the function that does so was not read.",
                help=("write it in Python:  cls(*children)",),
            )
        return made
    if form.cls is list:
        return ListValue(parts)
    if form.cls is dict:
        return DictValue(form.keys, parts)
    return TupleValue(parts) if form.cls is tuple else RecordValue(form.cls, form.keys, parts)


def _known(state: Machine, value: Any) -> AbstractValue:
    """Metadata, which is constant."""
    if type(value) is tuple:
        return TupleValue(tuple(_known(state, part) for part in value))
    if type(value) is list:
        return ListValue(tuple(_known(state, part) for part in value))
    if type(value) is dict:
        return DictValue(tuple(value), tuple(_known(state, part) for part in value.values()))
    return value_of_object(state, value, None) if not isinstance(value, float) else Constant(value)


_MODES = frozenset(
    {"grad", "value_and_grad", "elementwise_grad", "pullback", "jvp", "hvp"}
)  # of which the answer has the structure of the arguments
_LEAVES = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic)
_OWN = frozenset({"NONE", "TUPLE", "LIST", "DICT", "NAMEDTUPLE", "STRUCTSEQUENCE"})


@dataclass(frozen=True)
class Form:
    """How a value is put together of its parts; `make` is None for a plain container."""

    cls: type
    keys: Any
    metadata: Any
    make: Any
    parts: tuple[Form | None, ...]


class _Library:
    """How a dict of the `collections` of Python is taken apart; its keys are metadata."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def flatten_func(self, value: Any) -> tuple[tuple[Any, ...], Any]:
        """Return the values, and the keys with what makes missing values."""
        return tuple(value.values()), (tuple(value), getattr(value, "default_factory", None))

    def unflatten_func(self, metadata: Any, parts: Sequence[Any]) -> Any:
        """Return a dict of these values."""
        keys, factory = metadata
        pairs = zip(keys, parts, strict=True)
        return defaultdict(factory, pairs) if self.cls is defaultdict else OrderedDict(pairs)


_LIBRARY = {cls: _Library(cls) for cls in (OrderedDict, defaultdict)}


def registration(cls: type) -> Any:
    """How the objects of a class are taken apart; None for leaves and plain containers.

    That is what the registry of `optree` says, where it is loaded, but for the dicts of Python's
    library, which are taken apart also without it.

    Raises
    ------
    UnsupportedTypeError
        Several namespaces know the class.
    """
    if cls in _LIBRARY:
        return _LIBRARY[cls]
    registry = sys.modules.get("optree.registry")
    if registry is None:
        return None
    found = registry.register_pytree_node.get(cls)
    if found is None:
        known = getattr(registry, "_NODETYPE_REGISTRY", {})
        named = [known[key] for key in list(known) if isinstance(key, tuple) and key[1] is cls]
        if len(named) > 1:
            raise UnsupportedTypeError(
                f"{label(cls)!r} is registered with optree in several namespaces",
                why="each may take its objects apart otherwise.",
                help="register it once, in the global namespace or in one of them",
            )
        found = named[0] if named else None
    return None if found is None or found.kind.name in _OWN else found


def split_into_children(value: Any) -> tuple[Any, Form | None]:
    """Return a value with the children of each node in its place, and its form.

    None if it holds none.
    """
    cls = type(value)
    found = None if isinstance(value, _LEAVES) else registration(cls)
    if found is not None:
        children, metadata, *_ = found.flatten_func(value)
        parts = [split_into_children(child) for child in children]
        forms = tuple(form for _, form in parts)
        return tuple(flat for flat, _ in parts), Form(
            cls, None, metadata, found.unflatten_func, forms
        )
    keys: Any = None
    if cls is list:
        held: Sequence[Any] = value
    elif cls is dict or isinstance(value, tuple):
        split = described_parts(value)
        if split is None:
            return value, None
        keys, held = split[0], split[1]
    else:
        return value, None
    parts = [split_into_children(part) for part in held]
    if all(form is None for _, form in parts):
        return value, None
    return tuple(flat for flat, _ in parts), Form(cls, keys, None, None, tuple(f for _, f in parts))


def put_together(flat: Any, form: Form | None) -> Any:
    """Return a value of such a form, of its parts; None stays, where nothing flows."""
    if form is None or flat is None:
        return flat
    parts = tuple(put_together(part, f) for part, f in zip(flat, form.parts, strict=True))
    if form.make is not None:
        return form.make(form.metadata, parts)
    return list(parts) if form.cls is list else rebuilt(form.cls, form.keys, parts)


def like(value: Any, form: Form | None, what: str) -> Any:
    """Return the parts of a direction, which has the form of what it belongs to.

    Raises
    ------
    SeedError
        It has another one.
    """
    if form is None or value is None:
        return value
    flat, own = split_into_children(value)
    if own is None or own.cls is not form.cls or len(own.parts) != len(form.parts):
        raise SeedError(
            f"{what} is a {label(type(value))} where a {label(form.cls)} is",
            why="a direction has the structure of the argument that it belongs to.",
            help="map over the argument:  optree.tree_map(np.ones_like, params)",
        )
    return flat


# --------------------------------------------------------------------------------- entries
class WithNodes:
    """A function of arguments that are taken apart, each of a form of its own.

    Functions of one code that have the same forms share what was compiled: they have one `token`.
    """

    def __init__(self, function: Any, forms: Mapping[str, Form], token: int) -> None:
        self.function = function
        self.forms = forms
        self.token = token
        self.__name__ = name_of(function)
        self.__module__ = looked_up(function, "__module__") or ""

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function."""
        return signature(self.function)

    def __srcad_anchor__(self) -> tuple[Any, tuple[Any, ...]]:
        """By what compilations are kept."""
        anchor, how = anchor_of(self.function)
        return anchor, ("nodes", self.token, *how)

    def __srcad_called__(self, state: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """Interpret a call inside a function that is read."""
        return called(state, self.form_of, function, args, kwargs)

    def form_of(self, key: int | str) -> Form | None:
        """Return the form of an argument of a call, by position or by name."""
        fixed, rest = _places(parameters_of(self.function) or ())
        if isinstance(key, int) and key >= len(fixed):
            return _part(self.forms.get(rest), key - len(fixed))
        name = fixed[key] if isinstance(key, int) else key
        return self.forms.get(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the arguments put together."""
        given = [put_together(flat, self.form_of(k)) for k, flat in enumerate(args)]
        named = {name: put_together(flat, self.form_of(name)) for name, flat in kwargs.items()}
        return self.function(*given, **named)


def _places(parameters: Sequence[Parameter]) -> tuple[list[str], str]:
    """Return the names of the positional parameters, and that of ``*args``."""
    rest = [p.name for p in parameters if p.kind is Parameter.VAR_POSITIONAL]
    return [p.name for p in parameters if p.kind in POSITIONAL], rest[0] if rest else ""


def _part(form: Form | None, key: Any) -> Form | None:
    if form is None:
        return None
    part: Form | None = form.parts[key if form.keys is None else form.keys.index(key)]
    return part


_TOKENS = itertools.count()


@dataclass(eq=False)
class _Delegate:
    """Runs a derivative by nodes: that by their children, compiled for each set of forms.

    It holds no function: closures of one code share it.
    """

    family: Family
    places: Sequence[WrtEntry]
    known: list[tuple[dict[str, Form], int]] = field(default_factory=list)

    def inner(self, function: Any, arguments: Sequence[Any]) -> tuple[WithNodes, Family, list[Any]]:
        """Return the function of the parts, its family, and the parts."""
        forms: dict[str, Form] = {}
        flats = list(arguments)
        for k in {place.parameter for place in self.places}:
            flats[k], form = split_into_children(arguments[k])
            if form is not None:
                forms[self.family.parameters[k].name] = form
        token = next((one for other, one in self.known if other == forms), None)
        if token is None:
            token = next(_TOKENS)
            self.known.append((forms, token))
        made = WithNodes(function, forms, token)
        record, how = record_of(made)
        request, parameters = self.family.request, self.family.parameters
        return made, record.family(made, request, how, parameters, self.family.compile), flats

    def run(self, *given: Any) -> Any:
        """Return the answer for arguments with nodes; the function comes last."""
        *arguments, function = given
        made, family, flats = self.inner(function, arguments)
        found = family.found(made, flats)
        if isinstance(found, Failure):
            raise found.error from None
        forms = [self.form_at(made, place) for place in self.places]
        return self.answered(found(), forms)

    def form_at(self, made: WithNodes, place: WrtEntry) -> Form | None:
        """Return the form of one thing that is differentiated by."""
        form = made.forms.get(self.family.parameters[place.parameter].name)
        return form if place.item is None else _part(form, place.item)

    def answered(self, answer: Any, forms: list[Form | None]) -> Any:
        """Return an answer in which nodes stand for their children again."""
        request = self.family.request
        together = partial(_together, forms=forms, single=request.single)
        match request.mode:
            case "value_and_grad":
                return answer[0], together(answer[1])
            case "pullback":
                y, back, *aux = answer
                return (y, partial(_nodes_of, together, back), *aux)
            case "jvp":
                return lambda tangents: answer(_flat(tangents, forms, "a tangent"))
            case "hvp":
                return lambda v: self._product(answer, v, forms, together)
        return (together(answer[0]), answer[1]) if request.has_aux else together(answer)

    def _product(
        self, answer: Any, v: Any, forms: list[Form | None], together: Callable[[Any], Any]
    ) -> Any:
        """Return the product with a direction."""
        single, has_aux = self.family.request.single, self.family.request.has_aux
        given = (v,) if single else v
        if not isinstance(given, tuple | list) or len(given) != len(forms):
            return answer(v)  # which is refused
        flat = _flat(given, forms, "a direction")
        found = answer(flat[0] if single else flat)
        return (together(found[0]), found[1]) if has_aux else together(found)


def _together(answer: Any, forms: Sequence[Form | None], single: bool) -> Any:
    if single:
        return put_together(answer, forms[0])
    return tuple(put_together(flat, form) for flat, form in zip(answer, forms, strict=True))


def _nodes_of(together: Callable[[Any], Any], back: Callable[..., Any], *seed: Any) -> Any:
    """Return the cotangents that a pullback gives for a seed, as nodes."""
    return together(back(*seed))


def _flat(values: Sequence[Any], forms: Sequence[Form | None], what: str) -> tuple[Any, ...]:
    return tuple(like(value, form, what) for value, form in zip(values, forms, strict=True))


def entry_for_nodes(family: Family, function: Any, arguments: Sequence[Any]) -> Entry | None:
    """Return the entry for arguments that hold registered nodes; None where none of them does.

    It is asked only if `optree` is loaded, or a dict of Python's library is among them.
    """
    request = family.request
    if request.mode not in _MODES or isinstance(function, WithNodes):
        return None
    named = dict(zip((p.name for p in family.parameters), arguments, strict=True))
    passed = {p.name: named[p.name] for p in family.parameters if p.kind not in POSITIONAL}
    places = request.places(function, family.parameters, passed)
    if any(place.steps for place in places):
        return None
    if all(split_into_children(arguments[place.parameter])[1] is None for place in places):
        return None
    delegate = _Delegate(family, places)
    made, inner, flats = delegate.inner(function, arguments)
    artifact = inner.entry_for(made, flats).artifact
    anything = tuple(Opaque(type(value)) for value in arguments)
    pattern = Pattern(anything, captures=(((), Opaque()),))
    return Entry(pattern, delegate.run, artifact, family.parameters, why="a node of optree")


def refuse_export(entry: Entry, name: str) -> None:
    """Refuse to write a derivative by nodes to a file.

    Raises
    ------
    ExportError
        This is one.
    """
    if isinstance(getattr(entry.run, "__self__", None), _Delegate):
        raise ExportError(
            f"the derivative of {name!r} by a node of optree cannot be written to a file",
            why="what takes the node apart is registered in this process.",
            help="export the derivative of a function of the node's children",
        )


def for_checks(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return a function and arguments without metadata that could count as a number."""
    parameters = parameters_of(function) or ()
    names, rest = _places(parameters)
    parts = [split_into_children(arg) for arg in args]
    if rest or all(form is None for _, form in parts):
        return function, args
    forms = {name: form for name, (_, form) in zip(names, parts, strict=False) if form is not None}
    return WithNodes(function, forms, next(_TOKENS)), tuple(flat for flat, _ in parts)
