"""Programs whose parameters are objects: models, kernels, bodies, states, trees.

Each entry of `PROGRAMS` makes a function and its arguments, all of which hold floats somewhere.
"""

import abc
import copy
import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

PROGRAMS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {}


R = [np.random.default_rng(3)]


def program(make):
    """Enter a program, whose random numbers are its own."""

    def made():
        R[0] = np.random.default_rng(3)
        return make()

    PROGRAMS[make.__name__] = made
    return make


def n(*shape):
    """Random numbers."""
    return R[0].normal(size=shape)


class Module:
    def __call__(self, *a):
        return self.forward(*a)

    def parameters(self):
        raise NotImplementedError


class Linear(Module):
    def __init__(self, i, o):
        self.weight = n(o, i) / math.sqrt(i)
        self.bias = np.zeros(o)

    def forward(self, x):
        return x @ self.weight.T + self.bias


class ReLU(Module):
    def forward(self, x):
        return np.maximum(x, 0)


class Tanh(Module):
    def forward(self, x):
        return np.tanh(x)


class Sequential(Module):
    def __init__(self, *mods):
        self.mods = mods

    def forward(self, x):
        for m in self.mods:
            x = m(x)
        return x


class MLP(Module):
    def __init__(self):
        self.net = Sequential(Linear(4, 5), ReLU(), Linear(5, 3), Tanh())
        self.temp = 0.7

    def forward(self, x):
        return self.net(x) / self.temp


def softmax_xent(model, x, y):
    logits = model(x)
    logits = logits - np.max(logits, axis=1, keepdims=True)
    logp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(y)), y])


@program
def mlp():
    return softmax_xent, (MLP(), n(6, 4), np.array([0, 1, 2, 0, 1, 2]))


class RNNCell:
    def __init__(self, i, h):
        self.Wx, self.Wh, self.b = n(h, i), 0.5 * n(h, h), n(h)

    def step(self, h, x):
        return np.tanh(self.Wx @ x + self.Wh @ h + self.b)


class RNN:
    def __init__(self, i, h, o):
        self.cell = RNNCell(i, h)
        self.out = Linear(h, o)
        self.h0 = np.zeros(h)

    def run(self, xs):
        h, ys = self.h0, []
        for x in xs:
            h = self.cell.step(h, x)
            ys.append(self.out(h))
        return np.stack(ys)


def rnn_loss(model, xs, ys):
    return np.mean((model.run(xs) - ys) ** 2)


@program
def rnn():
    return rnn_loss, (RNN(3, 4, 2), n(5, 3), n(5, 2))


class LSTM:
    def __init__(self, i, h):
        self.gates = {k: (n(h, i + h), n(h)) for k in "ifog"}
        self.h = h

    def gate(self, k, v):
        W, b = self.gates[k]
        return W @ v + b

    def __call__(self, xs):
        h = c = np.zeros(self.h)
        for x in xs:
            v = np.concatenate([x, h])
            i, f, o = (1 / (1 + np.exp(-self.gate(k, v))) for k in "ifo")
            c = f * c + i * np.tanh(self.gate("g", v))
            h = o * np.tanh(c)
        return h


@program
def lstm():
    return (lambda m, xs: np.sum(m(xs) ** 2)), (LSTM(2, 3), n(4, 2))


@dataclass
class Attention:
    Wq: np.ndarray
    Wk: np.ndarray
    Wv: np.ndarray
    heads: int = 2

    def __call__(self, x):
        T, d = x.shape
        dh = d // self.heads
        q, k, v = (
            (x @ W).reshape(T, self.heads, dh).transpose(1, 0, 2)
            for W in (self.Wq, self.Wk, self.Wv)
        )
        s = q @ k.transpose(0, 2, 1) / np.sqrt(dh)
        s = np.exp(s - s.max(axis=-1, keepdims=True))
        a = s / s.sum(axis=-1, keepdims=True)
        return (a @ v).transpose(1, 0, 2).reshape(T, d)


