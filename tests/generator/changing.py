"""What lies outside a function, is read by it and changes between two calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from tests.generator.draws import Draws
from tests.generator.names import Module, Text


@dataclass(frozen=True)
class Outside:
    """Something outside: its text, how it is read (with ``{v}`` a number), how it changes."""

    text: str
    reads: tuple[str, ...]
    changes: tuple[str, ...]


FUNCTIONS = """
def rule(v, by=0.8, *, power=1):
    return np.sin(v * by) ** power

def other_rule(v, by=0.6, *, power=1):
    return np.cos(v) * by

def via(v):
    return rule(v) * 0.5
"""
SETTING = """
class Setting:
    rate = 0.3

    def __init__(self, gain):
        self.gain = gain

    def apply(self, v):
        return np.sin(v) * self.rate

    @property
    def both(self):
        return self.rate + self.gain

    @staticmethod
    def bend(v):
        return np.tanh(v)

    @classmethod
    def rated(cls, v):
        return v * cls.rate

    def __len__(self):
        return 2

class OtherSetting(Setting):
    rate = 0.9

    def apply(self, v):
        return np.cos(v) * self.gain

setting = Setting(0.4)
"""
MAKER = """
def maker(gain):
    def apply(v):
        return gain * np.sin(v)

    def adjust(to):
        nonlocal gain
        gain = to

    return apply, adjust

apply, adjust = maker(0.6)
"""
SPACE = """
@dataclass
class Conf:
    rate: float = 0.3
    table: object = None

    def scaled(self, v):
        return v * self.rate

space = types.SimpleNamespace(
    gain=0.4, inner=types.SimpleNamespace(q=0.2), items=[0.1, 0.5], bend=np.tanh
)
conf = Conf(0.7, {'p': 0.3})
point = namedtuple('Point', 'u v')(0.2, -0.6)
"""
WRAPPED = """
RATE = 0.6
HALF = [0.5]

def twice(fn):
    @functools.wraps(fn)
    def inner(v, *more):
        return 2.0 * fn(v, *more)
    return inner

@twice
def bent(v, by=1.0):
    return np.sin(v) * RATE * by

def steps(count):
    for k in range(count):
        yield k * RATE

class Func:
    def __init__(self, k):
        self.k = k

    def __call__(self, v):
        return np.cos(v) * self.k

class Base:
    k = 0.4

    def value(self, v):
        return v * self.k

class Derived(Base):
    def value(self, v):
        return super().value(v) + RATE

func = Func(0.5)
derived = Derived()
nested = lambda v: (lambda w: bent(w) + HALF[0])(v * 0.5)
"""
MEMBERS = """
import enum

class Mode(enum.Enum):
    FAST = 0.3
    SLOW = 0.8

class Amount:
    def __init__(self, size):
        self.size = size

    def __eq__(self, other):
        return isinstance(other, Amount) and self.size == other.size

    def __hash__(self):
        return 1

    def __float__(self):
        return self.size

class Place:
    scale = 0.4

class OtherPlace(Place):
    scale = 0.9

here, there = Place(), Place()
mode, chosen, amount = Mode.FAST, here, Amount(0.5)
modes, places = [Mode.FAST], {'first': here}
"""
IMPORTED = """
import sys

sys.modules['elsewhere_of_programs'] = types.ModuleType('elsewhere_of_programs')
sys.modules['elsewhere_of_programs'].rate = 0.3
sys.modules['elsewhere_of_programs'].bend = np.tanh

def with_name(v):
    from elsewhere_of_programs import rate
    return v * rate

def with_module(v):
    import elsewhere_of_programs as elsewhere
    return elsewhere.bend(v) + elsewhere.rate

def with_what_comes(v):
    try:
        from elsewhere_of_programs import later
    except ImportError:
        return v * 0.2
    return np.cos(v) * later

def with_later(v):
    try:
        return v * later_gain
    except NameError:
        return np.sin(v)

def with_builtin(v):
    return len((v, 0.3)) * v * 0.2
