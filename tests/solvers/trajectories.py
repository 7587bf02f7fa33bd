"""Programs with initial value problems whose functions read differentiated values."""

import functools
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import DOP853, quad, solve_ivp
from scipy.optimize import brentq, curve_fit, least_squares, minimize, root

import srcad
from tests.solvers.registry import registry

PROGRAMS, program = registry()
NESTED = set()
LOOSE = {"fit", "fitted_curve"}  # differences of fits are noisy
OPTIONS = {"rtol": 1e-9, "atol": 1e-11}
NODES = np.linspace(0.0, 2.0, 9)
FORCING = np.array([0.0, 0.4, 0.9, 0.5, 0.1, -0.3, -0.2, 0.0, 0.2])


def nested(f):
    """Mark a program in which another solver calls `solve_ivp`."""
    NESTED.add(f.__name__)
    return f


# ---------------------------------------------------------------------------- parameters
@program(0.7, 1.3)
def captured(a, b):
    def pendulum(t, y):
        return np.array([y[1], -a * np.sin(y[0]) - b * y[1]])

    sol = solve_ivp(pendulum, (0.0, 2.0), [1.0, 0.0], **OPTIONS)
    return np.sum(sol.y[:, -1] ** 2)


def predator(t, z, a, b, c=0.8, d=0.3):
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


@program(0.7, 1.3)
def further_arguments(a, b):
    sol = solve_ivp(predator, (0, 3), [2.0, 1.0], args=(a, b), **OPTIONS)
    x, y = sol.y
    return x[-1] * y[-1] + y[-1]


@program(0.7, 1.3)
def default_arguments(a, b):
    sol = solve_ivp(predator, [0, 2], (2.0, b), args=(a, b, a * b), method="DOP853", **OPTIONS)
    return sol.y[0, -1]


@program(0.7, 1.3)
def tuple_of_slopes(a, b):
    def sir(t, y):
        s, i, r = y
        new = a * 3.0 * s * i
        return new * -1.0, new - b * i, b * i

    sol = solve_ivp(sir, (0.0, 3.0), [0.99, 0.01, 0.0], **OPTIONS)
    return np.max(sol.y[2]) + sol.y[1][-1]


class Oscillator:
    def __init__(self, stiffness, damping):
        self.stiffness, self.damping = stiffness, damping

    def rhs(self, t, y):
        return np.array([y[1], -self.stiffness * y[0] - self.damping * y[1]])

    def __call__(self, t, y):
        return self.rhs(t, y)

    def simulate(self, y0):
        return solve_ivp(self.rhs, (0.0, 2.0), y0, **OPTIONS).y


@program(0.7, 1.3)
def method_of_an_object(a, b):
    return np.sum(Oscillator(a, b).simulate(np.array([1.0, 0.5]))[:, -1] ** 2)


@program(0.7, 1.3)
def object_that_is_called(a, b):
    sol = solve_ivp(Oscillator(a, b), (0.0, 2.0), np.array([1.0, a]), **OPTIONS)
    return sol["y"][0, -1]


@program(0.7, 1.3)
def partial(a, b):
    rhs = functools.partial(predator, a=a, b=b)
    return np.sum(solve_ivp(rhs, (0, 2), [2.0, 1.0], **OPTIONS).y[:, -1])


@program(0.7, 1.3)
def dict_of_parameters(a, b):
    p = {"k1": a, "k2": b, "volumes": np.array([1.0, 2.0])}

    def compartments(t, c, p):
        flow = p["k1"] * c[0] - p["k2"] * c[1]
        return np.array([-flow, flow]) / p["volumes"]

    sol = solve_ivp(compartments, (0.0, 2.0), [1.0, 0.0], args=(p,), **OPTIONS)
    return sol.y[1, -1] ** 2


@dataclass
class Rates:
    growth: float
    capacity: float


@program(0.7, 1.3)
def dataclass_of_parameters(a, b):
    rates = Rates(a, b)

    def logistic(t, n, rates):
        return rates.growth * n * (1.0 - n / rates.capacity)

    sol = solve_ivp(logistic, (0.0, 4.0), [0.1], args=(rates,), **OPTIONS)
    return sol.y[0, -1]


@program({"k": 0.7, "y0": np.array([1.0, 0.2])}, 1.3)
def dict_to_differentiate(p, b):
    def rhs(t, y):
        return [-p["k"] * y[0], p["k"] * y[0] - b * y[1]]

    return np.sum(solve_ivp(rhs, (0.0, 1.5), p["y0"], **OPTIONS).y[:, -1] ** 2)


