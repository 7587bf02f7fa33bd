"""Programs that call helpers of their own, at the sizes at which they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]
PROGRAMS: dict[str, Program] = {}
RNG = np.random.default_rng(20240607)


def program(*args: Any) -> Any:
    """Register a program with its arguments; the first is differentiated."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = (f, args)
        return f

    return register


def normal(*shape: int) -> Any:
    """Fixed normal numbers."""
    return RNG.standard_normal(shape)


# ----------------------------------------------------------------------- differential equations
def pendulum_slope(y: Any, damping: Any, length: Any) -> Any:
    """Angle and speed of a damped pendulum."""
    angle, speed = y
    return np.array([speed, -9.81 / length * np.sin(angle) - damping * np.abs(speed) * speed])


def pendulum_step(y: Any, damping: Any, length: Any, h: float) -> Any:
    """One step of the classical Runge-Kutta method."""
    k1 = pendulum_slope(y, damping, length)
    k2 = pendulum_slope(y + 0.5 * h * k1, damping, length)
    k3 = pendulum_slope(y + 0.5 * h * k2, damping, length)
    k4 = pendulum_slope(y + h * k3, damping, length)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


@program(np.array([0.1, 1.3]), np.array([0.7, 0.0]), np.cos(np.linspace(0, 3, 40)))
def pendulum(p: Any, y0: Any, data: Any) -> Any:
    """Fit of damping and length to measured angles."""
    y, error = y0, 0.0
    for angle in data:
        y = pendulum_step(y, p[0], p[1], 0.05)
        error = error + (y[0] - angle) ** 2
    return error


def lorenz_slope(s: Any, p: Any) -> Any:
    """The equations of Lorenz for many starting points."""
    x, y, z = s
    return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])


def midpoint(f: Callable[..., Any], s: Any, p: Any, h: float) -> Any:
    """One step of the midpoint rule."""
    half = s + 0.5 * h * f(s, p)
    return s + h * f(half, p)


@program(np.array([10.0, 28.0, 8 / 3]), normal(3, 50))
def lorenz(p: Any, s: Any) -> Any:
    """An ensemble of 50 trajectories."""
    for _ in range(30):
        s = midpoint(lorenz_slope, s, p, 0.01)
    return np.mean(s[2])


def laplacian(u: Any, h: float) -> Any:
    """Second differences on a ring in two directions."""
    rows = np.roll(u, 1, 0) + np.roll(u, -1, 0)
    columns = np.roll(u, 1, 1) + np.roll(u, -1, 1)
    return (rows + columns - 4.0 * u) / (h * h)


def reaction(u: Any, v: Any, feed: Any, kill: Any) -> tuple[Any, Any]:
    """The reactions of Gray and Scott."""
    uvv = u * v * v
    return feed * (1.0 - u) - uvv, uvv - (feed + kill) * v


@program(np.array([0.04, 0.06]), np.ones((32, 32)), 0.1 * np.abs(normal(32, 32)))
def gray_scott(p: Any, u: Any, v: Any) -> Any:
    """Ten explicit steps of two reacting substances."""
    for _ in range(10):
        du, dv = reaction(u, v, p[0], p[1])
        u = u + 0.16 * laplacian(u, 1.0) + du
        v = v + 0.08 * laplacian(v, 1.0) + dv
    return np.sum(u * v)


def flux(rho: Any, top: Any) -> Any:
    """Cars per time as a function of their density."""
    return top * rho * (1.0 - rho)


def between(left: Any, right: Any, top: Any) -> Any:
    """The flux of Rusanov between two cells."""
    speed = np.maximum(np.abs(1.0 - 2.0 * left), np.abs(1.0 - 2.0 * right)) * top
    return 0.5 * (flux(left, top) + flux(right, top)) - 0.5 * speed * (right - left)


@program(0.9, 0.3 + 0.2 * np.sin(np.linspace(0, 6.28, 200)))
def traffic(top: Any, rho: Any) -> Any:
    """A conservation law in finite volumes."""
    for _ in range(25):
        f = between(rho, np.roll(rho, -1), top)
        rho = rho - 0.4 * (f - np.roll(f, 1))
    return np.sum(rho[:100] ** 2)


# ---------------------------------------------------------------------------------- mechanics
def lennard_jones(r2: Any, depth: Any, width: Any) -> Any:
    """The potential of a pair by the square of its distance."""
    s6 = (width * width / r2) ** 3
    return 4.0 * depth * (s6 * s6 - s6)


def distances(x: Any) -> Any:
    """Squared distances of all pairs."""
    rows, columns = np.triu_indices(len(x), 1)
    d = x[rows] - x[columns]
    return np.sum(d * d, axis=1)


