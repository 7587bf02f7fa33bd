"""Programs as scientists and engineers write them, each with what is wanted of it.

`PROGRAMS` has for each name the function, its arguments, and the derivatives that are compared with
differences: "jacobian", "hessian" or "gradient".
"""

import math

import numpy as np

from srcad import grad, hessian, hvp, jacfwd, jacobian, jvp, pullback, stop_gradient, value_and_grad

RNG = np.random.default_rng(20)
PROGRAMS = {}


def program(*args, want="jacobian", wrt=0):
    """Register a function with its arguments, and by which of them what is wanted."""

    def register(function):
        PROGRAMS[function.__name__] = (function, args, want, wrt)
        return function

    return register


# ------------------------------------------------------------------------ fits of curves
T = np.linspace(0.1, 4.0, 12)


@program(np.array([2.0, 0.7]))
def michaelis_menten(p):
    v_max, k_m = p
    return v_max * T / (k_m + T) - np.sqrt(T)


@program({"heights": np.array([1.0, 0.5]), "centres": np.array([1.0, 3.0]), "width": 0.4})
def peaks(p):
    y = np.zeros_like(T)
    for h, c in zip(p["heights"], p["centres"]):
        y += h * np.exp(-0.5 * ((T - c) / p["width"]) ** 2)
    return y


@program(np.array([0.2, -0.4, 0.1]), want="hessian")
def huber_regression(w):
    X = np.stack([np.ones_like(T), T, T**2], axis=1)
    r = X @ w - np.sin(2 * T)
    a = np.abs(r)
    return np.sum(np.where(a < 0.5, 0.5 * r**2, 0.5 * (a - 0.25)))


@program(np.array([0.5, -0.2]))
def poisson_information(w):
    def log_rates(w):
        return w[0] + w[1] * T

    J = jacobian(log_rates)(w)
    return J.T @ (np.exp(log_rates(w))[:, None] * J)


@program(np.array([1.2, 0.9, 0.1]), np.sin(T) + 0.1, wrt=1)
def one_step_of_levenberg_marquardt(p, data):
    def residuals(p):
        return p[0] * np.sin(p[1] * T) + p[2] - data

    r, J = residuals(p), jacobian(residuals)(p)
    damped = J.T @ J + 0.01 * np.diag(np.diag(J.T @ J))
    return p - np.linalg.solve(damped, J.T @ r)


# ------------------------------------------------------------------------ classification
X = RNG.normal(size=(20, 3))
LABELS = (X @ np.array([1.0, -2.0, 0.5]) + RNG.normal(size=20) > 0).astype(float)
CLASSES = RNG.integers(0, 3, size=20)


def logistic_loss(w, strength):
    z = X @ w
    return np.sum(np.logaddexp(0.0, z) - LABELS * z) + 0.5 * strength * w @ w


@program(0.3)
def newton_steps_of_logistic_regression(strength):
    w = np.zeros(3)
    for _ in range(3):
        H = hessian(logistic_loss)(w, strength)
        w = w - np.linalg.solve(H, grad(logistic_loss)(w, strength))
    return w


@program(0.3, want="gradient")
def laplace_evidence(strength):
    w = np.array([0.8, -1.5, 0.3])
    H = hessian(logistic_loss)(w, strength)
    return -logistic_loss(w, strength) - 0.5 * np.linalg.slogdet(H)[1]


