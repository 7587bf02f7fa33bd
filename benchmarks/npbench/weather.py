"""Two stencils of a weather model: horizontal diffusion and vertical advection."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


def hdiff(in_field, out_field, coeff):
    """Diffuse a field horizontally; a limiter stops fluxes up the gradient."""
    I, J, _ = out_field.shape
    lap_field = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :]
        + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :]
        + in_field[1 : I + 3, 0 : J + 2, :]
    )
    res = lap_field[1:, 1 : J + 1, :] - lap_field[:-1, 1 : J + 1, :]
    slope = in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :]
    flx_field = np.where(res * slope > 0, 0, res)
    res = lap_field[1 : I + 1, 1:, :] - lap_field[1 : I + 1, :-1, :]
    slope = in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :]
    fly_field = np.where(res * slope > 0, 0, res)
    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff[:, :, :] * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


def field(rng, i, j, k):
    """A field with a margin of two, one to fill, and coefficients."""
    return rng.random((i + 4, j + 4, k)), rng.random((i, j, k)), rng.random((i, j, k))


@kernel(field, (3, 4, 2), (60, 60, 30))
def sum_of_hdiff(in_field, out_field, coeff):
    """The field that was filled."""
    hdiff(in_field, out_field, coeff)
    return weighted(out_field)


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    """Advect implicitly along the vertical: a tridiagonal system in every column."""
    bet_m = 0.5
    bet_p = 0.5
    I, J, K = utens_stage.shape
    ccol = np.empty((I, J, K), dtype=utens_stage.dtype)
    dcol = np.empty((I, J, K), dtype=utens_stage.dtype)
    data_col = np.empty((I, J), dtype=utens_stage.dtype)

    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * bet_m
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr_stage - ccol[:, :, k]
        correction = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        )
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * bet_m
        cs = gcv * bet_m
        acol = gav * bet_p
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        )
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * bet_m
        acol = gav * bet_p
        bcol = dtr_stage - acol
        correction = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        )
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])

    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


def columns(rng, i, j, k):
    """Tendencies, velocities and the inverse of the time step; `wcon` has one row more."""
    utens_stage, u_stage, u_pos, utens = (rng.random((i, j, k)) for _ in range(4))
    return utens_stage, u_stage, rng.random((i + 1, j, k)), u_pos, utens, 3.0 / 2.0


@kernel(columns, (2, 3, 4), (40, 40, 40))
def sum_of_vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    """The tendencies that were filled."""
    vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage)
    return weighted(utens_stage)