@program(2.0 * normal(24, 3) + np.arange(24)[:, None], np.array([1.0, 0.9]))
def cluster_energy(x: Any, p: Any) -> Any:
    """The energy of a cluster of atoms, and of its mirror image shrunk by a tenth."""
    near = lennard_jones(distances(x), p[0], p[1])
    far = lennard_jones(distances(0.9 * x[::-1]), p[0], p[1])
    return np.sum(near) + 0.5 * np.sum(far)


class Spring:
    """A spring between two points."""

    def __init__(self, stiffness: Any, rest: float) -> None:
        """Keep stiffness and rest length."""
        self.stiffness, self.rest = stiffness, rest

    def force(self, a: Any, b: Any) -> Any:
        """The force on the first end."""
        d = b - a
        r = np.sqrt(d @ d)
        return self.stiffness * (r - self.rest) * d / r


@program(3.0, normal(20, 3))
def chain_of_springs(k: Any, x: Any) -> Any:
    """The work of the forces in a closed chain."""
    spring = Spring(k, 1.0)
    total = 0.0
    for i in range(len(x) - 1):
        total = total + np.sum(spring.force(x[i], x[i + 1]) ** 2)
    return total + np.sum(spring.force(x[-1], x[0]) ** 2)


def turned(angle: Any, axis: int) -> Any:
    """A rotation about an axis of coordinates."""
    c, s = np.cos(angle), np.sin(angle)
    m = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    m[i, i], m[j, j], m[i, j], m[j, i] = c, c, -s, s
    return m


@program(np.array([0.3, -0.5, 0.9, 0.2, -0.1, 0.4]), np.array([0.5, 0.8, 0.3]))
def arm(angles: Any, target: Any) -> Any:
    """The distance of the hand of a robot from its target."""
    place, frame = np.zeros(3), np.eye(3)
    for k in range(6):
        frame = frame @ turned(angles[k], k % 3)
        place = place + frame @ np.array([0.0, 0.0, 0.3])
    return np.sum((place - target) ** 2)


def kinetic(velocity: Any, mass: Any) -> Any:
    """Kinetic energies of bodies."""
    return 0.5 * mass * np.sum(velocity**2, axis=-1)


def pull(x: Any, mass: Any) -> Any:
    """Accelerations by gravity, softened."""
    d = x[None, :, :] - x[:, None, :]
    r2 = np.sum(d * d, axis=-1) + 0.01
    return np.sum(mass[None, :, None] * d / (r2 * np.sqrt(r2))[..., None], axis=1)


@program(normal(12, 3), 0.1 * normal(12, 3), np.abs(normal(12)))
def leapfrog(x: Any, v: Any, mass: Any) -> Any:
    """The kinetic energy of a small group of stars after some steps."""
    for _ in range(10):
        v = v + 0.005 * pull(x, mass)
        x = x + 0.01 * v
        v = v + 0.005 * pull(x, mass)
    return np.sum(kinetic(v, mass))


# ----------------------------------------------------------------------------------- statistics
def log_normal(x: Any, mean: Any, deviation: Any) -> Any:
    """The logarithm of the density of a normal distribution."""
    z = (x - mean) / deviation
    return -0.5 * z * z - np.log(deviation) - 0.5 * np.log(2.0 * np.pi)


@program(np.array([0.3, 0.7, 0.1, -0.4, 1.2]), normal(300), normal(300))
def hierarchical(p: Any, x: Any, y: Any) -> Any:
    """The log posterior of a regression with priors."""
    scale = np.exp(p[3])
    prior = log_normal(p[0], 0.0, 2.0) + log_normal(p[1], 0.0, 1.0) + log_normal(p[2], 0.0, 1.0)
    likelihood = log_normal(y, p[0] + p[1] * x + p[2] * x * x, scale)
    return prior + log_normal(p[3], 0.0, 1.0) + np.sum(likelihood)


def log_sum_exp(a: Any, axis: int) -> Any:
    """The logarithm of a sum of exponentials."""
    top = np.max(a, axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.sum(np.exp(a - top), axis=axis))


@program(normal(6, 6), normal(6, 10), RNG.integers(0, 10, 60))
def hidden_markov(a: Any, b: Any, seen: Any) -> Any:
    """The likelihood of a hidden Markov model by the forward algorithm."""
    move = a - log_sum_exp(a, 1)[:, None]
    emit = b - log_sum_exp(b, 1)[:, None]
    alpha = emit[:, seen[0]]
    for k in seen[1:]:
        alpha = log_sum_exp(alpha[:, None] + move, 0) + emit[:, k]
    return log_sum_exp(alpha, 0)