# ---------------------------------------------------------------------------- right-hand sides
@program(0.7, 1.3)
def one_state(a, b):
    sol = solve_ivp(lambda t, y: -a * y, (0.0, b), [b], **OPTIONS)
    return sol.y[0][-1]


@program(np.array([[-0.5, 1.0], [-1.0, -0.2]]), 1.3)
def matrix(a, b):
    sol = solve_ivp(lambda t, y: a @ y, (0.0, b), np.array([1.0, 0.5]), **OPTIONS)
    return np.sum(sol.y[:, -1] ** 2)


@program(np.array([[-0.5, 1.0], [-1.0, -0.2]]), 1.3)
def matrix_of_states(a, b):
    def rhs(t, y):
        m = y.reshape(2, 2)
        return (a @ m + m @ a.T + b * np.eye(2)).ravel()

    sol = solve_ivp(rhs, (0.0, 1.0), np.zeros(4), **OPTIONS)
    return np.trace(sol.y[:, -1].reshape(2, 2))


@program(0.7, 1.3)
def branches(a, b):
    def rhs(t, y):
        drag = np.where(y > 0.0, a * y**2, b * y)
        return 1.0 - drag - np.maximum(y, 0.0)

    return np.sum(solve_ivp(rhs, (0.0, 2.0), [0.2, 0.1], **OPTIONS).y[:, -1])


@program(0.7, 1.3)
def saturation(a, b):
    def rhs(t, y):
        return [-a * y[0] / (b + y[0]) if y[0] > 0.0 else 0.0]

    return solve_ivp(rhs, (0.0, 1.5), [2.0], **OPTIONS).y[0, -1]


@program(FORCING, 1.3)
def interpolated_forcing(a, b):
    def rhs(t, y):
        return np.array([np.interp(t, NODES, a) - b * y[0]])

    return solve_ivp(rhs, (0.0, 2.0), [0.1], max_step=0.125, first_step=0.125, rtol=0.1).y[0, -1]


@program(0.7, 1.3)
def forcing(a, b):
    def drive(t):
        return a * np.cos(2.0 * b * t)

    def rhs(t, y):
        x, v = y
        dydt = np.zeros(2)
        dydt[0] = v
        dydt[1] = drive(t) - x - 0.2 * v
        return dydt

    sol = solve_ivp(rhs, (0.0, 3.0), np.zeros(2), first_step=0.01, **OPTIONS)
    return sol.y[0, -1]


@program(0.7, 1.3)
def heat_equation(a, b):
    x = np.linspace(0.0, 1.0, 8)

    def rhs(t, u):
        slopes = np.zeros_like(u)
        slopes[1:-1] = a * 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) / (x[1] - x[0]) ** 2
        slopes[0] = -b * u[0]
        return slopes

    return np.sum(solve_ivp(rhs, (0.0, 0.5), np.sin(np.pi * x) + b, **OPTIONS).y[:, -1] ** 2)


@program(0.7, 1.3)
def list_made_by_a_loop(a, b):
    def rhs(t, y):
        chain = []
        for i in range(3):
            left = y[i - 1] if i > 0 else a
            chain.append(left - b * y[i])
        return chain

    return solve_ivp(rhs, (0.0, 1.5), [0.0] * 3, **OPTIONS).y[-1, -1]


@program(0.7, 1.3)
def concatenated(a, b):
    def rhs(t, y):
        q, p = y[:2], y[2:]
        r = np.linalg.norm(q)
        return np.concatenate((p, -a * q / r**3))

    sol = solve_ivp(rhs, (0.0, 2.0), np.array([1.0, 0.0, 0.0, b]), **OPTIONS)
    return sol.y[0, -1] * sol.y[1, -1]


@program(0.7, 1.3)
def dict_of_species(a, b):
    names = ["A", "B", "C"]

    def rates(t, y):
        c = dict(zip(names, y, strict=True))
        by_name = {}
        for name, y_ in zip(names, y, strict=True):
            by_name[name] = y_ * b
        return [-a * c["A"], a * c["A"] - by_name["B"] ** 2, by_name["B"] ** 2]

    return solve_ivp(rates, (0.0, 2.0), [1.0, 0.2, 0.0], **OPTIONS).y[2, -1]


@dataclass
class Reactor:
    rate: float
    feed: float
    volumes: list = field(default_factory=lambda: [1.0, 2.0])

    def rhs(self, t, c):
        flow = self.feed - self.rate * c[0]
        return [flow / self.volumes[0], self.rate * c[0] / self.volumes[1] - c[1]]