@dataclass
class Block:
    attn: Attention
    w1: np.ndarray
    w2: np.ndarray
    norm: "LayerNorm"

    def __call__(self, x):
        x = x + self.attn(self.norm(x))
        return x + np.tanh(x @ self.w1) @ self.w2


@dataclass
class LayerNorm:
    g: np.ndarray
    b: np.ndarray
    eps: float = 1e-5

    def __call__(self, x):
        mu = x.mean(axis=-1, keepdims=True)
        var = ((x - mu) ** 2).mean(axis=-1, keepdims=True)
        return self.g * (x - mu) / np.sqrt(var + self.eps) + self.b


@program
def attention():
    blocks = [
        Block(Attention(n(4, 4), n(4, 4), n(4, 4)), n(4, 6), n(6, 4), LayerNorm(n(4), n(4)))
        for _ in range(2)
    ]

    def loss(blocks, x):
        for b in blocks:
            x = b(x)
        return np.mean(x**2)

    return loss, (blocks, n(3, 4))


class Body:
    def __init__(self, m, x, v):
        self.m, self.x, self.v = m, x, v

    def kinetic(self):
        return 0.5 * self.m * np.dot(self.v, self.v)


class World:
    G = 1.0

    def __init__(self, bodies):
        self.bodies = bodies

    def force(self, a, b):
        d = b.x - a.x
        r = np.sqrt(np.sum(d**2) + 0.1)
        return self.G * a.m * b.m * d / r**3

    def step(self, dt):
        for a in self.bodies:
            f = np.zeros(2)
            for b in self.bodies:
                if b is not a:
                    f = f + self.force(a, b)
            a.v = a.v + dt * f / a.m
        for a in self.bodies:
            a.x = a.x + dt * a.v

    def energy(self):
        return sum(b.kinetic() for b in self.bodies)


def simulate(world, dt, steps):
    for _ in range(steps):
        world.step(dt)
    return world.energy()


@program
def bodies():
    return simulate, (World([Body(1.0 + k, n(2), n(2)) for k in range(3)]), 0.05, 3)


class Chain:
    def __init__(self, k, N):
        self.k, self.x, self.v, self.dt = k, n(N), np.zeros(N), 0.1

    def run(self, T):
        for _ in range(T):
            f = -self.k * self.x
            f[1:] += self.k * (self.x[:-1] - self.x[1:])
            self.v += self.dt * f
            self.x += self.dt * self.v
        return self


def chain_energy(c):
    return 0.5 * np.sum(c.run(4).v ** 2) + 0.5 * c.k * np.sum(c.x**2)


@program
def chain():
    return chain_energy, (Chain(1.3, 5),)


class Kalman:
    def __init__(self):
        self.F = np.array([[1.0, 0.1], [0, 1.0]])
        self.H = np.array([[1.0, 0.0]])
        self.logq = -1.0
        self.logr = -0.5
        self.x, self.P = np.zeros(2), np.eye(2)

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + np.exp(self.logq) * np.eye(2)

    def update(self, z):
        S = self.H @ self.P @ self.H.T + np.exp(self.logr) * np.eye(1)
        K = self.P @ self.H.T @ np.linalg.inv(S)
        r = z - self.H @ self.x
        self.x = self.x + K @ r
        self.P = (np.eye(2) - K @ self.H) @ self.P
        return 0.5 * (r @ np.linalg.solve(S, r) + np.log(np.linalg.det(S)))


def nll(f, zs):
    total = 0.0
    for z in zs:
        f.predict()
        total += f.update(z)
    return total


@program
def kalman():
    return nll, (Kalman(), n(5, 1))


class Kernel(abc.ABC):
    @abc.abstractmethod
    def __call__(self, X, Y): ...
    def __add__(self, o):
        return Sum(self, o)

    def __mul__(self, o):
        return Prod(self, o)