def squared_exponential(x: Any, y: Any, height: Any, width: Any) -> Any:
    """A covariance function of two sets of points."""
    d = (x[:, None] - y[None, :]) / width
    return height * height * np.exp(-0.5 * d * d)


def solved(chol: Any, b: Any) -> Any:
    """Solve by a Cholesky factor."""
    return np.linalg.solve(chol.T, np.linalg.solve(chol, b))


@program(np.array([1.1, 0.4, 0.3]), np.linspace(0, 4, 40), np.sin(np.linspace(0, 4, 40)),
         np.linspace(0.05, 3.9, 15))  # fmt: skip
def gaussian_process(p: Any, x: Any, y: Any, new: Any) -> Any:
    """Marginal likelihood and spread of a Gaussian process."""
    k = squared_exponential(x, x, p[0], p[1]) + p[2] ** 2 * np.eye(len(x))
    chol = np.linalg.cholesky(k)
    cross = squared_exponential(x, new, p[0], p[1])
    fit = y @ solved(chol, y) + 2.0 * np.sum(np.log(np.diag(chol)))
    return 0.5 * fit + np.trace(cross.T @ solved(chol, cross))


def predicted(mean: Any, cov: Any, f: Any, q: Any) -> tuple[Any, Any]:
    """The prediction of a Kalman filter."""
    return f @ mean, f @ cov @ f.T + q


def corrected(mean: Any, cov: Any, h: Any, r: Any, z: Any) -> tuple[Any, Any, Any]:
    """The correction of a Kalman filter by one measurement, and its negative log likelihood."""
    s = h @ cov @ h + r
    gain = cov @ h / s
    residual = z - h @ mean
    return (
        mean + gain * residual,
        cov - np.outer(gain, h @ cov),
        0.5 * (np.log(s) + residual * residual / s),
    )


@program(np.array([0.1, 0.5]), np.sin(np.linspace(0, 5, 50)))
def kalman(p: Any, data: Any) -> Any:
    """The likelihood of a moving point."""
    f, h = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([1.0, 0.0])
    mean, cov, total = np.zeros(2), np.eye(2), 0.0
    for z in data:
        mean, cov = predicted(mean, cov, f, p[0] * np.eye(2))
        mean, cov, loss = corrected(mean, cov, h, p[1], z)
        total = total + loss
    return total


def logistic(x: Any) -> Any:
    """The logistic function, without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + e), e / (1.0 + e))


def item(ability: Any, difficulty: Any, slope: Any) -> Any:
    """The chance of a right answer."""
    return 0.2 + 0.8 * logistic(slope * (ability - difficulty))


@program(normal(80), normal(20), np.abs(normal(20)) + 0.5, RNG.integers(0, 2, (80, 20)))
def item_response(ability: Any, difficulty: Any, slope: Any, answers: Any) -> Any:
    """The likelihood of a test with guessing."""
    p = item(ability[:, None], difficulty[None, :], slope[None, :])
    q = item(ability[:, None] + 0.1, difficulty[None, :], slope[None, :])
    wrong = (1 - answers) * np.log(1.0 - q)
    return -np.sum(answers * np.log(p) + wrong) + 0.5 * np.sum(ability**2)


# ------------------------------------------------------------------------------------ networks
def dense(x: Any, layer: Any) -> Any:
    """A layer with normalised inputs."""
    w, b = layer
    mean = np.mean(x, axis=-1, keepdims=True)
    spread = np.sqrt(np.mean((x - mean) ** 2, axis=-1, keepdims=True) + 1e-5)
    return np.tanh((x - mean) / spread @ w + b)


@program([(normal(16, 32), normal(32)), (normal(32, 32), normal(32)), (normal(32, 4), normal(4))],
         normal(64, 16), normal(64, 4))  # fmt: skip
def network(layers: Any, x: Any, y: Any) -> Any:
    """A network of three layers."""
    for layer in layers:
        x = dense(x, layer)
    return np.mean((x - y) ** 2)


def softmax(a: Any) -> Any:
    """Positive numbers with sum one."""
    e = np.exp(a - np.max(a, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def head(x: Any, q: Any, k: Any, v: Any) -> Any:
    """One head of attention."""
    scores = (x @ q) @ (x @ k).T / np.sqrt(q.shape[1])
    return softmax(scores) @ (x @ v)


@program({n: normal(32, 8) for n in ("q1", "k1", "v1", "q2", "k2", "v2")}, normal(24, 32))
def attention(p: Any, x: Any) -> Any:
    """Two heads of attention."""
    first = head(x, p["q1"], p["k1"], p["v1"])
    second = head(x, p["q2"], p["k2"], p["v2"])
    return np.sum(np.concatenate([first, second], axis=1) ** 2)


def gate(x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
    """A gate of a recurrent cell."""
    return 0.5 * (np.tanh(0.5 * (w @ x + u @ h + b)) + 1.0)


def gru(x: Any, h: Any, p: Any) -> Any:
    """One step of a gated recurrent unit."""
    z = gate(x, h, p["wz"], p["uz"], p["bz"])
    r = gate(x, h, p["wr"], p["ur"], p["br"])
    new = np.tanh(p["wh"] @ x + p["uh"] @ (r * h) + p["bh"])
    return (1.0 - z) * h + z * new


@program({n: 0.3 * normal(*s) for g in "zrh" for n, s in
          ((f"w{g}", (16, 8)), (f"u{g}", (16, 16)), (f"b{g}", (16,)))}, normal(20, 8))  # fmt: skip
def recurrent(p: Any, xs: Any) -> Any:
    """A sequence through a gated recurrent unit."""
    h = np.zeros(16)
    for x in xs:
        h = gru(x, h, p)
    return np.sum(h * h)


def convolved(image: Any, kernel: Any) -> Any:
    """A convolution by shifted sums, and a soft threshold."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            total = total + kernel[i, j] * image[i : i + 28, j : j + 28]
    return np.logaddexp(0.0, total)