@program(RNG.normal(size=(3, 3)) * 0.3, want="hessian")
def softmax_regression(W):
    Z = X @ W
    Z = Z - np.max(Z, axis=1, keepdims=True)
    log_p = Z - np.log(np.sum(np.exp(Z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(20), CLASSES])


@program(np.array([0.1, -0.3, 0.2]))
def natural_gradient(w):
    g = grad(logistic_loss)(w, 0.1)
    p = 1.0 / (1.0 + np.exp(-X @ w))
    F = (X * (p * (1.0 - p))[:, None]).T @ X
    return np.linalg.solve(F + 0.1 * np.eye(3), g)


# ------------------------------------------------------------------------ hyperparameters
@program(np.array([0.05, 0.1]), want="gradient")
def unrolled_descent(hyper):
    rate, strength = hyper[0], hyper[1]
    w = np.zeros(3)
    for _ in range(8):
        w -= rate * grad(logistic_loss)(w, strength)
    return np.sum((X[:5] @ w - LABELS[:5]) ** 2)


@program(np.array([0.2, 0.9]), want="gradient")
def unrolled_momentum(hyper):
    w, v = np.zeros(3), np.zeros(3)
    for k in range(6):
        loss, g = value_and_grad(logistic_loss)(w, 0.1)
        v = hyper[1] * v - hyper[0] * g / (1.0 + k)
        w = w + v
    return logistic_loss(w, 0.0)


@program(0.4, want="gradient")
def implicit_hypergradient(strength):
    A = X.T @ X + strength * np.eye(3)
    w = np.linalg.solve(A, X.T @ LABELS)
    return np.mean((X[:7] @ w - LABELS[:7]) ** 2)


@program(0.7, want="gradient")
def fixed_point_by_its_last_step(strength):
    w = np.zeros(3)
    for _ in range(40):
        H = hessian(logistic_loss)(w, strength)
        w = w - np.linalg.solve(H, grad(logistic_loss)(w, strength))
    w = stop_gradient(w)
    H = stop_gradient(hessian(logistic_loss)(w, stop_gradient(strength)))
    w = w - np.linalg.solve(H, grad(logistic_loss)(w, strength))
    return np.sum(w**2)


# ------------------------------------------------------------------------ differential equations
def lorenz(s, p):
    x, y, z = s
    return np.array([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])


@program(np.array([1.0, 1.0, 20.0]), np.array([10.0, 28.0, 8.0 / 3.0]))
def runge_kutta(s, p):
    h = 0.01
    for _ in range(15):
        k1 = lorenz(s, p)
        k2 = lorenz(s + 0.5 * h * k1, p)
        k3 = lorenz(s + 0.5 * h * k2, p)
        k4 = lorenz(s + h * k3, p)
        s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return s


@program(3.0)
def backward_euler(mu):
    def rate(y):
        return np.array([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    y, h = np.array([2.0, 0.0]), 0.05
    slope = jacobian(rate)
    for _ in range(6):
        new = y
        for _ in range(4):
            residual = new - y - h * rate(new)
            new = new - np.linalg.solve(np.eye(2) - h * slope(new), residual)
        y = new
    return y


@program(np.array([0.3, 1.2]))
def implicit_midpoint(state):
    def force(q):
        return -np.sin(q)

    q, p = state[0], state[1]
    for _ in range(5):
        q1, p1 = q, p
        for _ in range(10):
            middle = 0.5 * (q + q1)
            q1, p1 = q + 0.1 * 0.5 * (p + p1), p + 0.1 * force(middle)
        q, p = q1, p1
    return np.array([q, p])


@program(np.sin(np.linspace(0.0, np.pi, 9)))
def crank_nicolson(u):
    n = len(u)
    L = -2.0 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    left, right = np.eye(n) - 0.2 * L, np.eye(n) + 0.2 * L
    for _ in range(4):
        u = np.linalg.solve(left, right @ u + 0.01 * u**2)
    return u


@program(np.array([0.5, 0.2]))
def epidemic(p):
    beta, gamma = p
    s, i, r = 0.99, 0.01, 0.0
    infected = []
    for _ in range(10):
        new, healed = beta * s * i, gamma * i
        s, i, r = s - new, i + new - healed, r + healed
        infected.append(i)
    return np.array(infected)


@program(np.array([1.1, 0.4, 0.1, 0.4]))
def predator_and_prey_with_steps_by_error(p):
    def rate(y):
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    y, t, h = np.array([10.0, 5.0]), 0.0, 0.1
    while t < 1.0:
        k1 = rate(y)
        k2 = rate(y + h * k1)
        error = float(np.max(np.abs(stop_gradient(k2 - k1)))) * h / 2
        if error > 0.5:
            h = h / 2
            continue
        y = y + 0.5 * h * (k1 + k2)
        t = t + h
        if error < 0.05:
            h = min(2 * h, 1.0 - t) if t < 1.0 else h
    return y


@program(np.linspace(0.0, 1.0, 8))
def burgers_residual(u):
    r = np.zeros_like(u)
    r[1:-1] = u[1:-1] * (u[2:] - u[:-2]) * 4.0 - 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * 64.0
    r[0], r[-1] = u[0], u[-1] - 1.0
    return r


@program(np.array([1.0, 0.1, 0.2]))
def chemical_kinetics(c):
    rates = (3.0, 1.0)
    stoichiometry = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    c = c.copy()
    for _ in range(10):
        change = np.zeros(3)
        for k, row in zip(rates, stoichiometry):
            change += row * k * c[int(np.argmin(row))] ** 1.5
        c += 0.02 * change
    return c


# ------------------------------------------------------------------------ filters, sequences
OBSERVED = np.cumsum(RNG.normal(size=10))


@program(np.array([-1.0, 0.2]), want="hessian")
def kalman_likelihood(log_noise):
    q, r = np.exp(log_noise)
    mean, var, total = 0.0, 10.0, 0.0
    for y in OBSERVED:
        var = var + q
        s = var + r
        gain = var / s
        total += 0.5 * (np.log(2 * np.pi * s) + (y - mean) ** 2 / s)
        mean = mean + gain * (y - mean)
        var = (1.0 - gain) * var
    return total


@program(np.array([0.9, 0.1]), want="gradient")
def extended_kalman(theta):
    def move(x):
        return np.array([x[0] + 0.1 * x[1], theta[0] * x[1] + theta[1] * np.sin(x[0])])

    def observe(x):
        return np.array([np.sqrt(1.0 + x[0] ** 2)])

    x, P, total = np.array([1.0, 0.0]), np.eye(2), 0.0
    for y in OBSERVED[:5]:
        F, x = jacfwd(move)(x), move(x)
        P = F @ P @ F.T + 0.01 * np.eye(2)
        H = jacobian(observe)(x)
        S = H @ P @ H.T + 0.1 * np.eye(1)
        K = np.linalg.solve(S, H @ P).T
        residual = y - observe(x)
        total += residual @ np.linalg.solve(S, residual) + np.linalg.slogdet(S)[1]
        x = x + K @ residual
        P = P - K @ H @ P
    return total


@program(RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2)), wrt=(0, 1))
def hidden_markov(transition, emission):
    A = np.exp(transition) / np.sum(np.exp(transition), axis=1, keepdims=True)
    B = np.exp(emission) / np.sum(np.exp(emission), axis=1, keepdims=True)
    alpha = np.ones(3) / 3
    logs = []
    for symbol in [0, 1, 1, 0, 1]:
        alpha = (alpha @ A) * B[:, symbol]
        scale = np.sum(alpha)
        alpha = alpha / scale
        logs.append(np.log(scale))
    return np.array(logs)


@program(RNG.normal(size=(4, 3)), want="hessian")
def random_field(scores):
    pairs = np.array([[0.5, -0.2, 0.1], [0.0, 0.3, -0.1], [0.2, 0.2, 0.4]])
    alpha = scores[0]
    for t in range(1, len(scores)):
        m = alpha[:, None] + pairs
        top = np.max(m, axis=0)
        alpha = scores[t] + top + np.log(np.sum(np.exp(m - top), axis=0))
    return np.log(np.sum(np.exp(alpha)))


@program(RNG.normal(size=5), RNG.normal(size=6))
def soft_time_warping(a, b):
    n, m, gamma = len(a), len(b), 0.5
    R = np.full((n + 1, m + 1), 1e3)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            z = np.array([R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]]) / -gamma
            soft = -gamma * (np.max(z) + np.log(np.sum(np.exp(z - np.max(z)))))
            R[i, j] = (a[i - 1] - b[j - 1]) ** 2 + soft
    return R[n, 1:]


