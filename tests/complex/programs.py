"""Programs with complex numbers in them, as people write them, and points to try them at.

Each returns one real number.  Arguments are real or complex, numbers, arrays or structures.
"""

from __future__ import annotations

import numpy as np

PROGRAMS: list = []
_RNG = np.random.default_rng(17)


def real(*shape):
    return _RNG.normal(size=shape)


def cplx(*shape):
    return _RNG.normal(size=shape) + 1j * _RNG.normal(size=shape)


def at(*args):
    """Note a program with a point."""

    def register(function):
        PROGRAMS.append((function, args))
        return function

    return register


# ------------------------------------------------------------------------ quantum mechanics
X = np.array([[0, 1], [1, 0]], complex)
Y = np.array([[0, -1j], [1j, 0]])
Z = np.diag([1.0 + 0j, -1.0])


def rotation(axis, angle):
    return np.cos(angle / 2) * np.eye(2) - 1j * np.sin(angle / 2) * axis


@at(real(3, 2))
def variational_circuit(angles):
    """Layers of rotations and a controlled flip on two qubits; the energy of a spin pair."""
    flip = np.eye(4)[[0, 1, 3, 2]]
    state = np.zeros(4, complex)
    state[0] = 1.0
    for row in angles:
        gate = np.kron(rotation(Y, row[0]), rotation(X, row[1]))
        state = flip @ (gate @ state)
    energy = np.kron(Z, Z) + 0.5 * np.kron(X, np.eye(2))
    return np.vdot(state, energy @ state).real


@at(real(4), 0.3)
def schroedinger_by_euler(psi, step):
    """Explicit steps of i dpsi/dt = H psi, normalised at each."""
    psi = psi.astype(complex)
    for _ in range(3):
        bent = 2 * psi
        bent[1:] -= psi[:-1]
        bent[:-1] -= psi[1:]
        psi = psi - 1j * step * bent
        psi = psi / np.linalg.norm(psi)
    return np.sum(np.arange(4) * np.abs(psi) ** 2)


@at(cplx(5), real(5))
def crank_nicolson(psi, potential):
    """Implicit steps: a complex linear system for each."""
    n = len(psi)
    h = np.diag(2.0 + potential) - np.eye(n, k=1) - np.eye(n, k=-1)
    left, right = np.eye(n) + 0.05j * h, np.eye(n) - 0.05j * h
    for _ in range(3):
        psi = np.linalg.solve(left, right @ psi)
    return np.abs(psi[2]) ** 2 + np.imag(psi[0] * np.conj(psi[1]))


@at(real(3))
def fidelity_of_a_gate(angles):
    target = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    made = rotation(X, angles[0]) @ rotation(Y, angles[1]) @ rotation(X, angles[2])
    return abs(np.trace(target.conj().T @ made)) ** 2 / 4


@at(cplx(3, 3))
def purity_of_a_density_matrix(a):
    rho = a @ a.conj().T
    rho = rho / np.trace(rho)
    return np.trace(rho @ rho).real


@at(cplx(3, 3), cplx(3, 3))
def ground_state_energy(a, b):
    h = a + a.conj().T
    energies, states = np.linalg.eigh(h)
    ground = states[:, 0]
    return energies[0] + (ground.conj() @ (b + b.conj().T) @ ground).real


@at(cplx(2, 2, 2), cplx(2, 2, 2))
def matrix_product_state(left, right):
    """The norm of a state of two sites, by contractions."""
    pair = np.einsum("iaj,jbk->iabk", left, right)
    return np.einsum("iabk,iabk->", pair, pair.conj()).real


@at(real(2), 0.4)
def spin_in_a_field(field, time):
    """A qubit that turns about an axis, by the closed exponential."""
    size = np.hypot(field[0], field[1])
    h = field[0] * X + field[1] * Z
    u = np.cos(size * time) * np.eye(2) - 1j * np.sin(size * time) * h / size
    return np.abs(u[1, 0]) ** 2