@program(normal(2, 3, 3), normal(30, 30))
def filters(kernels: Any, image: Any) -> Any:
    """Two filters of one image."""
    a, b = convolved(image, kernels[0]), convolved(image, kernels[1])
    return np.sum(a * b)


# ------------------------------------------------------------------------------------- finance
def cumulative(x: Any) -> Any:
    """The normal distribution function, in a rational approximation."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978
                + t * 1.330274429))))  # fmt: skip
    tail = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(spot: Any, strike: Any, rate: Any, sigma: Any, time: Any) -> Any:
    """The price of a call."""
    root = sigma * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma * sigma) * time) / root
    return spot * cumulative(d1) - strike * np.exp(-rate * time) * cumulative(d1 - root)


@program(np.linspace(80, 120, 200), 100.0, 0.02, 0.3)
def book(spot: Any, strike: Any, rate: Any, sigma: Any) -> Any:
    """Two calls of different length, held against each other."""
    long = black_scholes(spot, strike, rate, sigma, 2.0)
    return np.sum(long - black_scholes(spot, 1.1 * strike, rate, sigma, 1.0))


def annuity(rate: Any, years: int) -> Any:
    """What one coin a year is worth today."""
    total, factor = 0.0, 1.0
    for _ in range(years):
        factor = factor / (1.0 + rate)
        total = total + factor
    return total


@program(0.03, 0.05)
def bonds(rate: Any, coupon: Any) -> Any:
    """Bonds of three lengths at one rate."""
    return (coupon * annuity(rate, 5) + 1.0 / (1.0 + rate) ** 5
            + coupon * annuity(rate, 10) + 1.0 / (1.0 + rate) ** 10
            + coupon * annuity(rate + 0.01, 20))  # fmt: skip


def path_value(w: Any, sigma: Any, drift: Any) -> Any:
    """The mean of an exponential walk."""
    steps = (drift - 0.5 * sigma * sigma) / len(w) + sigma * w / np.sqrt(len(w))
    return np.mean(np.exp(np.cumsum(steps, axis=0)), axis=0)


@program(0.2, 0.05, normal(50, 100))
def asian_option(sigma: Any, drift: Any, w: Any) -> Any:
    """An Asian option with antithetic paths."""
    up = np.maximum(path_value(w, sigma, drift) - 1.0, 0.0)
    down = np.maximum(path_value(-w, sigma, drift) - 1.0, 0.0)
    return 0.5 * np.mean(up + down)


# -------------------------------------------------------------------------------- other sciences
def layer_matrix(index: Any, thickness: Any, wavelength: float) -> tuple[Any, Any, Any, Any]:
    """The transfer matrix of a thin film, its entries without the imaginary unit."""
    phase = 2.0 * np.pi * index * thickness / wavelength
    c, s = np.cos(phase), np.sin(phase)
    return c, s / index, s * index, c


def chained(m: Any, n: Any) -> tuple[Any, Any, Any, Any]:
    """The product of two transfer matrices."""
    a, b, c, d = m
    e, f, g, h = n
    return a * e - b * g, a * f + b * h, c * e + d * g, d * h - c * f


@program(np.linspace(90.0, 110.0, 8), np.linspace(400, 700, 60))
def thin_films(thickness: Any, wavelengths: Any) -> Any:
    """Transmission of a stack of films over wavelengths."""
    m = layer_matrix(1.5, thickness[0], wavelengths)
    for k in range(1, 8):
        m = chained(m, layer_matrix(1.4 + 0.3 * (k % 2), thickness[k], wavelengths))
    a, b, c, d = m
    return np.mean(4.0 / ((a + d) ** 2 + (b + c) ** 2))


def rate_constant(log_a: Any, energy: Any, temperature: Any) -> Any:
    """The law of Arrhenius."""
    return np.exp(log_a - energy / (8.314e-3 * temperature))


@program(np.array([8.0, 40.0, 7.0, 38.0]), np.array([1.0, 0.0, 0.0]))
def reactor(p: Any, c: Any) -> Any:
    """Two reactions in sequence while a reactor heats up."""
    temperature = 300.0
    for _ in range(40):
        first = rate_constant(p[0], p[1], temperature) * c[0]
        second = rate_constant(p[2], p[3], temperature) * c[1]
        c = c + 0.01 * np.array([-first, first - second, second])
        temperature = temperature + 2.0
    return c[1]


def haversine(a: Any, b: Any) -> Any:
    """Distances on a sphere between points in radians."""
    half = 0.5 * (b - a)
    s = (np.sin(half[..., 0]) ** 2
         + np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin(half[..., 1]) ** 2)  # fmt: skip
    return 2.0 * np.arcsin(np.sqrt(s))


@program(0.3 * normal(30, 2), 0.3 * normal(2))
def depot(stops: Any, place: Any) -> Any:
    """The length of a tour that begins and ends at a depot."""
    inner = np.sum(haversine(stops[:-1], stops[1:]))
    return inner + haversine(place, stops[0]) + haversine(stops[-1], place)


def basis(t: Any, k: int) -> Any:
    """A polynomial of Bernstein of degree 3."""
    return [1.0, 3.0, 3.0, 1.0][k] * t**k * (1.0 - t) ** (3 - k)


def curve(points: Any, t: Any) -> Any:
    """A curve of Bezier."""
    return sum(basis(t, k)[:, None] * points[k] for k in range(4))


@program(normal(4, 2), normal(4, 2), np.linspace(0.0, 1.0, 50))
def curves(a: Any, b: Any, t: Any) -> Any:
    """How far two curves are from each other."""
    d = curve(a, t) - curve(b, t)
    return np.mean(np.sum(d * d, axis=1)) + np.sum((curve(a, t)[1:] - curve(a, t)[:-1]) ** 2)


def project(points: Any, camera: Any) -> Any:
    """Points as a camera with one coefficient of distortion sees them."""
    theta = np.sqrt(np.sum(camera[:3] ** 2) + 1e-12)
    axis = camera[:3] / theta
    c, s = np.cos(theta), np.sin(theta)
    along = points @ axis
    turned = c * points + s * np.cross(axis, points) + (1.0 - c) * along[:, None] * axis
    moved = turned + camera[3:6]
    xy = moved[:, :2] / moved[:, 2:]
    r2 = np.sum(xy * xy, axis=1, keepdims=True)
    return camera[6] * (1.0 + camera[7] * r2) * xy


@program(np.array([[0.1, 0.2, 0.1, 0.0, 0.0, 5.0, 1.0, 0.01],
                   [0.0, -0.2, 0.1, 0.1, 0.0, 6.0, 1.1, 0.0]]),
         normal(40, 3), normal(2, 40, 2))  # fmt: skip
def bundle(cameras: Any, points: Any, seen: Any) -> Any:
    """Errors of the images of points in two cameras."""
    total = 0.0
    for k in range(2):
        total = total + np.sum((project(points, cameras[k]) - seen[k]) ** 2)
    return total


def smooth_step(x: Any, width: Any) -> Any:
    """A polynomial from 0 to 1."""
    t = np.clip(x / width, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def circle(x: Any, y: Any, c: Any) -> Any:
    """The soft image of a circle."""
    return 1.0 - smooth_step(np.sqrt((x - c[0]) ** 2 + (y - c[1]) ** 2) - c[2], 0.3)


@program(np.array([[0.1, 0.2, 0.5], [-0.4, 0.3, 0.3], [0.5, -0.5, 0.4]]),
         *np.meshgrid(np.linspace(-1, 1, 40), np.linspace(-1, 1, 40)))  # fmt: skip
def drawing(circles: Any, x: Any, y: Any) -> Any:
    """How much of a picture three circles cover."""
    free = 1.0
    for c in circles:
        free = free * (1.0 - circle(x, y, c))
    return np.mean(free)