class RBF(Kernel):
    def __init__(self, l, s):
        self.l, self.s = l, s

    def __call__(self, X, Y):
        d = X[:, None] - Y[None]
        return self.s**2 * np.exp(-0.5 * (d / self.l) ** 2)


class White(Kernel):
    def __init__(self, s):
        self.s = s

    def __call__(self, X, Y):
        return self.s**2 * np.eye(len(X))


class Sum(Kernel):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, X, Y):
        return self.a(X, Y) + self.b(X, Y)


class Prod(Kernel):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, X, Y):
        return self.a(X, Y) * self.b(X, Y)


def gp_nll(k, X, y):
    K = k(X, X)
    L = np.linalg.cholesky(K)
    a = np.linalg.solve(K, y)
    return 0.5 * y @ a + np.sum(np.log(np.diag(L)))


@program
def gp():
    return gp_nll, (RBF(1.0, 1.2) * RBF(2.0, 0.8) + White(0.5), np.linspace(0, 3, 5), n(5))


@dataclass(frozen=True)
class State:
    x: np.ndarray
    t: float
    tag: str = "s"


@dataclass(frozen=True, slots=True)
class Params:
    k: float
    c: float


def ode(state, p):
    for _ in range(5):
        state = dataclasses.replace(
            state,
            x=state.x + 0.1 * np.array([state.x[1], -p.k * state.x[0] - p.c * state.x[1]]),
            t=state.t + 0.1,
        )
    return np.sum(state.x**2) * state.t


@program
def frozen():
    return ode, (State(n(2), 0.5), Params(2.0, 0.3))


class Theta(NamedTuple):
    mu: float
    log_sigma: float
    w: np.ndarray

    @property
    def sigma(self):
        return np.exp(self.log_sigma)

    def logpdf(self, x):
        return -0.5 * ((x - self.mu) / self.sigma) ** 2 - self.log_sigma


@program
def named():
    return (lambda th, x: np.sum(th.w * th.logpdf(x))), (Theta(0.3, -0.2, n(4)), n(4))


class Base:
    scale = 2.0

    def __init__(self, a):
        self.a = a

    def f(self, x):
        return self.scale * self.a * x

    @staticmethod
    def act(z):
        return np.tanh(z)

    @classmethod
    def two(cls):
        return cls.scale


class Derived(Base):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def f(self, x):
        return self.act(super().f(x)) + self.b * self.two()


class More(Derived):
    scale = 3.0

    def f(self, x):
        return super().f(x) ** 2


@program
def inherit():
    return (lambda m, x: np.sum(m.f(x))), (More(0.4, 0.7), n(3))


@dataclass
class Circle:
    r: float


@dataclass
class Rect:
    w: float
    h: float


def area(s):
    match s:
        case Circle(r=r):
            return math.pi * r**2
        case Rect(w, h):
            return w * h


def total(shapes):
    return sum(area(s) ** 2 for s in shapes) + sum(s.r for s in shapes if isinstance(s, Circle))


@program
def shapes():
    return total, ([Circle(1.0), Rect(2.0, 3.0), Circle(0.5)],)


class Tree:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r = v, l, r


def fold(t, x):
    if t is None:
        return x
    return np.sin(t.v * fold(t.l, x)) + fold(t.r, x) * t.v


@program
def tree():
    return fold, (Tree(1.0, Tree(0.5, Tree(0.3)), Tree(-0.7)), 0.8)


class Poly:
    def __init__(self, c):
        self.c = c

    def __call__(self, x):
        y = 0.0
        for k in reversed(range(len(self))):
            y = y * x + self[k]
        return y

    def __len__(self):
        return len(self.c)

    def __getitem__(self, k):
        return self.c[k]

    def __add__(self, o):
        return Poly([a + b for a, b in zip(self.c, o.c)])

    def __mul__(self, s):
        return Poly([s * a for a in self.c])

    __rmul__ = __mul__

    def derivative(self):
        return Poly([k * a for k, a in enumerate(self.c)][1:])


