"""Uses of srcad in which type checkers find no mistake; it is checked, and not run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import srcad
from srcad import Numba, grad, value_and_grad

Array = NDArray[np.float64]


def loss(w: Array, x: float, *, scale: float = 1.0) -> float:
    return float(np.sum(w**2)) * x * scale


def vector(x: Array, t: float = 0.0) -> Array:
    return np.sin(x) + t


def quadratic(x: float) -> float:
    return 3.0 * x**2


w = np.ones(3)
g = grad(loss)
dw = g(w, 2.0)
dw = g(w, x=2.0, scale=3.0)
dw = grad(loss, wrt="w")(w, 1.0)
dw = grad(loss, wrt=(0, 1), backend="numpy")(w, 1.0)
both = grad(loss, wrt=["w", "x"])(w, 1.0)
value, slopes = value_and_grad(loss)(w, 2.0)
doubled: float = 2.0 * value
third = grad(grad(grad(quadratic)))(1.0)
j = srcad.jacobian(vector)(w)
j = srcad.jacfwd(vector, wrt="x")(w, t=1.0)
j = srcad.jacrev(vector)(w, 1.0)
h = srcad.hessian(loss)(w, 2.0)
hv = srcad.hvp(loss, wrt=0)
y, back = srcad.pullback(loss, w, 1.0)
total: float = y + 1.0
bars = back(1.0)
y_again, y_dot = srcad.jvp(vector, (w,), (w,))
each = srcad.elementwise_grad(vector)(w)
at_once = srcad.gradient(loss, w, 1.0)
compiled = grad(loss, backend="numba")
strict = grad(loss, backend=Numba(strict=True, wait=False, cache=None, parallel=False))
checked = grad(loss, check_finite=True)
report = srcad.inspect(loss, w, 1.0)
source: str = g.source
g.export("file.py", w, 1.0)


@srcad.differentiate
def cube(x: float, n: int = 3) -> float:
    return x**n


@srcad.differentiate(wrt="b")
def area(a: float, b: float) -> float:
    return a * b


c: float = cube(2.0)
c = cube(2.0, n=4)
dc = cube.grad(2.0)
vc, sc = cube.value_and_grad(2.0, n=2)
hc = cube.hessian(2.0)
s: float = area(1.0, b=2.0)
ds = area.grad(1.0, 2.0)


@srcad.checkpoint
def layer(x: Array, w: Array) -> Array:
    return np.tanh(x * w)


out: Array = layer(w, w)
out = layer(x=w, w=w)


@dataclass
class Spring:
    k: float

    def force(self, x: float) -> float:
        return -self.k * x

    @srcad.differentiate
    def energy(self, x: float) -> float:
        return 0.5 * self.k * x * x

    @srcad.checkpoint
    def power(self, x: float, n: int = 2) -> float:
        return self.k * x**n


spring = Spring(2.0)
f: float = spring.force(1.0)
df = grad(spring.force)(1.0)
dk = grad(Spring.force, wrt="self.k")(spring, 1.0)
e: float = spring.energy(1.0)
de = spring.energy.grad(1.0)
p: float = spring.power(1.0, n=3)


def train(objective: Callable[[Array], float], start: Array, rate: float = 0.1) -> Array:
    slope = grad(objective)
    for _ in srcad.checkpointed_range(10):
        start = start - rate * slope(start)
    return srcad.stop_gradient(start)


def objective(w: Array) -> float:
    return loss(w, 1.0)


best: Array = train(objective, w)
anything: Any = grad(np.sin)(1.0)