# ------------------------------------------------------------------------ waves and optics
@at(np.array([1.4, 2.1, 1.7]), np.array([0.2, 0.3, 0.25]), 1.1)
def reflectance_of_layers(indices, widths, wavelength):
    """Transfer matrices of a stack of thin films with absorption."""
    m = np.eye(2, dtype=complex)
    for n, width in zip(indices, widths, strict=True):
        n = n + 0.01j
        phase = 2 * np.pi * n * width / wavelength
        c, s = np.cos(phase), np.sin(phase)
        m = m @ np.array([[c, -1j * s / n], [-1j * n * s, c]])
    top = m[0, 0] + m[0, 1] - m[1, 0] - m[1, 1]
    bottom = m[0, 0] + m[0, 1] + m[1, 0] + m[1, 1]
    return np.abs(top / bottom) ** 2


@at(real(4), real(4))
def array_of_antennas(phases, amplitudes):
    """The power that an array radiates into a few directions."""
    directions = np.linspace(-0.5, 0.5, 5)
    steering = np.exp(1j * np.pi * np.outer(np.sin(directions), np.arange(4)))
    field = steering @ (amplitudes * np.exp(1j * phases))
    return np.sum(np.abs(field) ** 2 * np.array([0.1, 0.5, 1.0, 0.5, 0.1]))


@at(0.7 + 0.2j, 1.3)
def gaussian_beam(q, distance):
    """The size of a beam behind a lens, by its complex parameter."""
    q = q + distance
    q = 1 / (1 / q - 1 / 0.8)
    return -1.0 / (np.pi * (1 / q).imag)


@at(real(6))
def interference(heights):
    waves = np.exp(2j * np.pi * heights[:, None] * np.array([1.0, 0.7])[None, :])
    return np.var(np.abs(waves.sum(axis=0) + waves[0]))