@program(0.7, 1.3)
def dataclass_with_a_list(a, b):
    return np.sum(solve_ivp(Reactor(a, b).rhs, (0.0, 1.0), [0.1, 0.0], **OPTIONS).y[:, -1])


@program(0.7, 1.3)
@nested
def integral_to_the_state(a, b):
    def rhs(t, y):
        return [-quad(lambda x: b * x**2, 0.0, a * y[0])[0]]

    return solve_ivp(rhs, (0.0, 1.0), [1.0], **OPTIONS).y[0, -1]


# ---------------------------------------------------------------------------- spans and times
@program(0.7, 1.3)
def active_ends(a, b):
    sol = solve_ivp(lambda t, y: [y[1], -y[0] * t], (a, a + b), [1.0, b], **OPTIONS)
    return sol.y[0, -1] + sol.t[-1] * sol.t[0]


@program(0.7, 1.3)
def backwards(a, b):
    sol = solve_ivp(lambda t, y: [y[1], -a * y[0]], (b, -0.5), [1.0, b], **OPTIONS)
    return np.sum(sol.y[:, -1] ** 2)


@program(0.7, 1.3)
def given_times(a, b):
    t = np.linspace(0.0, 2.0, 11)
    sol = solve_ivp(lambda t, y: -a * y * t, (0.0, 2.0), [b, 1.0], t_eval=t, **OPTIONS)
    return np.mean((sol.y[0] - np.exp(-t)) ** 2) + sol.y[1, 4]


@program(0.7, 1.3)
def active_times(a, b):
    t_eval = [0.5 * a, a, a + b]
    sol = solve_ivp(lambda t, y: -b * y, (0.0, a + b), [1.0], t_eval=t_eval, **OPTIONS)
    return np.sum(sol.y[0] * sol.t)


@program(0.7, 1.3)
def times_backwards(a, b):
    t = np.linspace(2.0, 0.0, 7)
    sol = solve_ivp(
        lambda t, y, k: -k * y, (2.0, 0.0), [b], args=(a,), t_eval=t, method="DOP853", **OPTIONS
    )
    return np.sum(sol.y**2)


@program(0.7, 1.3)
def dense(a, b):
    sol = solve_ivp(
        lambda t, y: [y[1], -a * y[0]], (0.0, 3.0), [1.0, 0.0], dense_output=True, **OPTIONS
    )
    grid = sol.sol(np.linspace(0.0, 3.0, 20))
    return np.sum(grid[0] ** 2) + sol.sol(b)[1] * sol.sol(2.0 * a)[0]


@program(0.7, 1.3)
def dense_of_dop853(a, b):
    sol = solve_ivp(
        lambda t, y: [y[1], -a * np.sin(y[0])],
        (0.0, 3.0),
        [1.0, b],
        method=DOP853,
        dense_output=True,
        **OPTIONS,
    )
    return np.sum(sol.sol(np.array([0.3 * a, b, 2.9])) ** 2)


# ---------------------------------------------------------------------------- methods, tolerances
@program(0.7, 1.3)
def of_low_order(a, b):
    sol = solve_ivp(
        lambda t, y: -a * y**2, (0.0, 0.5), [b], method="RK23", rtol=1e-9, atol=1e-11, t_eval=[0.4]
    )
    return sol.y[0, -1]


@program(0.7, 1.3)
def vector_of_tolerances(a, b):
    sol = solve_ivp(
        lambda t, y: [-a * y[0], y[0] - b * y[1]],
        (0.0, 2.0),
        [1.0, 0.0],
        rtol=[1e-9, 1e-10],
        atol=np.array([1e-10, 1e-12]),
        max_step=0.5,
        first_step=1e-3,
        vectorized=False,
    )
    return sol.y[1, -1]


# ---------------------------------------------------------------------------- events
def ground(t, y, *parameters):
    return y[0]


ground.terminal = True
ground.direction = -1


@program(0.7, 1.3)
def flight(a, b):
    def fall(t, y, drag, gravity):
        return [y[1], -9.81 * gravity - drag * y[1] * abs(y[1])]

    sol = solve_ivp(fall, (0.0, 50.0), [1.0, 5.0 * b], args=(a, b), events=ground, **OPTIONS)
    return sol.t_events[0][0] + sol.y_events[0][0, 1] ** 2 + sol.t[-1] * sol.y[1, -1]


@program(0.7, 1.3)
def local_event(a, b):
    def reaches(t, y):
        return y[0] - b

    reaches.terminal = True
    sol = solve_ivp(lambda t, y: a * y, (0.0, 10.0), [0.5], events=reaches, **OPTIONS)
    return sol.t[-1] if sol.status == 1 else 0.0


