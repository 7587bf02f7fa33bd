"""Stars that attract each other."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


def accelerations(pos, mass, G, softening):
    """Return the acceleration of each star by all the others, by Newton's law, softened."""
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def energies(pos, vel, mass, G):
    """Return the kinetic and the potential energy."""
    KE = 0.5 * np.sum(np.sum(mass * vel**2))
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    PE = G * np.sum(np.sum(np.triu(-(mass * mass.T) * inv_r, 1)))
    return KE, PE


def nbody(mass, pos, vel, Nt, dt, G, softening):
    """Leap along the orbits of the stars in place; return the energies at every time."""
    KE = np.empty(Nt + 1, dtype=pos.dtype)
    PE = np.empty(Nt + 1, dtype=pos.dtype)
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = accelerations(pos, mass, G, softening)
    KE[0], PE[0] = energies(pos, vel, mass, G)
    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = accelerations(pos, mass, G, softening)
        vel += acc * dt / 2.0
        KE[i + 1], PE[i + 1] = energies(pos, vel, mass, G)
    return KE, PE


def stars(rng, steps, n):
    """Masses, places, velocities, and constants."""
    mass = rng.uniform(0.5, 1.5, (n, 1))
    return mass, rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), steps, 0.02, 1.0, 0.3


@kernel(stars, (3, 4), (20, 60), peer=True)
def sum_of_nbody(mass, pos, vel, Nt, dt, G, softening):
    """The energies, and where the stars are in the end."""
    KE, PE = nbody(mass, pos, vel, Nt, dt, G, softening)
    return weighted(KE) + weighted(PE) + weighted(pos) + weighted(vel)
