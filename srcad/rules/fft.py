"""Fourier transforms: linear maps; the transpose has the opposite sign in the exponent.

The adjoint of a transform without a factor is the inverse one without its factor ``1 / n``, and the
other way round: ``"backward"`` and ``"forward"`` change places.  A transform that is cut to `n`
entries has zeros for those that were cut, and what was filled up is cut again.

Source: Briggs and Henson (1995), *The DFT: an owner's manual*, section 2.
"""

import numpy as np

from srcad.rules.conjugates import may_be_complex
from srcad.rules.declare import linear, nondifferentiable
from srcad.rules.row import COMPLEX
from srcad.rules.shape import trailing

nondifferentiable(np.fft.fftfreq, np.fft.rfftfreq)


def turned_round(norm):
    """The norm of the adjoint: of what has no factor the one without a factor."""
    if norm == "forward":
        return "backward"
    return norm if norm == "ortho" else "forward"


def chosen(s, axes):
    """The axes that are transformed; None are all."""
    return trailing(len(s)) if axes is None and s is not None else axes


def fitted(bar, a, taken):
    """A cotangent in the shape of `a`, of which some entries were taken, or filled up by zeros."""
    if taken is None:
        return bar
    if np.ndim(a) == 1:
        return np.concatenate((bar[: np.shape(a)[0]], np.zeros_like(a[taken:])))
    kept = bar[tuple(slice(n) for n in np.shape(a))]
    return np.pad(kept, tuple((0, np.shape(a)[k] - np.shape(kept)[k]) for k in range(np.ndim(a))))


def like(bar, a):
    """The cotangent of a real argument is the real part."""
    return bar if may_be_complex(a) else np.real(bar)


