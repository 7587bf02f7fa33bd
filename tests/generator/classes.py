"""Random classes of the user's: operators, items, calls, properties; and programs that use them."""

from __future__ import annotations

from random import Random

from tests.generator.names import Module, Text, Var
from tests.generator.raising import Raising
from tests.generator.writes import LARGEST

OTHER = "getattr(other, 'level', other)"

# Each method with the bodies that it may have; SAME stands for the class itself.
METHODS: dict[str, tuple[str, ...]] = {
    "__add__(self, other)": (
        "return SAME(np.tanh(self.level + OTHER), self.field)",
        "if isinstance(other, Graded):\n    return SAME(0.5 * (self.level + other.level), "
        "other.field)\nreturn SAME(np.sin(self.level) + 0.3 * np.cos(other), self.field * 0.9)",
        "made = copy.copy(self)\nmade.level = np.sin(made.level + OTHER)\nreturn made",
    ),
    "__radd__(self, other)": (
        "return self + other",
        "return self.__add__(0.5 * other)",
        "return SAME(np.cos(other) * self.level, self.field)",
    ),
    "__sub__(self, other)": (
        "if not isinstance(other, Graded):\n    return NotImplemented\n"
        "return SAME(0.5 * (self.level - other.level), self.field)",
        "return SAME(0.5 * self.level - np.sin(OTHER), self.field)",
    ),
    "__rsub__(self, other)": ("return SAME(np.sin(other) - 0.5 * self.level, self.field)",),
    "__mul__(self, other)": (
        "return SAME(self.level * np.sin(OTHER), np.cos(OTHER) * self.field)",
        "return SAME(self.squash(self.level * OTHER), self.field)",
    ),
    "__neg__(self)": (
        "return SAME(-self.level, self.field)",
        "return SAME(-self.level, -self.field)",
    ),
    "__iadd__(self, other)": (
        "self.level = np.tanh(self.level + OTHER)\nreturn self",
        "self.field[0] += 0.3 * np.sin(OTHER)\nself.level = 0.5 * self.level\nreturn self",
        "return SAME(0.5 * self.level + np.sin(OTHER), self.field)",
    ),
    "__imul__(self, other)": (
        "self.field *= np.cos(OTHER)\nreturn self",
        "self.level *= np.sin(OTHER)\nreturn self",
    ),
    "__getitem__(self, k)": ("return self.field[k] * self.rate", "return np.sin(self.field[k])"),
    "__setitem__(self, k, value)": (
        "self.field[k] = np.sin(value)",
        "self.field[k] = 0.5 * self.field[k] + np.tanh(value)\nself.level = 0.7 * self.level",
    ),
    "__len__(self)": ("return len(self.field)", "return 2"),
    "__iter__(self)": (
        "return iter(self.field)",
        "for e in self.field:\n    yield np.sin(e) * self.level",
        "yield self.level\nyield from self.field",
    ),
    "__call__(self, value, by=0.5)": (
        "return np.sin(value) * self.level * by",
        "self.level = np.tanh(self.level + by)\nreturn self.level * np.cos(value)",
    ),
    "__matmul__(self, other)": ("return np.mean(self.field * np.sin(other))",),
    "__bool__(self)": ("return bool(self.level > 0.1)",),
    "__lt__(self, other)": ("return self.level < OTHER",),
    "__enter__(self)": ("self.level = 0.5 * self.level\nreturn self",),
    "__exit__(self, *found)": ("self.level = np.sin(self.level)\nreturn False",),
}
ALWAYS = """
class Graded:
    rate = 0.7

    def __init__(self, level, field):
        self.level = level
        self.field = field

    @staticmethod
    def squash(value):
        return np.tanh(value)

    @classmethod
    def made(cls, value, size):
        return cls(np.sin(value) * cls.rate, np.ones(size) * value)

    @property
    def height(self):
        return self.level * self.rate

    @height.setter
    def height(self, value):
        self.level = self.squash(value)
"""
REFINED = (
    "    rate = 0.4\n",
    "    def __init__(self, level, field):\n"
    "        super().__init__(0.8 * level, field)\n"
    "        self.extra = np.sin(level)\n",
    "    @staticmethod\n    def squash(value):\n        return np.sin(value) * 0.9\n",
    "    @Graded.height.getter\n    def height(self):\n        return super().height + 0.2\n",
    "    def __neg__(self):\n        return type(self)(np.cos(self.level), self.field)\n",
)
PAIRED = (("__enter__", "__exit__"), ("__sub__", "__rsub__"), ("__setitem__", "__getitem__"))


