"""Names and texts of the user's objects never become code, whatever characters they have."""

import collections
import dataclasses
import enum
import itertools
import linecache
import types

import numpy as np
import pytest

import srcad
from srcad.errors import SourceUnavailableError, SrcadError, WrtError
from srcad.startup.identifiers import (
    attribute_text,
    dotted,
    identifier,
    is_name,
    plain,
    printable,
    quoted,
    shown,
)
from srcad.testing import check_grads
from tests.marks import some

NUMBERS = itertools.count()
RAN = []  # what a hostile name would append to


class Text(str):
    """A text that runs code where it is formatted, shown or added."""

    __slots__ = ()

    def _run(self, *_):
        RAN.append("method")
        return "RAN.append('text')"

    __repr__ = __str__ = __format__ = __add__ = __radd__ = _run

    def isidentifier(self):
        return True


NAMES = [
    "x): RAN.append(1) #",
    "x if RAN.append(1) else x",
    "x) or RAN.append(1) or (1",
    "a b",
    "class",
    "None",
    "\N{LATIN SMALL LIGATURE FI}",
    "\N{FEMININE ORDINAL INDICATOR}",
    "x\ny",
    "x\u2028y",
    "x'\"\\",
    "",
    "1a",
    "__debug__",
    "__x__",
    "\ud800",
    "a\0b",
    Text("scale"),
    Text("x): RAN.append(1) #"),
]


class Box:
    """Anything with attributes."""


def box(name, value=2.0):
    made = Box()
    made.__dict__[name] = value
    return made


def written(body, name="f", **space):
    """A function from its text, which is at hand for the compiler."""
    file = f"<hostile {next(NUMBERS)}>"
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    found = {"np": np, "RAN": RAN, **space}
    exec(compile(body, file, "exec"), found)
    return found[name]


def reads_an_attribute(name):
    return written("def f(x):\n    return x * getattr(o, n) * x\n", o=box(name), n=name), (3.0,)


def reads_an_attribute_of_an_argument(name):
    f = written("def f(x, o):\n    return x * getattr(o, n) * x\n", n=name)
    return f, (3.0, box(name))


def reads_an_array_of_an_argument(name):
    f = written("def f(x, o):\n    return x * np.sum(getattr(o, n)) * x\n", n=name)
    return f, (3.0, box(name, np.ones(2)))


def reads_attributes_of_attributes(name):
    o = box(name, box(name, box(name)))
    body = "def f(x):\n    return x * getattr(getattr(getattr(o, n), n), n) * x\n"
    return written(body, o=o, n=name), (3.0,)


def asks_for_an_attribute(name):
    body = "def f(x):\n    return x * x if hasattr(o, n) and not hasattr(o, 'no') else x\n"
    return written(body, o=box(name), n=name), (3.0,)


def takes_a_default_for_an_attribute(name):
    return written("def f(x):\n    return x * getattr(o, n, 2.0) * x\n", o=Box(), n=name), (3.0,)


def sets_an_attribute(name):
    body = "def f(x):\n    o = Box()\n    setattr(o, n, x * x)\n    return getattr(o, n) * 2\n"
    return written(body, Box=Box, n=name), (3.0,)


def sets_an_attribute_in_a_loop(name):
    body = (
        "def f(x):\n    o = Box()\n    setattr(o, n, x)\n    for _ in range(3):\n"
        "        setattr(o, n, getattr(o, n) * x)\n    return getattr(o, n)\n"
    )
    return written(body, Box=Box, n=name), (3.0,)


def reads_an_attribute_of_every_item(name):
    body = (
        "def f(x):\n    s = 0.0\n    for o in many:\n"
        "        s += getattr(o, n) * x * x\n    return s\n"
    )
    return written(body, many=[box(name) for _ in range(3)], n=name), (3.0,)


def reads_a_member_of_a_module(name):
    module = types.ModuleType("module")
    module.__dict__[name] = 2.0
    return written("def f(x):\n    return x * getattr(m, n) * x\n", m=module, n=name), (3.0,)


def reads_an_attribute_of_a_function(name):
    h = written("def h(x):\n    return x\n", "h")
    h.__dict__[name] = 2.0
    return written("def f(x):\n    return x * getattr(h, n) * h(x)\n", h=h, n=name), (3.0,)


def calls_a_method(name):
    h = written("def h(self, x):\n    return x * x\n", "h")
    o = type("C", (), {plain(name): h})()
    return written("def f(x):\n    return getattr(o, n)(x)\n", o=o, n=name), (3.0,)


def calls_an_object(name):
    call = written("def h(self, x):\n    return x * getattr(self, n) * x\n", "h", n=name)
    o = type("C", (), {"__call__": call})()
    o.__dict__[name] = 2.0
    return o, (3.0,)


def reads_a_key(name):
    return written("def f(x, d):\n    return x * d[n] * x\n", n=name), (3.0, {name: 2.0})


