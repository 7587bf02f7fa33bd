"""Data classes that are cheap to define behave as those of the standard library."""

import copy
import dataclasses
import inspect
import pickle

import pytest

from srcad.startup.records import dataclass, field, once, replace


@dataclass(frozen=True)
class Base:
    a: int
    b: int = 2


@dataclass(frozen=True, kw_only=True)
class Named(Base):
    c: list = field(default_factory=list)
    d: int = field(default=7, compare=False, repr=False)


@dataclass(eq=False)
class Loose:
    x: int
    y: dict = field(default_factory=dict)
    z: int = field(init=False, default=5)

    def __post_init__(self):
        self.x += 1


@dataclass(frozen=True)
class Own:
    x: object

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return True

    def __repr__(self):
        return "own"


def test_values_and_defaults():
    assert (Base(1).a, Base(1).b, Base(a=1, b=3).b) == (1, 2, 3)
    assert Named(1, c=[1]).c == [1]
    assert Named(1).c is not Named(1).c
    assert (Loose(1).x, Loose(1).z) == (2, 5)


@pytest.mark.parametrize("call", [lambda: Base(), lambda: Base(1, 2, 3), lambda: Named(1, 2, [3])])
def test_wrong_calls_raise(call):
    with pytest.raises(TypeError, match="__init__"):
        call()


def test_later_record_instances_equal_first():
    @dataclass(frozen=True)
    class Many(Base):
        c: list = field(default_factory=list)

    every = [Many(1, b=3) for _ in range(100)]

    assert {repr(one) for one in every} == {repr(every[0])}
    assert every[0] == every[-1]
    assert len({id(one.c) for one in every}) == 100
    for wrong in [{}, {"a": 1, "x": 2}]:
        with pytest.raises(TypeError, match="__init__"):
            Many(**wrong)


def test_equality_hash_and_repr():
    assert Base(1) == Base(1, 2) != Base(2)
    assert hash(Base(1)) == hash(Base(1, 2))
    assert Base(1) != Named(1)
    assert Named(1, d=8) == Named(1)
    assert repr(Named(1)) == "Named(a=1, b=2, c=[])"
    assert Loose(1) != Loose(1)
    assert len({Loose(1), Loose(1)}) == 2


def test_record_keeps_user_defined_methods():
    assert (repr(Own(1)), hash(Own(1)), Own(1) == Own(2)) == ("own", 1, True)


def test_frozen_record_rejects_assignment():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Base(1).a = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Base(1).a
    Loose(1).x = 3


def test_dataclasses_functions_accept_records():
    assert dataclasses.replace(Named(1), b=9) == Named(1, 9)
    assert [f.name for f in dataclasses.fields(Named)] == ["a", "b", "c", "d"]
    assert dataclasses.is_dataclass(Base)
    assert dataclasses.asdict(Base(1)) == {"a": 1, "b": 2}
    assert Base.__match_args__ == ("a", "b")
    match Base(1):
        case Base(a, b):
            assert (a, b) == (1, 2)


def test_patterns_take_fields_by_position():
    @dataclass(frozen=True)
    class Derived(Base):
        b: int = 5
        e: int = field(default=1, kw_only=True)

    match Derived(1):
        case Derived(a, b):
            assert (a, b) == (1, 5)
    assert Derived.__match_args__ == ("a", "b")
    assert [f.name for f in dataclasses.fields(Derived)] == ["a", "b", "e"]


def test_copying_and_pickling():
    assert pickle.loads(pickle.dumps(Base(1, 5))) == Base(1, 5)
    assert copy.deepcopy(Base(1)) == Base(1)


def test_replace_discards_cached_properties():
    @dataclass(frozen=True)
    class Sum:
        a: int
        b: int = 2

        @once
        def total(self):
            return self.a + self.b

    one = Sum(1)
    assert (one.total, one.total, vars(one)["total"]) == (3, 3, 3)

    other = replace(one, b=4)

    assert (other, other.total, one.total) == (Sum(1, 4), 5, 3)


def test_replaces_as_the_standard_library_does():
    loose = Loose(1)

    assert vars(replace(loose, y={1: 2})) == {"x": 3, "y": {1: 2}, "z": 5}
    assert replace(Named(1, c=[1], d=8), a=2).d == 8
    for name in ("z", "w"):
        with pytest.raises((TypeError, ValueError)):
            replace(loose, **{name: 1})


class Plain(Base):
    def __init__(self, q):
        super().__init__(q)


@pytest.mark.parametrize(
    ("cls", "shown"),
    [
        (Base, "(a, b=2)"),
        (Named, "(a, b=2, *, c=<object MISSING>, d=7)"),
        (Own, "(x)"),
        (Plain, "(q)"),
    ],
)
def test_signature_shows_parameters_before_the_first_instance(cls, shown):
    found = str(inspect.signature(cls)).replace(repr(dataclasses.MISSING), "<object MISSING>")

    assert found == shown