@program
def poly():
    return (lambda p, q, x: (2.0 * p + q)(x) * p.derivative()(x)), (
        Poly([1.0, -2.0, 0.5]),
        Poly([0.3, 0.2, 0.1]),
        0.7,
    )


class Vec:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y)

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s)

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def norm(self):
        return math.sqrt(self @ self)


@program
def vec():
    return (lambda a, b, s: (a + b * s - (-a)).norm() * (a @ b)), (
        Vec(1.0, 2.0),
        Vec(-0.5, 0.7),
        1.3,
    )


T = TypeVar("T")


class Box(Generic[T]):
    def __init__(self, v: T):
        self.v = v

    def get(self) -> T:
        return self.v


@program
def generic():
    return (lambda b: np.sum(b.get()[0].get() ** 2) * b.get()[1]), (Box((Box(n(3)), 2.0)),)


class ParamSet:
    names = ("alpha", "beta")

    def __init__(self):
        self.alpha, self.beta = n(2), n(2)


def by_names(p):
    s = 0.0
    for k in p.names:
        s = s + np.sum(getattr(p, k) ** 2)
    return s


@program
def getattrs():
    return by_names, (ParamSet(),)


class Conv:
    def __init__(self):
        self.k, self.b = n(3, 3), 0.1

    def __call__(self, im):
        H, W = im.shape
        out = np.zeros((H - 2, W - 2))
        for i in range(H - 2):
            for j in range(W - 2):
                out[i, j] = np.sum(im[i : i + 3, j : j + 3] * self.k) + self.b
        return np.maximum(out, 0)


@program
def conv():
    return (lambda c, im: np.sum(c(im) ** 2)), (Conv(), n(5, 5))


class BatchNorm:
    def __init__(self, d):
        self.g, self.b, self.mean, self.n, self.training = (
            np.ones(d),
            np.zeros(d),
            np.zeros(d),
            0,
            True,
        )

    def __call__(self, x):
        if self.training:
            m = x.mean(axis=0)
            self.mean = 0.9 * self.mean + 0.1 * m
            self.n += 1
        else:
            m = self.mean
        return self.g * (x - m) / np.sqrt(((x - m) ** 2).mean(axis=0) + 1e-3) + self.b


@program
def batchnorm():
    return (lambda b, x: np.sum(np.tanh(b(x)) * b.mean)), (BatchNorm(3), n(4, 3))


class HMM:
    def __init__(self, k):
        self.A, self.pi, self.mu = n(k, k), n(k), n(k)

    @property
    def trans(self):
        e = np.exp(self.A)
        return e / e.sum(axis=1, keepdims=True)

    def emit(self, x):
        return np.exp(-0.5 * (x - self.mu) ** 2)

    def loglik(self, xs):
        p = np.exp(self.pi)
        a = p / p.sum() * self.emit(xs[0])
        ll = 0.0
        for x in xs[1:]:
            c = a.sum()
            ll += np.log(c)
            a = (a / c) @ self.trans * self.emit(x)
        return ll + np.log(a.sum())


@program
def hmm():
    return (lambda m, xs: m.loglik(xs)), (HMM(3), n(6))


class Bond:
    def __init__(self, c, T):
        self.coupon, self.T = c, T

    def price(self, curve):
        return sum(self.coupon * curve.df(t + 1) for t in range(self.T)) + curve.df(self.T)


class Curve:
    def __init__(self, rates):
        self.rates = rates

    def df(self, t):
        return math.exp(-self.rates[t - 1] * t)


def pv(book, curve, weights):
    return sum(weights[k] * b.price(curve) for k, b in book.items())


@program
def bonds():
    return pv, (
        {"a": Bond(0.05, 2), "b": Bond(0.03, 3)},
        Curve([0.01, 0.02, 0.03]),
        {"a": 1.5, "b": 2.0},
    )