# ------------------------------------------------------------------------ mechanics, geometry
@program(np.array([0.1, -0.2, 0.3, 0.5, 0.1, 4.0]))
def bundle_adjustment(camera):
    points = np.array([[1.0, 0.0, 0.5], [-0.5, 1.0, 0.2], [0.3, -0.7, 1.0], [0.0, 0.2, -0.4]])
    w, t = camera[:3], camera[3:]
    angle = np.sqrt(w @ w)
    k = w / angle
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    R = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)
    seen = points @ R.T + t
    return (seen[:, :2] / seen[:, 2:]).ravel()


@program(np.array([0.1, -0.2, 0.3, 0.5, 0.1, 4.0]))
def gauss_newton_step(camera):
    target = np.array([0.3, 0.0, 0.1, 0.2, 0.3, -0.1, 0.1, 0.1])
    r, back = pullback(bundle_adjustment, camera)
    J = jacobian(bundle_adjustment)(camera)
    (gradient,) = back(r - target)
    return camera - np.linalg.solve(J.T @ J + 1e-2 * np.eye(6), gradient)


@program(np.array([0.3, -0.5, 0.8]))
def arm(angles):
    point, total = np.zeros(2), 0.0
    for k, length in enumerate((1.0, 0.7, 0.4)):
        total = total + angles[k]
        point = point + length * np.array([np.cos(total), np.sin(total)])
    return point