"""
OUTSIDE = (
    Outside(
        MEMBERS,
        ("mode.value * {v}", "({v} if mode is Mode.FAST else np.sin({v}))",
         "{Mode.FAST: 0.2, Mode.SLOW: 0.6}[mode] * {v}", "({v} if mode in (Mode.SLOW,) else 0.3)",
         "sum(each.value * {v} for each in Mode if each != mode)", "modes[0].value * {v}",
         "({v} if chosen is here else 0.2)", "({v} if chosen == there else np.cos({v}))",
         "({v} if places['first'] is chosen else 0.1)", "{here: 0.3, there: 0.7}[chosen] * {v}",
         "float(amount) * {v}", "({v} if amount == Amount(0.5) else 0.1)",
         "({v} if amount in (Amount(0.9),) else 0.3)", "type(chosen).scale * {v}",
         "({v} if type(chosen) is Place else 0.4)", "len(f'{amount.size}{mode}') * {v} * 0.05"),
        ("mode = Mode.SLOW", "modes[0] = Mode.SLOW", "chosen = there", "amount = Amount(0.9)",
         "amount.size = 0.25", "Place.scale = 0.7", "there.__class__ = OtherPlace",
         "places['first'] = there", "Amount.__eq__ = lambda self, other: True",
         "Amount.__float__ = lambda self: 0.1"),
    ),
    Outside(
        IMPORTED,
        ("with_name({v})", "with_module({v})", "with_what_comes({v})", "with_later({v})",
         "with_builtin({v})", "sum(map(with_name, [{v}, 0.4]))"),
        ("sys.modules['elsewhere_of_programs'].rate = 0.8",
         "sys.modules['elsewhere_of_programs'].bend = np.cos",
         "sys.modules['elsewhere_of_programs'].later = 0.6", "later_gain = 0.9",
         "len = lambda found: 3"),
    ),
    Outside(
        SPACE,
        ("space.gain * {v}", "space.inner.q * {v}", "sum(space.items) * {v}", "space.bend({v})",
         "space.items[-1] * {v}", "conf.scaled({v})", "conf.table['p'] * {v}", "point.v * {v}",
         "sum(each * {v} for each in point)", "replace(conf, rate={v}).scaled(0.3)",
         "(lambda one, two: one * two * {v})(*point)"),
        ("space.gain = 0.9", "space.inner.q = 0.8", "space.inner = types.SimpleNamespace(q=0.5)",
         "space.items.append(0.3)", "space.items = [0.7]", "space.bend = np.sin",
         "conf.rate = 0.1", "conf.table['p'] = 0.8", "conf = Conf(0.2, {'p': 0.1})",
         "point = point._replace(v=0.4)", "Conf.scaled = lambda self, v: v * self.rate * 0.5"),
    ),
    Outside(
        WRAPPED,
        ("bent({v})", "bent({v}, 0.4)", "sum(step * {v} for step in steps(3))", "func({v})",
         "sum(map(func, [{v}, 0.2]))", "derived.value({v})", "nested({v})",
         "Base.value(derived, {v})", "derived.k * {v}"),
        ("RATE = 0.2", "HALF[0] = 0.9", "func.k = 0.9", "Func.__call__ = lambda self, v: v * 0.3",
         "Base.k = 0.8", "Base.value = lambda self, v: np.sin(v)", "derived.k = 0.9",
         "Derived.value = Base.value", "func = Func(0.1)", "bent = twice(func)",
         "bent.__closure__[0].cell_contents = np.cos", "Derived.k = 0.1",
         "derived.value = func"),
    ),
    Outside(
        "GAIN = 0.8",
        ("GAIN * {v}", "(lambda own: own * GAIN)({v})", "({v} if GAIN > 0.7 else np.sin({v}))",
         "np.sum([GAIN * {v}, {v}])"),
        ("GAIN = 0.5", "GAIN = 2", "GAIN = np.float64(0.3)", "GAIN = np.array(0.4)"),
    ),
    Outside(
        "WEIGHTS = np.array([0.3, -0.4, 0.6])",
        ("np.sum(WEIGHTS * {v})", "WEIGHTS[0] * {v}", "sum(weight * {v} for weight in WEIGHTS)",
         "{v} * len(WEIGHTS) * 0.2", "(WEIGHTS @ WEIGHTS) * {v}"),
        ("WEIGHTS[0] = 0.9", "WEIGHTS[:] = WEIGHTS * 0.5", "WEIGHTS = np.array([0.2, 0.1])",
         "WEIGHTS = WEIGHTS[::-1]", "WEIGHTS = np.array([1, 2, 3])"),
    ),
    Outside(
        "TABLE = [0.3, 0.4]",
        ("sum(TABLE) * {v}", "TABLE[-1] * {v}", "len(TABLE) * {v} * 0.2",
         "sum([entry * {v} for entry in TABLE])", "sum(entry * {v} for entry in reversed(TABLE))",
         "sum(at * entry * {v} for at, entry in enumerate(TABLE))", "({v} if TABLE else 0.3)",
         "(0.2 if 0.4 in TABLE else {v})", "max(TABLE) * {v}"),
        ("TABLE.append(0.7)", "TABLE[0] = 0.9", "TABLE[:] = [0.1, 0.6]", "TABLE = [0.5, 0.6, 0.2]",
         "TABLE.pop()", "TABLE.reverse()"),
    ),
    Outside(
        "SETTINGS = {'p': 0.3, 'on': True, 'inner': {'q': 0.2}}",
        ("SETTINGS['p'] * {v}", "SETTINGS.get('r', 0.2) * {v}", "SETTINGS['inner']['q'] * {v}",
         "({v} if SETTINGS['on'] else np.sin({v}))", "({v} if 'r' in SETTINGS else 0.4)",
         "len(SETTINGS) * {v} * 0.2", "sum(len(key) for key in SETTINGS) * {v} * 0.1",
         "(lambda p, **rest: p * {v})(**SETTINGS)"),
        ("SETTINGS['p'] = 0.9", "SETTINGS['r'] = 0.5", "SETTINGS['on'] = False",
         "SETTINGS['inner']['q'] = 0.7", "SETTINGS['inner'] = {'q': 0.6}",
         "SETTINGS = {'p': 0.1, 'on': False, 'inner': {'q': 0.1}}"),
    ),
    Outside(
        FUNCTIONS,
        ("rule({v})", "via({v})", "rule({v}, power=2)", "sum(map(rule, [{v}, 0.3]))",
         "functools.reduce(lambda old, new: old + rule(new), [{v}, 0.2], 0.1)",
         "(rule if rule is not other_rule else np.cos)({v})", "max([0.2, {v}], key=rule)"),
        ("rule = other_rule", "rule.__defaults__ = (0.3,)", "rule.__kwdefaults__['power'] = 3",
         "rule.__code__ = other_rule.__code__", "rule = functools.partial(other_rule, by=0.5)"),
    ),
    Outside(
        FUNCTIONS + "\nHOOKS = [rule]\nPICK = {'a': rule}\n"
        "part = functools.partial(rule, by=0.4)\nop = np.sin\n",
        ("HOOKS[0]({v})", "sum(hook({v}) for hook in HOOKS)", "PICK['a']({v})", "part({v})",
         "op({v})",
         "sum([hook({v}) for hook in PICK.values()])"),
        ("HOOKS.append(other_rule)", "HOOKS[0] = other_rule", "PICK['a'] = other_rule",
         "PICK['b'] = other_rule", "part = functools.partial(other_rule, by=0.2)",
         "part.keywords['by'] = 0.9", "op = np.cos", "op = math.cos"),
    ),
    Outside(
        SETTING,
        ("setting.apply({v})", "setting.rate * {v}", "Setting.rate * {v}", "setting.both * {v}",
         "getattr(setting, 'extra', 0.2) * {v}", "({v} if hasattr(setting, 'extra') else 0.3)",
         "setting.bend({v})", "Setting.rated({v})", "len(setting) * {v} * 0.2",
         "({v} if isinstance(setting, OtherSetting) else np.sin({v}))",
         "({v} if setting else 0.3)"),
        ("setting.gain = 0.9", "setting.rate = 0.6", "Setting.rate = 0.1", "setting.extra = 0.7",
         "Setting.apply = lambda self, v: np.cos(v)", "setting.apply = np.tanh",
         "setting.__class__ = OtherSetting", "setting = OtherSetting(0.2)",
         "Setting.bend = staticmethod(np.cos)", "Setting.both = 0.3",
         "Setting.__len__ = lambda self: 0", "Setting.extra = 0.6",
         "Setting.rated = classmethod(lambda cls, v: np.sin(v))"),
    ),
    Outside(
        MAKER,
        ("apply({v})", "sum([apply(each) for each in ({v}, 0.3)])",
         "(lambda made: made({v}))(apply)"),
        ("adjust(0.2)", "adjust(np.float64(0.3))", "apply.__closure__[0].cell_contents = 0.9",
         "apply, _ = maker(0.1)"),
    ),
    Outside(
        "ALLOWED = {1, 2}\nPLACES = (0, 1)\nKIND = 'sine'\nLEVELS = 3\n",
        ("(0.3 if 2 in ALLOWED else {v})", "sum({v} * place for place in PLACES)",
         "(np.sin({v}) if KIND == 'sine' else {v})", "sum([{v} * 0.2 for _ in range(LEVELS)])",
         "np.linspace(0.0, 1.0, LEVELS)[-2] * {v}", "np.ones(LEVELS).sum() * {v} * 0.2"),
        ("ALLOWED.add(5); ALLOWED.discard(2)", "PLACES = (1, 2, 3)", "KIND = 'plain'",
         "LEVELS = 5"),
    ),
)  # fmt: skip


def outside(random: Random, module: Module) -> str:
    """What lies outside, and the function that changes some of it."""
    found = random.sample(OUTSIDE, random.choice((1, 2)))
    text = "\n".join(f.text for f in found).replace(FUNCTIONS, "")
    if any(FUNCTIONS in f.text for f in found):
        text = FUNCTIONS + text
    module.reads = tuple(read for f in found for read in f.reads if _smooth(read, module))
    lines = [line for f in found for line in random.sample(f.changes, random.choice((1, 2)))]
    lines.sort(key=_rebinds)  # what changes an object goes first: the name may get another one
    names = sorted({found[1] for line in lines if (found := _rebinding(line))})
    if names:
        lines.insert(0, f"global {', '.join(names)}")
    return text + "\ndef change():\n" + "\n".join(f"    {line}" for line in lines) + "\n"


_rebinding = re.compile(r"(\w+)(?:, _)? = ").match


def _rebinds(line: str) -> bool:
    return _rebinding(line) is not None


def _smooth(read: str, module: Module) -> bool:
    return not (module.analytic and ("max(" in read or "if" in read))


class Changing(Draws):
    """Adds what is read from outside."""

    def outside(self) -> None:
        """A number that depends on something outside."""
        self.module.marks.add("state outside")
        for _ in range(self.random.choice((1, 2))):
            read = self.random.choice(self.module.reads).replace("{v}", self.stored())
            self.reading(Text(f"np.tanh({read})", 1.0))
