"""Fourier, cosine and sine transforms of `scipy.fft`.

The Fourier transforms are those of `numpy.fft`, whose rules they share.  Without its factors the
transpose of a cosine or sine transform of type 2 is that of type 3, but for one entry, and the
other way round; types 1 and 4 are symmetric, but for the ends.  With ``orthogonalize`` they are so
without exception.

Source: Strang (1999), *The discrete cosine transform*, SIAM Review 41.
"""

import numpy as np
from scipy import fft as fourier

from srcad.rules import fft as of_numpy
from srcad.rules.declare import linear, nondifferentiable
from srcad.rules.row import COMPLEX
from srcad.rules.scipy.linalg_systems import overwrites
from srcad.rules.shape import span

_WRITES = overwrites("x")

nondifferentiable(fourier.fftfreq, fourier.rfftfreq, fourier.next_fast_len)


# ------------------------------------------------------------------------ Fourier transforms
@linear(
    fourier.fft,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, v, m: [f(v), f(m, 3), f(m, 5, 0, "ortho"), f(v, norm="forward")],
)
def fft(y_bar, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return of_numpy.fft(y_bar, x, n, axis, norm)


@linear(
    fourier.ifft,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, v, m: [f(m, 5), f(m, 2, 0, "ortho"), f(v, norm="forward")],
)
def ifft(y_bar, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return of_numpy.ifft(y_bar, x, n, axis, norm)


@linear(
    fourier.rfft,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, v, m: [f(v), f(m, 3), f(m, 5, 0, "ortho"), f(v, norm="forward")],
)
def rfft(y_bar, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return of_numpy.rfft(y_bar, x, n, axis, norm)


@linear(
    fourier.irfft,
    refuses=_WRITES,
    samples=lambda f, v, m: [f(v), f(m, 3), f(m, 8, 0, "ortho"), f(v, 7, norm="forward")],
)
def irfft(y_bar, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return of_numpy.irfft(y_bar, x, n, axis, norm)


@linear(
    fourier.hfft,
    refuses=_WRITES,
    samples=lambda f, v, m: [f(v), f(m, 7), f(m, axis=0, norm="ortho")],
)
def hfft(y_bar, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return of_numpy.hfft(y_bar, x, n, axis, norm)


@linear(
    fourier.ihfft,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, v, m: [f(v), f(m, 3), f(m, axis=0, norm="ortho")],
)
def ihfft(y_bar, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return of_numpy.ihfft(y_bar, x, n, axis, norm)


@linear(
    fourier.fftn,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, m, t: [f(m), f(t, axes=(0, 2)), f(t, (3, 2), (0, -1), "ortho")],
)
def fftn(y_bar, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return of_numpy.fftn(y_bar, x, s, axes, norm)


@linear(
    fourier.ifftn,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, m, t: [f(m, norm="forward"), f(t, (3, 2), (0, -1), "ortho")],
)
def ifftn(y_bar, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return of_numpy.ifftn(y_bar, x, s, axes, norm)


@linear(
    fourier.fft2,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, m, t: [f(m), f(t, (2, 5), (0, 1), "ortho")],
)
def fft2(y_bar, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
    return of_numpy.fft2(y_bar, x, s, axes, norm)


@linear(
    fourier.ifft2,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, m, t: [f(m), f(t, (2, 5), (0, 1), "ortho")],
)
def ifft2(y_bar, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
    return of_numpy.ifft2(y_bar, x, s, axes, norm)


@linear(
    fourier.rfftn,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, t: [f(t), f(t, axes=(2, 0)), f(t, (3, 3), (0, -1), "ortho")],
)
def rfftn(y_bar, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return of_numpy.rfftn(y_bar, x, s, axes, norm)


@linear(
    fourier.irfftn,
    refuses=_WRITES,
    samples=lambda f, t: [f(t), f(t, axes=(2, 0)), f(t, (3, 5), (0, -1), "ortho")],
)
def irfftn(y_bar, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None):
    return of_numpy.irfftn(y_bar, x, s, axes, norm)


@linear(
    fourier.rfft2,
    refuses=_WRITES,
    result=COMPLEX,
    samples=lambda f, m, t: [f(m), f(t, (2, 5), (0, 1), "ortho")],
)
def rfft2(y_bar, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
    return of_numpy.rfft2(y_bar, x, s, axes, norm)


@linear(
    fourier.irfft2,
    refuses=_WRITES,
    samples=lambda f, m, t: [f(m), f(t, (2, 5), (0, 1), "ortho")],
)
def irfft2(y_bar, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
    return of_numpy.irfft2(y_bar, x, s, axes, norm)


@linear(fourier.fftshift, entries="moved", samples=lambda f, m: [f(m), f(m, (-1,))])
def fftshift(y_bar, x, axes=None):
    return fourier.ifftshift(y_bar, axes)


@linear(fourier.ifftshift, entries="moved", samples=lambda f, m: [f(m), f(m, (-1,))])
def ifftshift(y_bar, x, axes=None):
    return fourier.fftshift(y_bar, axes)


# ------------------------------------------------------------------------ cosines and sines
@linear(
    fourier.dct, refuses=_WRITES, real_only=True,
    samples=lambda f, v, m: [
        f(v), *[f(m, k) for k in (1, 2, 3, 4)], *[f(m, k, 5, 0, "ortho") for k in (1, 2, 3, 4)],
        f(v, 2, 3, norm="forward"), f(v, 3, norm="ortho", orthogonalize=False),
        f(v, 1, orthogonalize=True)],
)  # fmt: skip
def dct(
    y_bar, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    bar = transposed(fourier.dct, y_bar, type, axis, norm, is_orthogonal)
    return of_numpy.fitted(bar, x, n)


@linear(
    fourier.idct, refuses=_WRITES, real_only=True,
    samples=lambda f, v, m: [
        f(v), *[f(m, k) for k in (1, 2, 3, 4)], *[f(m, k, 5, 0, "ortho") for k in (1, 2, 3, 4)],
        f(v, 2, 3, norm="forward"), f(v, 3, norm="ortho", orthogonalize=False),
        f(v, 1, orthogonalize=True)],
)  # fmt: skip
def idct(
    y_bar, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    bar = transposed(
        fourier.dct, y_bar, inverse_type(type), axis, of_numpy.turned_round(norm), is_orthogonal
    )
    return of_numpy.fitted(bar, x, n)


@linear(
    fourier.dst, refuses=_WRITES, real_only=True,
    samples=lambda f, v, m: [
        f(v), *[f(m, k) for k in (1, 2, 3, 4)], *[f(m, k, 5, 0, "ortho") for k in (1, 2, 3, 4)],
        f(v, 2, 3, norm="forward"), f(v, 3, norm="ortho", orthogonalize=False),
        f(v, 1, orthogonalize=True)],
)  # fmt: skip
def dst(
    y_bar, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    bar = transposed(fourier.dst, y_bar, type, axis, norm, is_orthogonal)
    return of_numpy.fitted(bar, x, n)


@linear(
    fourier.idst, refuses=_WRITES, real_only=True,
    samples=lambda f, v, m: [
        f(v), *[f(m, k) for k in (1, 2, 3, 4)], *[f(m, k, 5, 0, "ortho") for k in (1, 2, 3, 4)],
        f(v, 2, 3, norm="forward"), f(v, 3, norm="ortho", orthogonalize=False),
        f(v, 1, orthogonalize=True)],
)  # fmt: skip
def idst(
    y_bar, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    bar = transposed(
        fourier.dst, y_bar, inverse_type(type), axis, of_numpy.turned_round(norm), is_orthogonal
    )
    return of_numpy.fitted(bar, x, n)


@linear(
    fourier.dctn, refuses=_WRITES, real_only=True,
    samples=lambda f, m, t: [
        f(m), *[f(t, k, axes=(0, 2)) for k in (1, 2, 3, 4)],
        f(t, 3, (3, 2), (0, -1), "ortho"), f(m, 2, norm="forward"),
        f(m, 2, norm="ortho", orthogonalize=False), f(m, 3, orthogonalize=True)],
)  # fmt: skip
def dctn(
    y_bar, x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    along = span(0, np.ndim(x)) if axes is None and s is None else of_numpy.chosen(s, axes)
    bar = transposed(fourier.dctn, y_bar, type, along, norm, is_orthogonal)
    return of_numpy.fitted(bar, x, s)


@linear(
    fourier.idctn, refuses=_WRITES, real_only=True,
    samples=lambda f, m, t: [
        f(m), *[f(t, k, axes=(0, 2)) for k in (1, 2, 3, 4)],
        f(t, 3, (3, 2), (0, -1), "ortho"), f(m, 2, norm="forward"),
        f(m, 2, norm="ortho", orthogonalize=False), f(m, 3, orthogonalize=True)],
)  # fmt: skip
def idctn(
    y_bar, x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    along = span(0, np.ndim(x)) if axes is None and s is None else of_numpy.chosen(s, axes)
    bar = transposed(
        fourier.dctn, y_bar, inverse_type(type), along, of_numpy.turned_round(norm), is_orthogonal
    )
    return of_numpy.fitted(bar, x, s)


@linear(
    fourier.dstn, refuses=_WRITES, real_only=True,
    samples=lambda f, m, t: [
        f(m), *[f(t, k, axes=(0, 2)) for k in (1, 2, 3, 4)],
        f(t, 3, (3, 2), (0, -1), "ortho"), f(m, 2, norm="forward"),
        f(m, 2, norm="ortho", orthogonalize=False), f(m, 3, orthogonalize=True)],
)  # fmt: skip
def dstn(
    y_bar, x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    along = span(0, np.ndim(x)) if axes is None and s is None else of_numpy.chosen(s, axes)
    bar = transposed(fourier.dstn, y_bar, type, along, norm, is_orthogonal)
    return of_numpy.fitted(bar, x, s)


@linear(
    fourier.idstn, refuses=_WRITES, real_only=True,
    samples=lambda f, m, t: [
        f(m), *[f(t, k, axes=(0, 2)) for k in (1, 2, 3, 4)],
        f(t, 3, (3, 2), (0, -1), "ortho"), f(m, 2, norm="forward"),
        f(m, 2, norm="ortho", orthogonalize=False), f(m, 3, orthogonalize=True)],
)  # fmt: skip
def idstn(
    y_bar, x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *,
    orthogonalize=None,
):  # fmt: skip
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    along = span(0, np.ndim(x)) if axes is None and s is None else of_numpy.chosen(s, axes)
    bar = transposed(
        fourier.dstn, y_bar, inverse_type(type), along, of_numpy.turned_round(norm), is_orthogonal
    )
    return of_numpy.fitted(bar, x, s)


def inverse_type(type):
    """The type of the inverse, and of the transpose."""
    if type == 2:
        return 3
    return 2 if type == 3 else type


def transposed(transform, g, type, axes, norm, is_orthogonal):
    """The transpose of a transform; the types differ in entries that count twice.

    These are the first of cosines, the last of sines, and both ends of cosines of type 1.
    """
    is_sine = transform is fourier.dst or transform is fourier.dstn
    if is_orthogonal or type == 4 or (is_sine and type == 1):
        return transform(g, inverse_type(type), None, axes, norm, orthogonalize=is_orthogonal)
    if type == 1:
        inner = transform(at_ends(g, axes, 2.0, 2.0), 1, None, axes, norm, orthogonalize=False)
        return at_ends(inner, axes, 0.5, 0.5)
    first, last = (1.0, 2.0) if is_sine else (2.0, 1.0)
    if type == 2:
        return transform(at_ends(g, axes, first, last), 3, None, axes, norm, orthogonalize=False)
    inner = transform(g, 2, None, axes, norm, orthogonalize=False)
    return at_ends(inner, axes, 1 / first, 1 / last)


def at_ends(g, axes, first, last):
    """Multiply the first and the last entries along some axes."""
    for axis in (axes,) if isinstance(axes, (int, np.integer)) else axes:
        weights = end_weights(np.shape(g)[axis], first, last, g.dtype.type)
        if axis == -1 or np.ndim(g) == 1:
            g = g * weights
        else:
            g = np.moveaxis(np.moveaxis(g, axis, -1) * weights, -1, axis)
    return g


@nondifferentiable
def end_weights(n, first, last, dtype):
    """Ones, but for the ends."""
    weights = np.ones(n, dtype)
    weights[:1] *= first
    weights[-1:] *= last
    return weights