def at_ends(y_bar, length, axis, rank):
    """The frequencies of a real signal that are their own mirror images: at most two."""
    k = np.arange(length // 2 + 1)
    own = (k == 0) | (2 * k == length)
    if axis == -1 or rank == 1:
        return y_bar * own
    return np.moveaxis(np.moveaxis(y_bar, axis, -1) * own, -1, axis)


# ------------------------------------------------------------------------ one axis
@linear(
    np.fft.fft, result=COMPLEX,
    samples=lambda f, v, m: [f(v), f(m, 3), f(m, 5, 0, "ortho"), f(v, norm="forward")],
)  # fmt: skip
def fft(y_bar, a, n=None, axis=-1, norm=None):
    return fitted(like(np.fft.ifft(y_bar, None, axis, turned_round(norm)), a), a, n)


@linear(
    np.fft.ifft, result=COMPLEX,
    samples=lambda f, v, m: [f(m, 5), f(m, 2, 0, "ortho"), f(v, norm="forward")],
)  # fmt: skip
def ifft(y_bar, a, n=None, axis=-1, norm=None):
    return fitted(like(np.fft.fft(y_bar, None, axis, turned_round(norm)), a), a, n)


@linear(
    np.fft.rfft, result=COMPLEX,
    samples=lambda f, v, w, m: [f(v), f(w), f(m, 3), f(m, 5, 0, "ortho"), f(w, norm="forward")],
)  # fmt: skip
def rfft(y_bar, a, n=None, axis=-1, norm=None):
    """`irfft` adds the mirror images of all frequencies but the ends, which have none."""
    length = np.shape(a)[axis] if n is None else n
    halved = 0.5 * (y_bar + at_ends(y_bar, length, axis, np.ndim(a)))
    return fitted(np.fft.irfft(halved, length, axis, turned_round(norm)), a, n)


@linear(
    np.fft.irfft,
    samples=lambda f, v, w, m: [f(v), f(w), f(m, 3), f(m, 8, 0, "ortho"), f(v, 7, norm="forward")],
)  # fmt: skip
def irfft(y_bar, a, n=None, axis=-1, norm=None):
    """Each frequency but the ends stands for its mirror image, too."""
    once = np.fft.rfft(y_bar, None, axis, turned_round(norm))
    length = np.shape(y_bar)[axis]
    taken = None if n is None else length // 2 + 1
    bar = 2.0 * once - at_ends(once, length, axis, np.ndim(a))
    return fitted(like(bar, a), a, taken)


@linear(np.fft.hfft, samples=lambda f, v, m: [f(v), f(m, 7), f(m, axis=0, norm="ortho")])
def hfft(y_bar, a, n=None, axis=-1, norm=None):
    """``irfft`` of the conjugate, without its factor."""
    return np.conjugate(irfft(y_bar, a, n, axis, turned_round(norm)))


@linear(
    np.fft.ihfft,
    result=COMPLEX,
    samples=lambda f, v, m: [f(v), f(m, 3), f(m, axis=0, norm="ortho")],
)
def ihfft(y_bar, a, n=None, axis=-1, norm=None):
    """The conjugate of ``rfft``, with its factor."""
    return rfft(np.conjugate(y_bar), a, n, axis, turned_round(norm))


# ------------------------------------------------------------------------ several axes
@linear(
    np.fft.fftn, result=COMPLEX,
    samples=lambda f, m, t: [f(m), f(t, axes=(0, 2)), f(t, (3, 2), (0, -1), "ortho")],
)  # fmt: skip
def fftn(y_bar, a, s=None, axes=None, norm=None):
    bar = np.fft.ifftn(y_bar, None, chosen(s, axes), turned_round(norm))
    return fitted(like(bar, a), a, s)


@linear(
    np.fft.ifftn, result=COMPLEX,
    samples=lambda f, m, t: [f(m, norm="forward"), f(t, (3, 2), (0, -1), "ortho")],
)  # fmt: skip
def ifftn(y_bar, a, s=None, axes=None, norm=None):
    bar = np.fft.fftn(y_bar, None, chosen(s, axes), turned_round(norm))
    return fitted(like(bar, a), a, s)


@linear(np.fft.fft2, result=COMPLEX, samples=lambda f, t: [f(t, (2, 5), (0, 1), "ortho")])
def fft2(y_bar, a, s=None, axes=(-2, -1), norm=None):
    return fftn(y_bar, a, s, axes, norm)


@linear(np.fft.ifft2, result=COMPLEX, samples=lambda f, t: [f(t, (2, 5), (0, 1), "ortho")])
def ifft2(y_bar, a, s=None, axes=(-2, -1), norm=None):
    return ifftn(y_bar, a, s, axes, norm)


@linear(
    np.fft.rfftn, result=COMPLEX,
    samples=lambda f, m, t: [f(t), f(t, axes=(2, 0)), f(t, (3, 3), (0, -1), "ortho"),
                             f(m, (3,), (1,))],
)  # fmt: skip
def rfftn(y_bar, a, s=None, axes=None, norm=None):
    """`rfft` along the last of the axes, then `fft` along the others."""
    along = trailing(np.ndim(a)) if axes is None and s is None else chosen(s, axes)
    length = np.shape(a)[along[-1]] if s is None or s[-1] == -1 else s[-1]
    bar = 0.5 * (y_bar + at_ends(y_bar, length, along[-1], np.ndim(a)))
    if len(along) > 1:
        bar = np.fft.ifftn(bar, None, along[:-1], turned_round(norm))
    return fitted(np.fft.irfft(bar, length, along[-1], turned_round(norm)), a, s)


@linear(
    np.fft.irfftn,
    samples=lambda f, m, t: [f(t), f(t, axes=(2, 0)), f(t, (3, 5), (0, -1), "ortho"),
                             f(m, (3,), (1,))],
)  # fmt: skip
def irfftn(y_bar, a, s=None, axes=None, norm=None):
    """`ifft` along all axes but the last, then `irfft`."""
    along = trailing(np.ndim(a)) if axes is None and s is None else chosen(s, axes)
    once = np.fft.rfft(y_bar, None, along[-1], turned_round(norm))
    bar = 2.0 * once - at_ends(once, np.shape(y_bar)[along[-1]], along[-1], np.ndim(a))
    if len(along) > 1:
        bar = np.fft.fftn(bar, None, along[:-1], turned_round(norm))
    return fitted(like(bar, a), a, s)


@linear(np.fft.rfft2, result=COMPLEX, samples=lambda f, t: [f(t, (2, 5), (0, 1), "ortho")])
def rfft2(y_bar, a, s=None, axes=(-2, -1), norm=None):
    return rfftn(y_bar, a, s, axes, norm)


@linear(np.fft.irfft2, samples=lambda f, t: [f(t, (2, 5), (0, 1), "ortho")])
def irfft2(y_bar, a, s=None, axes=(-2, -1), norm=None):
    return irfftn(y_bar, a, s, axes, norm)


# ------------------------------------------------------------------------ order of frequencies
@linear(np.fft.fftshift, entries="moved", samples=lambda f, v, m: [f(m), f(m, (-1,))])
def fftshift(y_bar, x, axes=None):
    return np.fft.ifftshift(y_bar, axes)


@linear(np.fft.ifftshift, entries="moved", samples=lambda f, v, m: [f(m), f(m, (-1,))])
def ifftshift(y_bar, x, axes=None):
    return np.fft.fftshift(y_bar, axes)