def classes(random: Random, module: Module) -> str:
    """The text of a class and one that refines it; `module.methods` gets what they can do."""
    rough = {"__bool__", "__lt__"} if module.analytic else set()
    names = [m for m in METHODS if _bare(m) not in rough and random.random() < 0.7]
    chosen = {_bare(m) for m in names}
    for first, second in PAIRED:
        if first in chosen or second in chosen:
            chosen |= {first, second}
    if random.random() < 0.3 or "__add__" not in chosen:
        chosen -= {"__radd__"}
    parts = [ALWAYS.strip("\n")]
    for header, bodies in METHODS.items():
        if _bare(header) in chosen:
            body = random.choice(bodies).replace("OTHER", OTHER)
            body = body.replace("SAME", random.choice(("Graded", "type(self)", "self.__class__")))
            lines = "\n".join("        " + line for line in body.split("\n"))
            parts.append(f"    def {header}:\n{lines}\n")
    if "__mul__" in chosen and random.random() < 0.7:
        parts.append("    __rmul__ = __mul__\n")
        chosen.add("__rmul__")
    if chosen & {"__getitem__", "__iter__", "__len__"} or random.random() < 0.5:
        parts.append("    __array_ufunc__ = None\n")  # NumPy would take a sequence for an array
    refined = random.sample(REFINED[:4] + (REFINED[4:] if "__neg__" in chosen else ()), 2)
    module.methods = frozenset(chosen)
    return "\n".join(parts) + "\n\nclass Steep(Graded):\n" + "\n".join(refined)


def _bare(header: str) -> str:
    return header.split("(")[0]


class Classes(Raising):
    """Adds objects with operators."""

    def graded(self) -> None:
        """An object of a class of the user's: made, changed by operators, read."""
        self.module.marks.add("class with operators")
        var = self.named("graded")
        if var is None or self.chance(0.3):
            var = self.new_graded()
        for _ in range(self.random.choice((1, 2, 3))):
            self.operated(var)
        self.reading(Text(self.read_graded(var.name), 6.0))

    def new_graded(self) -> Var:
        n = self.module.length
        kind = self.random.choice(("Graded", "Graded", "Steep"))
        array = self.buffer((n,)).name
        forms = [f"{kind}({self.stored()}, {array})", f"{kind}({self.stored()}, {array} * 0.5)"]
        forms.append(f"{kind}.made({self.stored()}, {n})")
        var = Var(self.new_name(), "graded", bound=LARGEST)
        self.emit(f"{var.name} = {self.random.choice(forms)}")
        self.bind(var)
        return var

    def operated(self, var: Var) -> None:
        """One line that changes an object or binds its name anew."""
        name, v, k = var.name, self.stored(), self.index(self.module.length)
        second = self.named("graded")
        other = second.name if second and self.chance(0.5) else name
        forms = {
            "": [f"{name}.height = {v}", f"{name}.level *= {self.positive_below_one()}"],
            "__add__": [f"{name} = {name} + {v}", f"{name} = {name} + {other}"],
            "__radd__": [f"{name} = {v} + {name}", f"{name} = sum([{name}, {other}], {v})"],
            "__rsub__": [f"{name} = {v} - {name}", f"{name} = {name} - {other}"],
            "__mul__": [f"{name} = {name} * {v}", f"{name} = {name} * {other}"],
            "__rmul__": [f"{name} = {v} * {name}"],
            "__neg__": [f"{name} = -{name}"],
            "__iadd__": [f"{name} += {v}", f"{name} += {other}", self.aliased(name, "+=", v)],
            "__imul__": [f"{name} *= {v}", self.aliased(name, "*=", v)],
            "__setitem__": [f"{name}[{k}] = {v}", f"{name}[{k}] += 0.3 * {v}"],
            "__enter__": [f"with {name}:\n    {name}.level = 0.5 * {name}.level + {v}"],
        }
        if "__add__" in self.module.methods and "__iadd__" not in self.module.methods:
            forms["__add__"] += [f"{name} += {v}", self.aliased(name, "+=", v)]
        lines = [x for key, found in forms.items() if self.can(key) for x in found]
        for line in self.random.choice(lines).split("\n"):
            self.emit(line)

    def can(self, method: str) -> bool:
        """Whether the class has a method; an empty name stands for what every class has."""
        return not method or method in self.module.methods

    def aliased(self, name: str, op: str, value: str) -> str:
        """An operation in place through another name, which is seen through the first."""
        other = self.fresh("o")
        return f"{other} = {name}\n{other} {op} {value}\n{name}.level += 0.2 * {other}.level"

    def read_graded(self, name: str) -> str:
        """A number made of an object."""
        v, i, n = self.stored(), self.fresh("i"), self.module.length
        forms = {
            "": [f"{name}.height + {name}.field[0]", f"{name}.level * type({name}).rate",
                 f"Steep.squash({name}.level)", f"getattr({name}, 'extra', {v})"],
            "__add__": [f"({name} + {v}).level"],
            "__rsub__": [f"({v} - {name}).height", f"({name} - {name}).level"],
            "__mul__": [f"np.mean(({name} * {v}).field)"],
            "__neg__": [f"(-{name}).level"],
            "__getitem__": [f"{name}[{self.index(n)}]"],
            "__len__": [f"len({name}) * {name}.level * 0.3"],
            "__iter__": [f"sum(0.3 * {i} for {i} in {name})",
                         f"np.mean([{i} for {i} in {name}])"],
            "__call__": [f"{name}({v})", f"{name}({v}, by={name}.level)"],
            "__matmul__": [f"{name} @ {self.buffer((n,)).name}"],
            "__bool__": [f"({name}.level if {name} else {v})", f"(0.4 if not {name} else {v})"],
            "__lt__": [f"({v} if {name} < 0.3 else {name}.level)"],
        }  # fmt: skip
        lines = [x for key, found in forms.items() if self.can(key) for x in found]
        return " + ".join(f"0.5 * ({line})" for line in self.random.sample(lines, 2))
