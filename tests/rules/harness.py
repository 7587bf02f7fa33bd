"""Runs rules in plain NumPy, without a compiler, and compares them with finite differences."""

import warnings

import numpy as np

from srcad.rules import NoPartial, lookup
from srcad.runtime import unbroadcast


def leaves(structure):
    """The numbers and arrays inside nested lists and tuples, in order."""
    if isinstance(structure, list | tuple):
        return [leaf for item in structure for leaf in leaves(item)]
    return [structure]


def rebuilt(structure, parts):
    """The same structure around other leaves, taken from an iterator."""
    if isinstance(structure, list | tuple):
        return type(structure)([rebuilt(item, parts) for item in structure])
    return next(parts)


def is_float(leaf):
    """Whether a leaf is a float or an array of floats."""
    return isinstance(leaf, float | np.floating) or (
        isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"
    )


def cotangents(target, args, kwargs, y_bar, rule_of=None):
    """What the rule of `target` returns, one entry per argument of the call (keywords last)."""
    rule = lookup(rule_of or target)
    y = target(*args, **kwargs)
    with np.errstate(all="ignore"):
        entries = applied(rule, y_bar, y, args, kwargs)
    found = []
    for place in (*range(len(args)), *kwargs):
        at = rule.entry(place)
        entry = None if at is None else entries[at[0]]
        if at is not None and at[1] is not None and entry is not None:
            entry = entry[at[1]]
        if rule.kind == "derivative" and not (entry is None or isinstance(entry, NoPartial)):
            operand = args[place] if isinstance(place, int) else kwargs[place]
            slope = np.conjugate(entry) if np.iscomplexobj(entry) else entry
            entry = unbroadcast(y_bar * slope, operand)
        found.append(entry)
    return found


def applied(rule, y_bar, y, args, kwargs):
    """The entries that the rule returns, always as a tuple."""
    if rule.kind == "derivative":
        options = {**kwargs, "y": y} if rule.wants_result else kwargs
        entries = rule.function(*args, **options)
    elif rule.kind in ("linear", "bilinear"):
        entries = rule.function(y_bar, *args, **kwargs)
    else:
        entries = rule.function(y_bar, y, *args, **kwargs)
    return (entries,) if rule.single else entries


def directional(target, values, names, active, directions, step):
    """A central difference of `target` along `directions` (one per active leaf)."""

    def moved_leaf(leaf, sign, moves):
        return leaf + sign * step * next(moves) if is_float(leaf) else leaf

    def moved(sign):
        moves = iter(directions)
        shifted = [
            rebuilt(value, (moved_leaf(leaf, sign, moves) for leaf in leaves(value)))
            if on
            else value
            for value, on in zip(values, active, strict=True)
        ]
        stop = len(shifted) - len(names)
        result = target(*shifted[:stop], **dict(zip(names, shifted[stop:], strict=True)))
        return [np.asarray(part, numbers_of(part)) for part in leaves(result)]

    return [(p - m) / (2 * step) for p, m in zip(moved(1), moved(-1), strict=True)]


def numbers_of(y):
    """Real or complex, as a result is."""
    return complex if np.iscomplexobj(y) else float


def inner(u, v):
    """The inner product of two cotangents: of their real and of their imaginary parts."""
    return np.sum(np.real(np.conjugate(u) * v))


def seeded(y, rng):
    """A cotangent for a result, of the same kind and dtype (integers: float64)."""
    if isinstance(y, list | tuple):
        return [seeded(part, rng) for part in y]
    seed = rng.normal(size=np.shape(y))
    if np.iscomplexobj(y):
        seed = seed + 1j * rng.normal(size=np.shape(y))
    elif not isinstance(y, np.ndarray | np.generic) or y.dtype.kind != "f":
        return float(seed) if np.ndim(y) == 0 else seed
    return seed.astype(y.dtype) if isinstance(y, np.ndarray) else y.dtype.type(seed)


def products(target, args, kwargs, rng, step=1e-6, symmetric=False):
    """``<u, J v>`` by differences and ``<J' u, v>`` by the rule, for random ``u`` and ``v``.

    Differentiated are the floats of the arguments that the rule has an entry for; other leaves, as
    the pivots beside a matrix, stay.
    """
    rule, values = lookup(target), [*args, *kwargs.values()]
    y_bar = seeded(target(*args, **kwargs), rng)
    entries = cotangents(target, args, kwargs, y_bar)
    active = [
        rule.entry(place) is not None
        and not isinstance(entry, NoPartial)
        and any(is_float(leaf) for leaf in leaves(value))
        for place, value, entry in zip((*range(len(args)), *kwargs), values, entries, strict=True)
    ]
    given = [leaf for value, on in zip(values, active, strict=True) if on for leaf in leaves(value)]
    used = [leaf for leaf in given if is_float(leaf)]
    directions = [rng.normal(size=np.shape(leaf)) for leaf in used]
    if symmetric:
        directions = [symmetrised(v) for v in directions]
    forward = directional(target, values, tuple(kwargs), active, directions, step)
    left = sum(inner(u, v) for u, v in zip(leaves(y_bar), forward, strict=True))
    right, moves = 0.0, iter(directions)
    for value, entry, on in zip(values, entries, active, strict=True):
        for leaf, bar in paired(value, entry) if on else ():
            if not is_float(leaf):
                continue
            v = next(moves)
            if bar is not None:
                assert np.shape(bar) == np.shape(leaf), (np.shape(bar), np.shape(leaf))
                right = right + inner(bar, v)
    return left, right


def symmetrised(v):
    """A square matrix plus its transpose; other arrays as they are."""
    is_square = v.ndim > 1 and v.shape[-1] == v.shape[-2]
    return v + np.swapaxes(v, -1, -2) if is_square else v


def narrowed(leaf):
    """A float64 array in float32; everything else as it is."""
    is_wide = isinstance(leaf, np.ndarray) and leaf.dtype == np.float64
    return leaf.astype(np.float32) if is_wide else leaf


def in_float32(call):
    """The call with float32 in place of float64 arrays, or None if its result is wider, or none.

    SciPy raises for some moments of distributions with shapes of float32.
    """
    target, args, kwargs = call

    def changed(value):
        return rebuilt(value, (narrowed(leaf) for leaf in leaves(value)))

    call = target, tuple(map(changed, args)), {name: changed(v) for name, v in kwargs.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # digits that float32 does not have
            warnings.simplefilter("ignore", DeprecationWarning)  # of older versions of SciPy
            results = leaves(target(*call[1], **call[2]))
    except TypeError:
        return None
    return call if all(getattr(y, "dtype", None) == np.float32 for y in results) else None


def widened_by_rule(call, rng):
    """The dtypes of cotangents that are wider than their operand of float32."""
    target, args, kwargs = call
    entries = cotangents(target, args, kwargs, seeded(target(*args, **kwargs), rng))
    found = []
    for value, entry in zip([*args, *kwargs.values()], entries, strict=True):
        for leaf, bar in paired(value, entry):
            if isinstance(leaf, np.ndarray) and leaf.dtype == np.float32 and bar is not None:
                size = 8 if np.iscomplexobj(bar) else 4
                if isinstance(bar, np.ndarray | np.generic) and bar.dtype.itemsize > size:
                    found.append(bar.dtype)
    return found


def paired(argument, entry):
    """The leaves of an argument with their cotangents."""
    if isinstance(argument, list | tuple):
        parts = [None] * len(argument) if entry is None else entry
        for item, part in zip(argument, parts, strict=True):
            yield from paired(item, part)
    else:
        yield argument, entry