def reads_a_key_of_a_global(name):
    return written("def f(x):\n    return x * d[n] * x\n", d={name: 2.0}, n=name), (3.0,)


def goes_over_keys(name):
    body = "def f(x):\n    s = x\n    for k in d:\n        s = s * d[k]\n    return s * x\n"
    return written(body, d={name: 2.0, "other": 3.0}), (3.0,)


def passes_keywords(name):
    body = "def g(**kw):\n    return kw[n] * kw[n]\ndef f(x):\n    return g(**{n: x})\n"
    return written(body, n=name), (3.0,)


def passes_keywords_to_code_that_is_not_read(name):
    h = eval("lambda **kw: 2.0 * len(kw)")
    return written("def f(x):\n    return x * h(a=1, **{n: 1}, b=2) * x\n", h=h, n=name), (3.0,)


def names_a_field_of_a_dataclass(name):
    cls = dataclasses.make_dataclass("D", [("a", float), ("b", float)])
    first = cls.__dataclass_fields__["a"]
    first.name = name
    cls.__dataclass_fields__ = {name: first, "b": cls.__dataclass_fields__["b"]}
    made = cls(2.0, 3.0)
    made.__dict__[name] = 2.0
    return written("def f(x, d):\n    return x * d.b * x\n"), (3.0, made)


def names_a_field_of_a_named_tuple(name):
    cls = collections.namedtuple("N", "a b")  # noqa: PYI024 - its fields are renamed
    setattr(cls, plain(name), cls.a)
    cls._fields = (name, "b")
    return written("def f(x, t):\n    return x * t[0] * t[1] * x\n"), (3.0, cls(2.0, 3.0))


def names_a_field_that_is_not_there(name):
    cls = collections.namedtuple("N", "a b")  # noqa: PYI024 - its fields are renamed
    cls._fields = (name, "b")
    return written("def f(x):\n    return x * t[0] * x\n", t=cls(2.0, 3.0)), (3.0,)


def names_the_class(name):
    o = box("v")
    o.__class__ = type("C", (), {"__module__": name, "__qualname__": name})
    return written("def f(x, o):\n    return x * o.v * x\n"), (3.0, o)


def names_the_function(name):
    f = written("def f(x):\n    return x * x\n")
    f.__name__ = f.__qualname__ = f.__module__ = name
    return f, (3.0,)


def names_a_helper(name):
    f = written("def h(x):\n    return x * x\ndef f(x):\n    return h(x) * 2\n")
    helper = f.__globals__["h"]
    helper.__name__ = helper.__qualname__ = helper.__module__ = name
    return f, (3.0,)


def names_a_helper_that_is_not_read(name):
    h = eval("lambda x: 2.0")
    h.__name__ = h.__qualname__ = h.__module__ = name
    return written("def f(x):\n    return h(1.0) * x * x\n", h=h), (3.0,)


def names_the_file(name):
    body = "def f(x):\n    y = np.sin(x)\n    return y * x\n"
    file = f"<file {plain(name)}>"
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    code = compile(body, "file", "exec").co_consts[0].replace(co_filename=file)
    return types.FunctionType(code, {"np": np}), (3.0,)


def names_a_parameter(name):
    f = written("def f(x):\n    return x * x\n")
    f.__code__ = f.__code__.replace(co_varnames=(plain(name),))
    return f, (3.0,)


def names_a_free_variable(name):
    f = written("def g(v):\n    def f(x):\n        return x * v * x\n    return f\n", "g")(2.0)
    f.__code__ = f.__code__.replace(co_freevars=(plain(name),))
    return f, (3.0,)


def names_the_code(name):
    f = written("def f(x):\n    return x * x\n")
    f.__code__ = f.__code__.replace(co_name=name)
    return f, (3.0,)


def names_a_default(name):
    f = written("def f(x, *, a=2.0):\n    return x * a * x\n")
    f.__kwdefaults__ = {"a": 2.0, name: 3.0}
    return f, (3.0,)


def names_a_field_of_a_dtype(name):
    name = "q" if plain(name) in ("", "\ud800", "a\0b") else plain(name)
    a = np.full(3, 2.0).view([(name, float)])
    return written("def f(x, a):\n    return x * np.sum(a[n]) * x\n", n=name), (3.0, a)


def returns_a_key(name):
    return written("def f(x):\n    return {n: x * x}[n] * x\n", n=name), (3.0,)


PLACES = [
    found for label, found in list(globals().items())
    if isinstance(found, types.FunctionType) and found.__code__.co_varnames[:1] == ("name",)
    and label != "box"
]  # fmt: skip


def names_at(place, part):
    """A fifth of the names, another fifth at the next place."""
    return NAMES[(PLACES.index(place) + part) % 5 :: 5]