@program(np.array([0.3, -0.5, 0.8]), want="gradient")
def manipulability(angles):
    J = jacobian(arm)(angles)
    return np.sqrt(np.linalg.det(J @ J.T))


@program(RNG.normal(size=(4, 3)), want="hessian")
def lennard_jones(positions):
    energy = 0.0
    for i in range(len(positions)):
        for j in range(i):
            d = positions[i] - positions[j]
            s = 1.0 / (d @ d + 0.5)
            energy += 4.0 * (s**6 - s**3)
    return energy


@program(np.array([0.0, 0.1, 1.1, 0.0, 0.9, 1.2]))
def stiffness_of_springs(x):
    def energy(x):
        p = x.reshape(3, 2)
        d = p[[0, 1, 2]] - p[[1, 2, 0]]
        return 0.5 * np.sum((np.sqrt(np.sum(d**2, axis=1)) - 1.0) ** 2)

    return hessian(energy)(x)


@program(np.array([0.3, 0.5, 0.2, 0.4]), want="hessian")
def compliance_of_a_bar(thickness):
    n = len(thickness)
    K = np.zeros((n + 1, n + 1))
    for e in range(n):
        k = 5.0 * thickness[e]
        K[e, e] += k
        K[e + 1, e + 1] += k
        K[e, e + 1] -= k
        K[e + 1, e] -= k
    f = np.zeros(n)
    f[-1] = 1.0
    u = np.linalg.solve(K[1:, 1:], f)
    return f @ u


@program(np.array([1.0, 1.5, 0.8]))
def frequencies_of_a_chain(masses):
    K = 2.0 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)
    s = 1.0 / np.sqrt(masses)
    return np.sqrt(np.linalg.eigvalsh(s[:, None] * K * s))


@program(np.array([0.5, -0.3, 0.8, 0.1]))
def leapfrog(state):
    def potential(q):
        return 0.5 * np.sum(q**2) + 0.1 * np.sum(q**4) + q[0] * q[1]

    q, p, force = state[:2], state[2:], grad(potential)
    p = p - 0.05 * force(q)
    for _ in range(4):
        q = q + 0.1 * p
        p = p - 0.1 * force(q)
    return np.concatenate([q, p])


@program(np.array([0.3, 1.0, 0.2]))
def orbit(elements):
    eccentricity, axis, phase = elements
    M = np.linspace(0.0, 2.0, 5) + phase
    E = M
    for _ in range(8):
        E = E - (E - eccentricity * np.sin(E) - M) / (1.0 - eccentricity * np.cos(E))
    x = axis * (np.cos(E) - eccentricity)
    y = axis * np.sqrt(1.0 - eccentricity**2) * np.sin(E)
    return np.stack([x, y], axis=1)


