"""What the generator knows of a name: its kind, its shape, how large it can become."""

from __future__ import annotations

from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Text:
    """An expression as text, with a bound on its magnitude."""

    code: str
    bound: float


@dataclass(frozen=True)
class Var:
    """A name in scope.

    `kind` is ``float`` (a number or an array: see `shape`), ``int``, ``tuple``, ``floats`` (a list
    of numbers), ``arrays`` (a list of arrays of one shape), ``dict``, ``function``, ``record``,
    ``mixed`` (a number on one path and an array on another), ``owned`` (an array with one name),
    ``graded`` (an object with operators) or ``rng`` (a random number generator).
    """

    name: str
    kind: str = "float"
    shape: Shape = ()
    bound: float = 1.0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Param:
    """A parameter of a helper."""

    name: str
    shape: Shape = ()
    default: str | None = None
    keyword_only: bool = False
    kind: str = "float"


@dataclass(frozen=True)
class Helper:
    """A function at the top of the module that later functions may call."""

    name: str
    params: tuple[Param, ...]
    bound: float = 2.0
    results: int = 1
    shape: Shape = ()


@dataclass(frozen=True)
class Mutator:
    """A function at the top of the module that writes into its first argument.

    `returns` is the shape of what it returns, ``None`` if it returns nothing; `second` says whether
    it reads a second array; `keyword` is the name of its number.
    """

    name: str
    shape: Shape
    keyword: str
    returns: Shape | None = None
    second: bool = False


@dataclass
class Module:
    """What the functions of one program share."""

    analytic: bool
    length: int
    rows: int
    size: int = 2
    families: tuple[str, ...] = ()
    helpers: list[Helper] = field(default_factory=list)
    mutators: list[Mutator] = field(default_factory=list)
    methods: frozenset[str] = frozenset()
    reads: tuple[str, ...] = ()
    marks: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