@program(0.7, 1.3)
def several_events(a, b):
    top = lambda t, y: y[1]  # noqa: E731
    top.direction = -1
    never = lambda t, y: y[0] - 100.0 * b  # noqa: E731
    sol = solve_ivp(
        lambda t, y: [y[1], -a * 9.0 * y[0] - 0.1 * b * y[1]],
        *((0.0, 6.0), [1.0, 0.3]),
        events=[top, never, lambda t, y: y[0] - 0.1 * b],
        **OPTIONS,
    )
    found = len(sol.t_events[1])
    return np.sum(sol.t_events[0]) + found + np.sum(sol.y_events[2][:, 1] ** 2) + sol.t_events[2][1]


def level(t, y):
    return y[0] - 0.2


level.terminal = 2


@program(0.7, 1.3)
def second_crossing(a, b):
    sol = solve_ivp(
        lambda t, y: [y[1], -a * 9.0 * y[0]], (0.0, 9.0), [1.0, b], events=[level], **OPTIONS
    )
    return sol.t[-1] + sol.y[1][-1]


@program(0.7, 1.3)
def no_event(a, b):
    sol = solve_ivp(lambda t, y: -a * y, (0.0, 2.0), [b], events=ground, **OPTIONS)
    if sol.t_events[0].size > 0:
        return sol.t_events[0][0]
    return sol.y[0, -1]


@program(0.7, 1.3)
def event_of_time_with_dense_output(a, b):
    event = lambda t, y: np.sin(b * t) - y[0]  # noqa: E731
    sol = solve_ivp(
        lambda t, y: [-a * y[0]],
        (0.0, 2.0),
        [0.8],
        events=(event,),
        dense_output=True,
        t_eval=np.linspace(0, 2, 5),
        **OPTIONS,
    )
    (t,) = sol.t_events[0]
    return t + sol.sol(t - 0.1)[0] + np.sum(sol.y)


class Cooling:
    def __init__(self, rate):
        self.rate = rate

    def rhs(self, t, y):
        return -self.rate * y

    def cold(self, t, y):
        return y[0] - 0.5 * self.rate

    cold.terminal = True

    def run(self, y0):
        return solve_ivp(self.rhs, (0.0, 9.0), [y0], events=self.cold, args=None, **OPTIONS)


@program(0.7, 1.3)
def event_of_an_object(a, b):
    return Cooling(a).run(b).t[-1]


@program(0.7, 1.3)
def event_with_setattr(a, b):
    def cold(t, y):
        return y[0] - 0.5 * a

    setattr(cold, "terminal", True)  # noqa: B010
    sol = solve_ivp(
        lambda t, y: -b * y, (0.0, 9.0), [1.0], events=cold, dense_output=True, **OPTIONS
    )
    return sol.t[-1] + sol.sol(sol.sol.t_max)[0]


@program(0.7, 1.3)
def event_of_a_partial_function(a, b):
    def colder(level, t, y):
        return y[0] - level

    colder.terminal = True  # a partial function does not have it
    event = functools.partial(colder, 0.3 * a)
    sol = solve_ivp(lambda t, y: -b * y, (0.0, 2.0), [1.0], events=event, **OPTIONS)
    return sol.t[-1] + sol.t_events[0][0]


@program(0.7, 1.3)
def bounces(a, b):
    def hit(t, y):
        return y[0]

    hit.terminal = True
    hit.direction = -1.0
    t, y = 0.0, np.array([1.0, 0.0])
    for _ in range(2):
        sol = solve_ivp(lambda t, y: np.array([y[1], -b]), (t, t + 10.0), y, events=hit, **OPTIONS)
        t, y = sol.t[-1], np.array([0.0, -a * sol.y[1, -1]])
    return t


@program(0.7, 1.3)
def thermostat(a, b):
    def crossing(level, direction):
        event = lambda t, y: y[0] - level  # noqa: E731
        event.terminal = True
        event.direction = direction
        return event

    t, y, on = 0.0, [0.5], True
    for _ in range(3):
        event = crossing(1.0 + 0.2 * b, 1) if on else crossing(1.0 - 0.2 * b, -1)
        heat = lambda t, y: -a * y + (2.0 if on else 0.0)  # noqa: B023, E731
        sol = solve_ivp(heat, (t, t + 9.0), y, events=[event], **OPTIONS)
        if sol.status != 1:
            break
        t, y, on = sol.t[-1], sol.y[:, -1], not on
    return t