@program(1.3)
def mean_field(coupling):
    m = 0.9
    while True:
        new = np.tanh(coupling * m + 0.05)
        if abs(new - m) < 1e-13:
            break
        m = new
    return m


# ------------------------------------------------------------------------ finance
@program(np.array([100.0, 0.2, 0.03]), want="hessian")
def black_scholes(p):
    spot, vol, rate = p[0], p[1], p[2]
    strike, t = 105.0, 0.7
    d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * t) / (vol * np.sqrt(t))
    d2 = d1 - vol * np.sqrt(t)

    def cdf(x):
        return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))

    return spot * cdf(d1) - strike * np.exp(-rate * t) * cdf(d2)


@program(np.array([100.0, 0.25]))
def american_put(p):
    n, h, rate = 8, 0.1, 0.03
    up = np.exp(p[1] * np.sqrt(h))
    q = (np.exp(rate * h) - 1.0 / up) / (up - 1.0 / up)
    spots = p[0] * up ** (np.arange(n + 1) * 2.0 - n)
    value = np.maximum(103.0 - spots, 0.0)
    for _ in range(n):
        spots = spots[1:] / up
        value = np.exp(-rate * h) * (q * value[1:] + (1.0 - q) * value[:-1])
        value = np.maximum(value, 103.0 - spots)
    return value[0]


@program(np.array([0.02, 0.025, 0.028, 0.03]))
def discount_factors(rates):
    factors = []
    for rate in rates:
        known = sum(factors)
        factors.append((1.0 - rate * known) / (1.0 + rate))
    return np.array(factors)


# ------------------------------------------------------------------------ images, networks
IMAGE = np.sin(np.arange(36.0)).reshape(6, 6)


@program(np.array([1.05, 0.1, -0.08, 0.95, 0.23, 0.41]))
def warped_image(p):
    rows, columns = np.meshgrid(np.arange(1.0, 4.0), np.arange(1.0, 4.0), indexing="ij")
    y = p[0] * rows + p[1] * columns + p[4]
    x = p[2] * rows + p[3] * columns + p[5]
    i, j = np.floor(y).astype(int), np.floor(x).astype(int)
    a, b = y - i, x - j
    top = IMAGE[i, j] * (1 - b) + IMAGE[i, j + 1] * b
    bottom = IMAGE[i + 1, j] * (1 - b) + IMAGE[i + 1, j + 1] * b
    return (1 - a) * top + a * bottom


@program(IMAGE[:4, :4], want="hessian")
def total_variation(u):
    dx, dy = np.diff(u, axis=0)[:, :-1], np.diff(u, axis=1)[:-1]
    return np.sum(np.sqrt(dx**2 + dy**2 + 1e-2)) + 0.5 * np.sum((u - 1.0) ** 2)


@program(
    {"W": RNG.normal(size=(4, 3)) * 0.5, "b": np.zeros(4), "v": RNG.normal(size=4)},
    want="gradient",
)
def product_inside(p):
    def loss(p):
        h = np.tanh(X[:6] @ p["W"].T + p["b"])
        return np.mean((h @ p["v"] - LABELS[:6]) ** 2)

    v = {"W": np.ones((4, 3)), "b": np.ones(4), "v": np.ones(4)}
    Hv = hvp(loss)(p, v)
    return np.sum(Hv["W"] ** 2) + Hv["b"] @ Hv["v"]


@program(RNG.normal(size=(2, 2)) * 0.4)
def neural_equation(W):
    def rate(h):
        return np.tanh(W @ h)

    h = np.array([1.0, -0.5])
    trace = 0.0
    for _ in range(5):
        trace = trace + np.trace(jacobian(rate)(h))
        h = h + 0.2 * rate(h)
    return np.append(h, trace)


@program(np.array([0.4, -0.2, 0.9]))
def tangent_along_its_own_value(x):
    def field(x):
        return np.array([x[1] * x[2], np.sin(x[0]), x[0] * np.exp(-x[2])])

    v, acceleration = jvp(field, (x,), (field(x),))
    return v + acceleration
