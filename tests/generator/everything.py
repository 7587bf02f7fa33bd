"""What programs with all features have beside the spine: classes, helpers that write, arguments."""

from __future__ import annotations

from random import Random

from tests.generator.names import Module, Mutator, Shape, Var
from tests.generator.writers import AnyWriter

FAMILIES = (
    "store", "inplace", "out", "at", "copied", "view", "alias", "rows", "sweep", "helper", "list",
    "dict", "nested", "object", "exception", "argument", "twice", "operators", "draws", "outside",
)  # fmt: skip

HEADER = "import copy\nimport types\nfrom dataclasses import dataclass, replace\n"

PIECES = {
    "Box(": """
class Box:
    def __init__(self, level, field):
        self.level = level
        self.field = field

    def shift(self, amount):
        self.level = 0.5 * self.level + amount
        self.field[0] += 0.3 * np.sin(amount)

    @property
    def total(self):
        return np.sum(self.field)
""",
    "State(": """
@dataclass
class State:
    level: float
    field: object
""",
    "Unsuitable": """
class Unsuitable(ValueError):
    pass
""",
    "strict(": """
def strict(value, limit=0.8):
    if value > limit:
        raise Unsuitable('beyond the limit')
    return np.sin(value) * 0.9
""",
    "push(": """
def push(items, value):
    items.append(value)
""",
    "three(": """
def three(first, second, last):
    return 0.5 * first - 0.3 * second * last + 0.2 * last
""",
    "tell(": """
def tell(items, mark, value):
    items.append(mark)
    return value
""",
    "sample(": """
def sample(rng, scale, size=2):
    return np.mean(rng.normal(size=size)) * scale
""",
}


def families(random: Random, size: int, features: str) -> tuple[str, ...]:
    """The families of a program, the more the larger it is; ``a,b`` of these only."""
    pool = FAMILIES if features == "all" else tuple(features.split(","))
    return tuple(random.sample(pool, min((2, 3, 3)[size - 1], len(pool))))


def pieces(text: str) -> list[str]:
    """The classes and functions that a program's text needs, in the order of their use."""
    needed = "strict(" in text
    return [
        piece for word, piece in PIECES.items() if word in text or (needed and word == "Unsuitable")
    ]


def mutator(random: Random, module: Module, name: str) -> str:
    """A function that writes into its first argument, perhaps in branches and loops."""
    writer = AnyWriter(random, module)
    writer.repeated, writer.limit, writer.busy = True, 10, 2
    n, m = module.length, module.rows
    shape: Shape = random.choice(((n,), (n,), (n,), (m, n)))
    y, s = writer.fresh("y"), writer.fresh("a")
    second = writer.fresh("other") if random.random() < 0.25 else None
    array = Var(y, shape=shape)
    for var in (array, Var(s, bound=2.0), *([Var(second, shape=shape)] if second else [])):
        writer.bind(var)
    if second:
        writer.emit(f"{y}[...] += 0.3 * np.sin({second})")
    form = random.randrange(6)
    if form <= 1:
        for _ in range(random.choice((1, 2))):
            writer.write(array)
    elif form == 2:
        writer.open_budget(4)
        with writer.block(f"if {writer.condition()}:"):
            writer.write(array)
        if random.random() < 0.5:
            with writer.block("else:"):
                writer.write(array)
    elif form == 3:
        _loop(writer, array, f"for {{k}} in range({y}.shape[0]):", f"{y}[{{k}}]")
    elif form == 4:
        _loop(writer, array, f"for {{k}} in range(1, len({y})):", f"{y}[{{k}} - 1]")
    else:
        _counted(writer, array)
    returns = _returned(writer, array, s)
    module.mutators.append(Mutator(name, shape, s, returns, second is not None))
    parameters = ", ".join(p for p in (y, second, f"{s}={writer.constant()}") if p)
    return "\n".join([f"def {name}({parameters}):", *writer.lines])


def _loop(writer: AnyWriter, array: Var, header: str, target: str) -> None:
    k = writer.fresh("k")
    writer.loops += 1
    with writer.block(header.format(k=k)):
        writer.bind(Var(k, "int"))
        if writer.chance(0.4):
            writer.open_budget(3)
            with writer.block(f"if {writer.condition()}:"):
                writer.emit(writer.random.choice(("break", "continue")))
        if writer.chance(0.5):
            writer.emit(writer.changed(target.format(k=k), array.shape[1:], assign=0.4))
        else:
            writer.write(array)
    writer.loops -= 1


def _counted(writer: AnyWriter, array: Var) -> None:
    k = writer.fresh("k")
    writer.emit(f"{k} = 0")
    writer.loops += 1
    with writer.block(f"while {k} < {writer.random.randrange(1, 4)}:"):
        writer.bind(Var(k, "int"))
        writer.write(array)
        writer.emit(f"{k} += 1")
        if writer.chance(0.4):
            writer.open_budget(3)
            with writer.block(f"if {writer.condition()}:"):
                writer.emit("break")
    writer.loops -= 1


def _returned(writer: AnyWriter, array: Var, number: str) -> Shape | None:
    form = writer.random.random()
    if form < 0.4:
        return None
    if form < 0.7:
        writer.emit(f"return {array.name}")
        return array.shape
    if form < 0.8:
        writer.emit(f"return {array.name}[::-1]")
        return array.shape
    writer.emit(f"return {array.name}[0].sum() * 0.3 + {number}")
    return ()


# -------------------------------------------------------------------------------- arguments
def second(random: Random, module: Module) -> tuple[str, Shape]:
    """An argument that is the array ``x`` again, or a view of it."""
    n = module.length
    if random.random() < 0.6:
        module.marks.add("same array twice")
        return "x", (n,)
    module.marks.add("overlapping arguments")
    return random.choice((("x[::-1]", (n,)), ("x[1:]", (n - 1,)), ("x[:-1]", (n - 1,))))


def summed(names: list[str], lines: list[str]) -> str:
    """A function that returns an array, and the one that sums it."""
    listed = ", ".join(names)
    field = "\n".join([f"def field({listed}):", *lines])
    return f"{field}\n\n\ndef f({listed}):\n    return np.sum(field({listed})) * 0.3"
