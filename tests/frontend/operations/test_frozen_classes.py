"""Classes that say how attributes are written: frozen classes of attrs, and ``__setattr__``."""

import linecache
import types

import pytest

import srcad
from srcad.errors import SrcadError
from tests.language import assert_program, named


class FrozenInstanceError(AttributeError):
    pass


def refuse_write(self, name, value):
    raise FrozenInstanceError(name)


def refuse_delete(self, name):
    raise FrozenInstanceError(name)


def frozen(*, slots):
    """Return a decorator that makes a class as `attrs.frozen` does.

    The text of its ``__init__`` is registered in `linecache`, and writes past ``__setattr__``.
    """

    def made(cls):
        names = list(cls.__annotations__)
        default = {name: vars(cls)[name] for name in names if name in vars(cls)}
        parameters = [f"{n}=attr_dict[{n!r}].default" if n in default else n for n in names]
        write = "_setattr({0!r}, {0})" if slots else "_inst_dict[{0!r}] = {0}"
        body = ["_setattr = _cached_setattr_get(self)" if slots else "_inst_dict = self.__dict__"]
        body += [write.format(name) for name in names]
        if hasattr(cls, "__attrs_post_init__"):
            body.append("self.__attrs_post_init__()")
        head = f"def __init__(self, {', '.join(parameters)}):"
        text = "\n    ".join([head, *body]) + "\n"
        file = f"<attrs generated methods {__name__}.{cls.__name__}>"
        space = {
            "_cached_setattr_get": object.__setattr__.__get__,
            "attr_dict": {n: types.SimpleNamespace(default=v) for n, v in default.items()},
        }
        exec(compile(text, file, "exec"), space)
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        left_out = {"__dict__", "__weakref__", *default}
        members = {name: value for name, value in vars(cls).items() if name not in left_out}
        members |= {"__init__": space["__init__"], "__setattr__": refuse_write,
                    "__delattr__": refuse_delete}  # fmt: skip
        if slots:
            members["__slots__"] = (*names, "__weakref__")
        return type(cls.__name__, cls.__bases__, members)

    return made


@frozen(slots=True)
class Spring:
    stiffness: float
    length: float = 3.0

    def energy(self, x):
        return self.stiffness * x**2 + self.length * self.stiffness


@frozen(slots=False)
class Damper:
    rate: float
    power: float = 2.0

    def force(self, v):
        return self.rate * v**self.power


@frozen(slots=True)
class Doubled:
    value: float

    def __attrs_post_init__(self):
        object.__setattr__(self, "value", 2.0 * self.value)


class Positive:
    def __init__(self, value):
        self.value = value

    def __setattr__(self, name, value):
        if value < 0.0:
            raise ValueError(f"{name} is negative")
        super().__setattr__(name, value**2)


class Counted:
    def __init__(self, value):
        object.__setattr__(self, "writes", 0)
        self.value = value

    def __setattr__(self, name, value):
        self.__dict__["writes"] += 1
        self.__dict__[name] = value

    def __delattr__(self, name):
        self.value = 3.0 * self.value
        object.__delattr__(self, name)


SPRING = Spring(2.0)


def slots_class_made_inside(t):
    return Spring(t).energy(t) + Spring(t, length=t**2).energy(2.0) * SPRING.energy(t)


def dict_class_made_inside(t):
    return Damper(t, 3.0).force(t) + Damper(rate=t**2).force(t)


def class_that_continues_its_init(t):
    return Doubled(t).value ** 2


def classes_made_in_a_loop(t):
    return sum(Spring(t, k * t).energy(t) for k in range(3))


def write_that_is_refused_and_caught(t):
    spring = Spring(t)
    try:
        spring.length = 5.0
    except AttributeError:
        return spring.energy(t) ** 2
    return spring.energy(t)


def write_that_changes_the_value(t):
    box = Positive(t)
    box.value = box.value + t
    setattr(box, "other", t)  # noqa: B010
    return box.value * box.other


def write_into_the_dict(t):
    box = Counted(t)
    for k in range(2):
        box.value = box.value * t + k
    return box.value * box.writes


def delete_that_writes(t):
    box = Counted(t)
    box.more = t
    del box.more
    return box.value * box.writes + hasattr(box, "more")


PROGRAMS = [
    slots_class_made_inside, dict_class_made_inside, class_that_continues_its_init,
    classes_made_in_a_loop, write_that_is_refused_and_caught, write_that_changes_the_value,
    write_into_the_dict, delete_that_writes,
]  # fmt: skip


@pytest.mark.parametrize(**named([(program, 0.7) for program in PROGRAMS]))
def test_class_that_defines_writes_is_read(program):
    assert_program(*program)


def test_frozen_class_as_argument_is_differentiated():
    found, slope = srcad.gradient(lambda spring, x: spring.energy(x), Spring(2.0), 0.5)

    assert (found.stiffness, found.length, slope) == (3.25, 2.0, 2.0)


def written(t):
    spring = Spring(t)
    spring.length = t
    return spring.energy(t)


def deleted(t):
    spring = Spring(t)
    del spring.length
    return spring.stiffness


def negative(t):
    return Positive(-t).value


@pytest.mark.parametrize("program", [written, deleted, negative])
def test_error_of_a_write_is_that_of_the_class(program):
    with pytest.raises((AttributeError, ValueError)) as plain:
        program(0.7)
    with pytest.raises(type(plain.value)) as caught:
        srcad.grad(program)(0.7)

    assert not isinstance(caught.value, SrcadError)
    assert str(caught.value) == str(plain.value)
