"""``vars(x)``, ``x.__dict__``, and keywords by ``inspect.signature``."""

import copy
import dataclasses
import inspect
import types

import numpy as np
import pytest

from srcad import grad, gradient
from srcad.errors import SrcadError
from tests.language import assert_program, named


class Kernel:
    def __init__(self, width=1.0, height=2.0):
        self.width, self.height = width, height

    def __call__(self, x):
        return self.height * np.exp(-(x**2) / self.width)


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float = 3.0


PROTOTYPE = Kernel(2.0)
POINT = Point(2.0)


# ------------------------------------------------------------------ objects outside
def updated_keywords(t):
    return Kernel(**{**vars(PROTOTYPE), "width": t})(0.5)


def updated_copy(t):
    attributes = dict(vars(PROTOTYPE))
    attributes["width"] = t
    return Kernel(**attributes)(0.5)


def merged(t):
    return Kernel(**(vars(PROTOTYPE) | {"width": t}))(0.5)


def as_namespace(t):
    kernel = types.SimpleNamespace(**{**vars(PROTOTYPE), "width": t})
    return kernel.width**2 * kernel.height


def as_data_class(t):
    entries = {**dataclasses.asdict(POINT), "x": t}
    return entries["x"] ** 2 * dataclasses.replace(POINT, y=t).y


def weighted(t):
    return sum(k * value * t**k for k, value in enumerate(vars(PROTOTYPE).values(), 1))


# ------------------------------------------------------------------ objects made inside
def from_one_made_here(t):
    return Kernel(**{**vars(Kernel(t)), "height": t})(0.5)


def dict_follows_object(t):
    kernel = Kernel(t)
    attributes = vars(kernel)
    kernel.width = 2.0 * t
    return attributes["width"] ** 2


def object_follows_dict(t):
    kernel = Kernel(t)
    kernel.__dict__.update(width=t**3)
    vars(kernel)["height"] = t
    return kernel(0.5)


def copy_does_not_follow(t):
    kernel = Kernel(t)
    before = dict(vars(kernel))
    kernel.width = 3.0 * t
    return kernel.width**2 * before["width"]


def two_dicts_are_one(t):
    kernel = Kernel(t)
    both = [vars(kernel), vars(kernel)]
    both[0]["width"] = t**3
    return both[1]["width"]


def dict_read_in_a_function(t):
    def read():
        return attributes["width"]

    kernel = Kernel(t)
    attributes = vars(kernel)
    kernel.width = t**3
    return read()


def same_dict(t):
    kernel = Kernel(t)
    attributes = vars(kernel)
    both = copy.deepcopy([attributes, vars(kernel)])
    both[0]["width"] = t**2
    return both[1]["width"] * (attributes is vars(kernel)) + (attributes is vars(Kernel(t)))


# ------------------------------------------------------------------ keywords by the signature
def clone(estimator):
    names = inspect.signature(estimator.__class__.__init__).parameters
    return estimator.__class__(**{n: getattr(estimator, n) for n in names if n != "self"})


class Estimator:
    def __init__(self, alpha=1.0, kernel=None):
        self.alpha, self.kernel = alpha, kernel

    @classmethod
    def parameter_names(cls):
        init = getattr(cls.__init__, "deprecated_original", cls.__init__)
        parameters = inspect.signature(init).parameters.values()
        return sorted([p.name for p in parameters if p.name != "self" and p.kind != p.VAR_KEYWORD])

    def get_params(self):
        return {name: getattr(self, name) for name in self.parameter_names()}


def clone_with_its_parts(estimator):
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    parameters = estimator.get_params()
    for name, value in parameters.items():
        parameters[name] = clone_with_its_parts(value)
    return estimator.__class__(**parameters)


ESTIMATOR = Estimator(2.0, Estimator(3.0))


def cloned_outside(t):
    kernel = clone(PROTOTYPE)
    kernel.width = t
    return kernel(0.5)


def cloned_inside(t):
    return clone(Kernel(t, t**2))(0.5)


def cloned_with_parts(t):
    made = clone_with_its_parts(ESTIMATOR)
    made.kernel.alpha = t
    return made.alpha * made.kernel.alpha**2


def selected_keywords(t):
    given = {"width": t, "colour": "red"}
    known = inspect.signature(Kernel).parameters
    return Kernel(**{name: value for name, value in given.items() if name in known})(0.5)