@pytest.mark.parametrize("part", some(range(5), 1))
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_hostile_name_never_executed(place, part):
    wrong = []
    for name in names_at(place, part):
        f, args = place(name)
        value, step = f(*args), 1e-6
        slope = (f(3.0 + step, *args[1:]) - f(3.0 - step, *args[1:])) / (2 * step)
        RAN.clear()

        try:
            found = srcad.value_and_grad(f)(*args)
            again = srcad.value_and_grad(f)(*args)
            shown_code = srcad.inspect(f, *args)
            _ = repr(shown_code), shown_code.ssa, shown_code.adjoint_ssa
        except SrcadError as error:  # what cannot be read is refused
            found = again = (value, pytest.approx(slope, rel=1e-6))
            _ = str(error)

        if RAN or found != again or found != (value, pytest.approx(slope, rel=1e-6)):
            wrong.append((plain(name), list(RAN), found))

    assert not wrong


def test_unusual_names_accepted():
    for place in (reads_an_attribute, sets_an_attribute, calls_a_method, reads_a_key):
        for name in NAMES:
            f, args = place(name)

            assert srcad.grad(f)(*args) != 0


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_error_message_quotes_hostile_name(name):
    f = written("def f(x):\n    return x * x\n")
    RAN.clear()

    with pytest.raises(WrtError) as caught:
        srcad.grad(f, wrt=name)(3.0)

    assert not RAN
    assert quoted(name) in str(caught.value)


def test_suggested_remedy_contains_no_injected_code():
    h = eval("lambda x: x * x")
    h.__name__ = h.__qualname__ = "f)\nimport os  #"
    f = written("def f(x):\n    return h(x)\n", h=h)

    with pytest.raises(SrcadError) as caught:
        srcad.grad(f)(3.0)

    assert not any("import os" in remedy for remedy in caught.value.help)


def test_invalid_parameter_identifier_rejected():
    f, args = names_a_parameter("x): RAN.append(1) #")

    with pytest.raises(SourceUnavailableError, match="made by a program"):
        srcad.grad(f)(*args)


@pytest.mark.parametrize(
    "name", ["_next", "_type", "_run", "_found", "_missing", "_k1", "bind", "_fits", "_getattr"]
)
def test_function_named_like_dispatcher_internal(name):
    f = written(f"def {name}(x, k=2.0):\n    return x * x * k\n", name)

    assert srcad.grad(f)(3.0) == 12.0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2

    def __repr__(self):
        return "colour"


class Same(str):
    __slots__ = ()

    def __repr__(self):
        return "same"


class Shy:
    def __repr__(self):
        raise RuntimeError("nobody may see this")

    __str__ = __repr__


LOOK_ALIKE = {
    "members": (Colour.RED, Colour.BLUE),
    "texts": (Same("a"), Same("b")),
    "objects": (Shy(), Shy()),
}


@pytest.mark.parametrize("keys", LOOK_ALIKE.values(), ids=LOOK_ALIKE)
def test_similar_unicode_keys_distinguished(keys):
    body = (
        "def f(x):\n    return x * d[a] * x + d[b] * x\n"
        "def g(d):\n    return d[a] * d[a] * d[b]\n"
        "def h(x):\n    s = 0.0\n    for k in d:\n        s += d[k] * x * x\n    return s\n"
    )
    a, b = keys
    d = {a: 2.0, b: 5.0}
    f = written(body, "f", d=d, a=a, b=b)
    space = f.__globals__

    assert srcad.value_and_grad(f)(3.0) == (33.0, 17.0)
    assert srcad.value_and_grad(space["h"])(3.0) == (63.0, 42.0)
    assert list(srcad.grad(space["g"])(d).values()) == [20.0, 4.0]


def test_string_enum_member_as_attribute_name():
    class Name(str, enum.Enum):
        SCALE = "scale"

    f = written("def f(x):\n    return x * getattr(o, n) * x\n", o=box("scale"), n=Name.SCALE)

    assert srcad.grad(f)(3.0) == 12.0


def test_non_string_attribute_name_raises_type_error():
    f = written("def f(x):\n    return x * getattr(x, 3)\n")

    with pytest.raises(TypeError, match="attribute name must be string, not 'int'"):
        srcad.grad(f)(3.0)


def test_check_grads_of_result_with_hostile_keys():
    for name in NAMES:
        f = written("def f(x):\n    return {n: x * x, 'b': x}\n", n=name)
        RAN.clear()

        check_grads(f, [3.0])

        assert not RAN


def test_code_fragments_are_names_or_literals():
    for name in NAMES:
        RAN.clear()
        o = box(plain(name), 7.0)

        assert eval(attribute_text("o", name), {"o": o}) == 7.0
        assert eval(quoted(name)) == plain(name)
        assert identifier(name).isidentifier()
        assert is_name(identifier(name))
        assert printable(name).isprintable()
        assert shown(name) == quoted(name)
        assert dotted(name) == "..." or is_name(plain(name))
        assert not RAN
