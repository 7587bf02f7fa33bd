"""Copies of objects outside, and questions whether the module has a name."""

import copy

import numpy as np
import pytest

from srcad import grad
from srcad.errors import SrcadError
from tests.language import assert_program, named


class Kernel:
    def __init__(self, width=1.0, height=2.0):
        self.width, self.height = width, height

    def __call__(self, x):
        return self.height * np.exp(-(x**2) / self.width)


class Net:
    def __init__(self):
        self.kernel = Kernel()
        self.weights = np.array([1.0, 2.0, 3.0])
        self.law = np.sin

    def run(self, x):
        return np.sum(self.law(self.weights) * self.kernel(x))


PROTOTYPE = Kernel(2.0)
NET = Net()


def copied(t):
    k = copy.copy(PROTOTYPE)
    k.width = t
    return k(0.5)


def copied_deeply(t):
    k = copy.deepcopy(PROTOTYPE)
    k.width = t
    return k(0.5) + PROTOTYPE(t)


def copied_with_its_parts(t):
    net = copy.deepcopy(NET)
    net.weights[1] = t
    net.kernel.width = 2.0 * t
    return net.run(0.5) + t * NET.run(0.5)


def copied_part_by_part(t):
    net = copy.copy(NET)
    net.weights = net.weights * t
    net.kernel = copy.copy(net.kernel)
    net.kernel.width = t
    return net.run(0.5) + t * NET.run(0.5)


def copied_in_a_loop(t):
    total = 0.0
    for k in range(3):
        kernel = copy.copy(PROTOTYPE)
        kernel.width = kernel.width + t * k
        total = total + kernel(0.5)
    return total


def unknown_name(x):
    return x**3 if "EXTRA_CHECKS" not in globals() else x


def known_name(x):
    return sum(x**k if "PROTOTYPE" in globals() else 0.0 for k in range(3))


PROGRAMS = [
    copied, copied_deeply, copied_with_its_parts, copied_part_by_part, copied_in_a_loop,
    unknown_name, known_name,
]  # fmt: skip


@pytest.mark.parametrize(**named([(program, 0.7) for program in PROGRAMS]))
def test_program_with_copy_or_global_has_right_gradient(program):
    assert_program(*program)

    assert (PROTOTYPE.width, NET.kernel.width, *NET.weights) == (2.0, 1.0, 1.0, 2.0, 3.0)


def slope(kernel, t):
    return kernel.height * np.exp(-0.25 / t) * 0.25 / t**2


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy])
def test_copy_of_object_follows_changes_of_attributes(copying):
    prototype = Kernel()

    def f(t):
        k = copying(prototype)
        k.width = t
        return k(0.5)

    gradient = grad(f)
    assert gradient(0.7) == pytest.approx(slope(prototype, 0.7), rel=1e-14)
    prototype.height = 5.0
    assert gradient(0.7) == pytest.approx(slope(prototype, 0.7), rel=1e-14)
    prototype.label = "wide"
    assert gradient(0.7) == pytest.approx(slope(prototype, 0.7), rel=1e-14)


def test_copy_of_an_argument_has_right_gradient():
    def f(prototype, t):
        k = copy.copy(prototype)
        k.width = t
        return k(0.5)

    gradient = grad(f, wrt=1)

    for kernel in (PROTOTYPE, Kernel(1.0, 7.0)):
        assert gradient(kernel, 0.7) == pytest.approx(slope(kernel, 0.7), rel=1e-14)


def test_write_into_an_array_of_a_shallow_copy_is_refused():
    def f(t):
        net = copy.copy(NET)
        net.weights[1] = t
        return net.run(0.5)

    with pytest.raises(SrcadError, match="from outside the function"):
        grad(f)(0.7)


def test_deep_copy_of_an_object_with_two_names_for_a_part_is_refused():
    net = Net()
    gradient = grad(lambda t: written(copy.deepcopy(net), t))

    def written(made, t):
        made.weights[1] = t
        return np.sum(getattr(made, "same", made.weights) * made.weights)

    assert gradient(0.7) == pytest.approx(1.4, rel=1e-14)
    net.same = net.weights

    with pytest.raises(SrcadError):
        gradient(0.7)


def test_deep_copy_notes_that_two_parts_became_one():
    net = Net()
    net.other = np.array([1.0, 1.0, 1.0])

    def f(t):
        made = copy.deepcopy(net)
        made.weights[1] = t
        return np.sum(made.other * made.weights)

    gradient = grad(f)
    assert gradient(0.7) == 1.0
    net.other = net.weights

    with pytest.raises(SrcadError):
        gradient(0.7)


def test_copy_that_the_class_defines_is_not_made_by_attributes():
    class Doubled(Kernel):
        def __copy__(self):
            return Doubled(self.width, 2.0 * self.height)

    prototype = Doubled()

    def f(t):
        k = copy.copy(prototype)
        k.width = t
        return k(0.5)

    with pytest.raises(SrcadError):
        grad(f)(0.7)


def test_name_that_the_module_gets_later_is_noted():
    gradient = grad(unknown_name)
    assert gradient(0.7) == pytest.approx(3 * 0.7**2, rel=1e-14)

    globals()["EXTRA_CHECKS"] = True
    try:
        assert gradient(0.7) == 1.0
    finally:
        del globals()["EXTRA_CHECKS"]
    assert gradient(0.7) == pytest.approx(3 * 0.7**2, rel=1e-14)