@program(0.7, 1.3)
def one_of_two_functions(a, b):
    decay, growth = (lambda t, y: -a * y), (lambda t, y: b - y)
    t, y = 0.0, np.array([1.0])
    for _ in range(3):
        y = solve_ivp(decay if y[0] > 0.9 else growth, (t, t + 0.5), y, **OPTIONS).y[:, -1]
        t = t + 0.5
    return y[0]


# ---------------------------------------------------------------------------- other solvers
def decay_of(p, t):
    options = {"t_eval": t, "method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    return solve_ivp(lambda t, y: -p[1] * y**1.5, (0.0, t[-1]), [p[0]], **options).y[0]


TIMES = np.linspace(0.0, 3.0, 6)
DATA = np.array([2.0, 1.3, 0.9, 0.72, 0.55, 0.41])


@program(0.7, 1.3)
@nested
def fit(a, b):
    data = DATA * np.array([1.0, a, 1.0, b, 1.0, 1.0])

    def residuals(p):
        return decay_of(p, TIMES) - data

    options = {"xtol": 1e-15, "gtol": 1e-13, "ftol": None}
    found = least_squares(residuals, [2.0, 0.5], jac=srcad.jacobian(residuals), **options)
    return found.x[1] + found.cost


@program(0.7, 1.3)
@nested
def fitted_curve(a, b):
    data = DATA + np.array([0.0, a, 0.0, b, 0.0, 0.0]) * 0.1
    popt, _ = curve_fit(
        lambda t, p, q: decay_of([p, q], t),
        *(TIMES, data, [2.0, 0.5]),
        xtol=1e-15,
        gtol=1e-13,
        ftol=None,
        method="trf",
        jac="3-point",
    )
    return popt[0] * popt[1]


@program(0.7, 1.3)
@nested
def minimum(a, b):
    def cost(u):
        sol = solve_ivp(lambda t, y: u[0] - a * y, (0.0, 1.0), [0.0], **OPTIONS)
        return (sol.y[0, -1] - b) ** 2 + 0.1 * u[0] ** 2

    return minimize(cost, [1.0], jac=srcad.grad(cost), tol=1e-12).x[0]


@program(0.7, 1.3)
@nested
def shooting(a, b):
    def miss(slope):
        sol = solve_ivp(lambda x, y: [y[1], -a * np.sin(y[0])], (0.0, 1.0), [0.0, slope], **OPTIONS)
        return sol.y[0, -1] - b

    return brentq(miss, 0.0, 5.0, xtol=1e-13)


@program(0.7, 1.3)
@nested
def shooting_for_two(a, b):
    def miss(v):
        sol = solve_ivp(
            lambda x, y: [y[1], -a * y[0] + 0.1 * y[2], y[3], -y[2] * y[0]],
            *((0.0, 1.0), [0.0, v[0], 1.0, v[1]]),
            **OPTIONS,
        )
        return sol.y[[0, 2], -1] - np.array([b, 0.5])

    return np.sum(root(miss, [1.0, 0.0], tol=1e-12).x)


@program(0.7, 1.3)
@nested
def integral_of_a_solution(a, b):
    sol = solve_ivp(lambda t, y: -a * y, (0.0, 2.0), [1.0], dense_output=True, **OPTIONS)
    return quad(lambda t: sol.sol(t)[0] ** 2, 0.0, b)[0]


@program(0.7, 1.3)
@nested
def root_of_a_time(a, b):
    def time(speed):
        def lands(t, y):
            return y[0]

        lands.terminal = True
        lands.direction = -1
        fall = lambda t, y: [y[1], -9.81 - a * y[1]]  # noqa: E731
        sol = solve_ivp(fall, (0, 9), [0.0, speed], events=lands, **OPTIONS)
        return sol.t_events[0][0]

    return brentq(lambda v: time(v) - b, 3.0, 20.0, xtol=1e-12)


@program(0.7, 1.3)
def several_data_sets(a, b):
    total = 0.0
    for y0, end in [([1.0], 1.0), ([2.0], 1.5), ([0.5], 2.0)]:
        sol = solve_ivp(lambda t, y: -a * y**b, (0.0, end), y0, **OPTIONS)
        total += (sol.y[0, -1] - 0.4) ** 2
    return total


@program(0.7, 1.3)
def several_data_sets_in_a_comprehension(a, b):
    starts = np.array([[1.0, 0.2], [0.5, 0.1], [0.3, 0.4]])
    ends = [
        solve_ivp(lambda t, y: np.array([-a * y[0], b * y[0]]), (0.0, 1.0), y0, **OPTIONS).y[:, -1]
        for y0 in starts
    ]
    return np.sum(np.array(ends) ** 2)
