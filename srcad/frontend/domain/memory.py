"""Alias information: the memory of values, and the lists that hold an object."""

from __future__ import annotations

from srcad.frontend.domain.access_paths import Step
from srcad.frontend.domain.values import AbstractValue
from srcad.ir.core import Atom, Location, Value
from srcad.ir.definitions import DisjointSets
from srcad.startup.records import dataclass, field
from srcad.types.sources import Path


@dataclass(frozen=True)
class Origin:
    """The arrays that a value may share memory with, and how it is reached from the only one.

    A list or tuple is an object too; `holds` are the arrays that it may hold.
    """

    objects: frozenset[Value]
    steps: tuple[Step, ...] | None = ()
    holds: frozenset[Value] = frozenset()

    @property
    def everything(self) -> frozenset[Value]:
        """The arrays that a write through the value, or through an item of it, may reach."""
        return self.objects | self.holds

    @property
    def is_exact(self) -> bool:
        """True if it is known which memory the value shows."""
        return self.steps is not None and len(self.objects) == 1


NOWHERE = Origin(frozenset())


@dataclass(frozen=True, eq=False)
class Either:
    """The values on the path where the test held (`left`), and on the other one.

    The two stand for their memory and types only: they may be out of sight.
    """

    test: Atom
    left: Atom
    right: Atom


@dataclass(frozen=True, eq=False)
class Element:
    """An object that a list holds at an index (None: it is not known where).

    `where` is the place where it went into the list, or was read from it; `inner` says that it is
    a part of an object that the list holds.
    """

    container: Value | None
    index: AbstractValue | None
    where: Location | None
    inner: bool = False


@dataclass(eq=False)
class Objects:
    """Alias information on the objects of one function.

    `families` joins lists that may hold the same objects, `newer` leads from a list to its next
    version, `repeated` are lists that may hold one object twice (or share it with another list),
    `resized` those that were made longer or shorter, `wanted` those of which an item was to be
    written whose place was not known, `arguments` the caller's objects that are written into;
    `stopped` the objects that `stop_gradient` has made others of, and these;
    `classes` tells how the classes of objects that were made are reached.  `names` has the first
    version of an object by its later ones; None of what is one object on one path and another on
    the other.  `compared` are the first versions of objects that were compared by identity.
    """

    elements: dict[AbstractValue, Element] = field(default_factory=dict)
    families: DisjointSets[Value] = field(default_factory=DisjointSets)
    newer: dict[Value, Value] = field(default_factory=dict)
    repeated: list[Value] = field(default_factory=list)
    resized: list[AbstractValue] = field(default_factory=list)
    wanted: list[AbstractValue] = field(default_factory=list)
    arguments: dict[Value, Location | None] = field(default_factory=dict)
    classes: dict[type, Path | None] = field(default_factory=dict)
    stopped: list[AbstractValue] = field(default_factory=list)
    names: dict[AbstractValue, AbstractValue | None] = field(default_factory=dict)
    compared: set[AbstractValue | None] = field(default_factory=set)

    def name_of(self, box: AbstractValue) -> AbstractValue | None:
        """Return the first version of an object; None where it is not known which object it is."""
        return self.names.get(box, box)

    def copy(self) -> Objects:
        """Return a snapshot of the current information."""
        return Objects(**{name: part.copy() for name, part in vars(self).items()})