@dataclass
class Adam:
    lr: float
    m: np.ndarray
    v: np.ndarray
    t: int = 0

    def update(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        return w - self.lr * (self.m / (1 - 0.9**self.t)) / (
            np.sqrt(self.v / (1 - 0.99**self.t)) + 1e-3
        )


def unrolled(opt, w, A):
    for _ in range(3):
        w = opt.update(w, A @ w)
    return np.sum(w**2)


@program
def adam():
    return unrolled, (Adam(0.1, n(3), np.array([0.3, 0.4, 0.5])), n(3), n(3, 3))


class Mixed:
    def __init__(self):
        self.a, self.b, self.c, self.k = n(3).astype(np.float32), np.array(2.0), 3, np.float64(0.5)


@program
def mixed():
    return (lambda m, x: np.sum(m.a * x * m.b) * m.c + m.k), (Mixed(), n(3))


class OptLinear:
    def __init__(self, i, o, bias=True):
        self.W = n(o, i)
        self.b = n(o) if bias else None

    def __call__(self, x):
        y = self.W @ x
        return y if self.b is None else y + self.b


@program
def optional():
    return (lambda ls, x: np.sum(functools.reduce(lambda h, l: np.tanh(l(h)), ls, x))), (
        [OptLinear(3, 4), OptLinear(4, 2, False)],
        n(3),
    )


class Feature:
    def __init__(self):
        self.w = n(3)
        self.fs = [np.sin, np.cos]
        self.g = lambda z: z**2

    def __call__(self, x):
        return sum(np.sum(f(self.w * x)) for f in self.fs) + self.g(self.w[0])


@program
def feature():
    return (lambda m, x: m(x)), (Feature(), 0.7)


def resnet(a, b, x):
    for la, lb in zip(a, b):
        x = x + np.tanh(la(lb(x)))
    return np.mean(x)


@program
def zipped():
    return resnet, ([Linear(3, 3) for _ in range(3)], [Linear(3, 3) for _ in range(3)], n(2, 3))


@program
def namespace():
    p = SimpleNamespace(enc=SimpleNamespace(W=n(2, 3)), dec=SimpleNamespace(W=n(3, 2)), lam=0.1)
    return (
        lambda p, x: np.mean((p.dec.W @ np.tanh(p.enc.W @ x) - x) ** 2) + p.lam * np.sum(p.enc.W**2)
    ), (p, n(3, 4))


class Temp:
    def __init__(self, c):
        self._c = c

    @property
    def f(self):
        return self._c * 1.8 + 32

    @f.setter
    def f(self, v):
        self._c = (v - 32) / 1.8


def heat(t):
    t.f = t.f * 1.1
    return t._c**2


@program
def setter():
    return heat, (Temp(20.0),)


class Cell:
    def __init__(self, v):
        self.v = v


def grid(cells, a):
    s = 0.0
    for i in range(len(cells)):
        for j in range(len(cells[i])):
            s += cells[i][j].v ** 2 * a
            if j > 0:
                s += cells[i][j].v * cells[i][j - 1].v
    return s


@program
def cells():
    return grid, ([[Cell(float(i + j)) for j in range(3)] for i in range(2)], 0.5)


def relax(cells, w):
    for k in range(1, len(cells)):
        cells[k].v = cells[k].v + w * cells[k - 1].v
    return cells[-1].v ** 2


@program
def relaxed():
    return relax, ([Cell(float(k)) for k in range(4)], 0.5)


def rebuilt_(p, x):
    q = Circle(p.r * x)
    return area(q) + area(Rect(p.r, q.r))


@program
def rebuilds():
    return rebuilt_, (Circle(1.5), 2.0)


@program
def shared():
    l = Linear(3, 3)
    return (lambda m, x: np.sum(np.tanh(m[1](np.tanh(m[0](x)))))), ([l, l], n(2, 3))


@program
def copies():
    def f(c, a):
        d = copy.copy(c)
        d.v = d.v * a
        e = copy.deepcopy(c)
        e.v = e.v + a
        return c.v * d.v * e.v

    return f, (Cell(1.5), 0.7)