def default_values(t):
    parameters = inspect.signature(Kernel.__init__).parameters
    return t**2 * sum(p.default for p in parameters.values() if p.default is not p.empty)


def without_self(t):
    return t**2 * len(inspect.signature(Kernel(t).__call__).parameters)


# ------------------------------------------------------------------ names of the function
def unread_names(t):
    squared = t * t
    names = locals()
    return squared * t


def shown_names(t):
    squared = t * t
    locals()
    return squared * t


PROGRAMS = [
    updated_keywords, updated_copy, merged, as_namespace, as_data_class, weighted,
    from_one_made_here, dict_follows_object, object_follows_dict, copy_does_not_follow,
    two_dicts_are_one, dict_read_in_a_function, same_dict, cloned_outside, cloned_inside,
    cloned_with_parts, selected_keywords, default_values, without_self, unread_names, shown_names,
]  # fmt: skip


@pytest.mark.parametrize(**named([(program, 0.7) for program in PROGRAMS]))
def test_program_with_attributes_as_dict_has_right_gradient(program):
    assert_program(*program)

    assert (vars(PROTOTYPE), ESTIMATOR.kernel.alpha) == ({"width": 2.0, "height": 2.0}, 3.0)


def test_attributes_of_an_object_outside_are_read_at_each_call():
    prototype = Kernel()
    gradient_ = grad(lambda t: sum(vars(prototype).values()) * t)

    values = [gradient_(0.7)]
    prototype.height = 5.0
    values.append(gradient_(0.7))
    prototype.depth = 4.0
    values.append(gradient_(0.7))

    assert values == [3.0, 6.0, 10.0]


def test_attributes_of_an_argument_have_derivatives():
    def weighted_sum(point):
        return sum(k * value**2 for k, value in enumerate(vars(point).values(), 1))

    (found,) = gradient(weighted_sum, Point(2.0, 5.0))

    assert (found.x, found.y) == (4.0, 20.0)


def test_signature_of_another_class_is_read_again():
    class Wide(Kernel):
        def __init__(self, width=1.0, height=7.0, offset=0.0):
            super().__init__(width, height)
            self.offset = offset

        def __call__(self, x):
            return super().__call__(x) + self.offset * self.width

    made = [Kernel(2.0), Wide(2.0, 3.0, 4.0)]
    gradient_ = grad(lambda t: clone(made[0])(t))
    before = gradient_(0.7)
    made[0] = made[1]

    slopes = [-2.0 * 0.7 / 2.0 * kernel.height * np.exp(-(0.7**2) / 2.0) for kernel in
              (Kernel(2.0), made[1])]  # fmt: skip
    assert [before, gradient_(0.7)] == pytest.approx(slopes, rel=1e-14)


def carried_by_a_loop(t, n):
    kernel = Kernel(t)
    attributes = vars(kernel)
    for _ in range(n):
        kernel.width = kernel.width * t
    return attributes["width"]


def with_a_property(t):
    class_ = Shown
    made = class_(t)
    vars(made)["double"] = 4.0
    return made.double


class Shown:
    def __init__(self, single):
        self.single = single

    @property
    def double(self):
        return 2.0 * self.single


def with_another_dict(t):
    kernel = Kernel(t)
    kernel.__dict__ = {"width": t**2, "height": 2.0}
    return kernel.width


def with_another_class(t):
    kernel = Kernel(t)
    kernel.__class__ = Estimator
    return kernel.width * (type(kernel) is Estimator)


def with_another_dict_outside(t):
    PROTOTYPE.__dict__ = {"width": t**2, "height": 2.0}
    return PROTOTYPE.width


def read_names(t):
    squared = t * t
    return locals()["squared"] * t


def names_read_by_another_function(t):
    names = locals()

    def read():
        return names["t"]

    return read() ** 2


@pytest.mark.parametrize(
    ("function", "rest"),
    [
        (carried_by_a_loop, (5,)),
        (with_a_property, ()),
        (with_another_dict, ()),
        (with_another_class, ()),
        (with_another_dict_outside, ()),
        (read_names, ()),
        (names_read_by_another_function, ()),
    ],
)
def test_dict_that_cannot_be_followed_is_refused(function, rest):
    with pytest.raises(SrcadError):
        grad(function)(0.7, *rest)