# ------------------------------------------------------------------------ signals
@at(real(8))
def spectrum_without_fft(signal):
    """The power in the upper half of the spectrum, by a matrix of roots of unity."""
    n = len(signal)
    k = np.arange(n)
    spectrum = np.exp(-2j * np.pi * np.outer(k, k) / n) @ signal
    return np.sum(np.abs(spectrum[n // 4 : n // 2]) ** 2) / np.sum(np.abs(spectrum) ** 2)


@at(real(3), 0.3)
def spectrum_of_an_ar_process(coefficients, frequency):
    z = np.exp(-2j * np.pi * frequency)
    response = 1.0
    for k, a in enumerate(coefficients):
        response = response - a * z ** (k + 1)
    return 1.0 / np.abs(response) ** 2


@at(np.array([0.5 + 0.3j, 0.5 - 0.3j]), np.array([0.9 + 0.1j]))
def filter_by_poles_and_zeros(zeros, poles):
    """The decibels of a digital filter at a few frequencies."""
    z = np.exp(1j * np.array([0.1, 0.5, 1.2]))
    top = np.prod(z[:, None] - zeros, axis=1)
    bottom = np.prod(z[:, None] - poles, axis=1)
    return np.sum(20 * np.log10(np.abs(top / bottom)))


@at(real(6), cplx(2))
def recursive_filter(signal, weights):
    """A complex resonator, run sample by sample into an array."""
    out = np.zeros(len(signal), dtype=complex)
    state = 0j
    for k in range(len(signal)):
        state = weights[0] * state + signal[k]
        out[k] = state * weights[1]
    return np.sum(out.real**2) + np.angle(out[3])


@at(cplx(5), real(3))
def phase_tracking(samples, gains):
    """A loop that follows a carrier: the phase turns complex what was real."""
    phase, total = 0.1, 0.0
    for s in samples:
        error = np.angle(s * np.exp(-1j * phase))
        phase = phase + gains[0] * error
        total = total + gains[1] * error**2 + gains[2] * phase
    return total


@at(cplx(4), cplx(4))
def coherence(a, b):
    return np.abs(np.vdot(a, b)) / (np.linalg.norm(a) * np.linalg.norm(b))


@at(cplx(3, 4))
def subspace_power(snapshots):
    """The largest eigenvalue of a covariance, as in beam forming."""
    covariance = snapshots @ snapshots.conj().T / snapshots.shape[1]
    return np.linalg.eigvalsh(covariance)[-1] - np.mean(np.abs(snapshots))


# ------------------------------------------------------------------------ networks, control
@at(np.array([5.0, 7.5]), 0.4, 0.3, 0.5)
def impedance_of_a_ladder(resistors, inductance, capacity, frequency):
    omega = 2 * np.pi * frequency
    z = resistors[-1] + 0j
    for r in resistors[::-1]:
        z = r + 1j * omega * inductance + 1 / (1 / z + 1j * omega * capacity)
    return abs(z) + np.angle(z, deg=True)


@at(cplx(3, 3), cplx(3))
def power_in_a_network(admittances, currents):
    voltages = np.linalg.solve(admittances + 4 * np.eye(3), currents)
    return np.sum((voltages * currents.conj()).real)


@at({"r": 2.0, "l": 0.5, "c": 0.1}, np.array([0.5, 1.0, 2.0]))
def bode_plot(parts, omegas):
    """The gain of a series resonator over some frequencies."""
    total = 0.0
    for omega in omegas:
        z = complex(parts["r"], omega * parts["l"] - 1 / (omega * parts["c"]))
        total += np.log(abs(parts["r"] / z))
    return total


@at(real(2, 2), real(2), 0.8)
def transfer_function(a, b, omega):
    response = np.linalg.inv(1j * omega * np.eye(2) - a) @ b
    return np.max(np.abs(response)) + np.abs(np.linalg.det(1j * omega * np.eye(2) - a))


@at(cplx(3, 3))
def log_determinant(a):
    sign, size = np.linalg.slogdet(a + 2 * np.eye(3))
    return size + sign.imag * 2.0 + sign.real


# ------------------------------------------------------------------------ numerical code
@at(0.4 + 0.7j, 3.0)
def newton_for_a_root(z, a):
    for _ in range(4):
        z = z - (z**3 - a) / (3 * z**2)
        if abs(z) > 10:
            z = z / abs(z)
    return abs(z - 0.5) ** 2


@at(0.2 + 0.5j)
def escape_of_an_orbit(c):
    """A smooth count of the orbit of z**2 + c, left by a break."""
    z = 0j
    steps = 0
    while steps < 20:
        z = z * z + c
        steps += 1
        if abs(z) > 1.2:
            break
    return steps - np.log2(np.log(abs(z) + 1.5))


@at(cplx(3, 3))
def polar_decomposition(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    unitary = u @ vh
    return np.sum(np.abs(unitary - np.eye(3)) ** 2) + s[0]


@at(cplx(3, 3))
def hermitian_factor(a):
    spd = a @ a.conj().T + 2 * np.eye(3)
    lower = np.linalg.cholesky(spd)
    return np.abs(lower[2, 0]) + np.log(np.prod(np.diag(lower).real))


@at([0.3 + 0.1j, 0.5j, 1.2 - 0.4j], 0.7)
def polynomial_by_horner(coefficients, x):
    y = 0j
    for c in reversed(coefficients):
        y = y * (x + 0.5j) + c
    return y.real * y.imag


@at(np.array([0.1, 0.4]), 0.3)
def theta_function(q, z):
    """A sum of exponentials, over complex arguments that a comprehension makes."""
    terms = [qk ** (n * n) * np.exp(2j * n * z) for qk in q for n in range(-2, 3)]
    return np.abs(sum(terms))


@at(cplx(4), real(4))
def moebius_flow(points, weights):
    """Points that move in the disc, some by a branch of their own."""
    out = []
    for p, w in zip(points, weights, strict=True):
        if abs(p) > 1:
            out.append((p - w) / (1 - w * p.conjugate()))
        else:
            out.append(p * np.exp(1j * w))
    flow = np.array(out)
    return np.sum(np.abs(flow - flow.mean()) ** 2)


@at(cplx(3, 2), cplx(2), real(3))
def complex_network(w, b, x):
    """A layer with complex weights and a magnitude as its activation."""
    h = x @ w + b
    h = h * np.tanh(np.abs(h)) / (np.abs(h) + 1e-3)
    return np.sum(h.real**2 + 0.5 * h.imag)


@at(real(3), real(3))
def branch_points(x, y):
    """Square roots and logarithms of complex arguments away from their cuts."""
    z = x + 1j * (np.abs(y) + 0.2)
    return np.sum(np.real(np.sqrt(z) * np.log(z + 2j) + np.arctan(z / 3) + np.arcsinh(z) ** 0.5))
