"""NumPy's functions that call a function of the user's, written in Python.

The front end interprets them in place of the originals where a derivative flows through a call.

>>> import numpy as np
>>> apply_along_axis(lambda row: row / np.sum(row), 1, np.array([[1.0, 3.0], [2.0, 2.0]]))
array([[0.25, 0.75],
       [0.5 , 0.5 ]])
"""

import numpy as np

# mypy: ignore-errors


def with_constants(function, *args, **kwargs):
    """Call a function; the front end holds its captured values constant."""
    return function(*args, **kwargs)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Call a function with each one-dimensional part of an array along an axis."""
    array = arr if isinstance(arr, np.ndarray) else np.asarray(arr)
    if array.ndim == 1:
        if axis not in (0, -1):
            raise np.exceptions.AxisError(axis, 1)
        return np.asarray(func1d(array, *args, **kwargs))
    moved = np.moveaxis(array, axis, -1)
    if 0 in moved.shape[:-1]:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    if array.ndim == 2:
        results = np.stack([np.asarray(func1d(row, *args, **kwargs)) for row in moved])
    else:
        results = np.stack([of_rows(func1d, rows, args, kwargs) for rows in moved])
    added = results.ndim - (moved.ndim - 1)
    if added == 0:
        return results
    first = axis if axis >= 0 else axis + array.ndim
    return np.moveaxis(
        results,
        tuple(range(moved.ndim - 1, results.ndim)),
        tuple(range(first, first + added)),
    )


def of_rows(func1d, rows, args, kwargs):
    if rows.ndim == 2:
        return np.stack([np.asarray(func1d(row, *args, **kwargs)) for row in rows])
    return np.stack([of_rows(func1d, part, args, kwargs) for part in rows])


def apply_over_axes(func, a, axes):
    """Call a reduction for one axis after the other, with axes that are kept."""
    val = a if isinstance(a, np.ndarray) else np.asarray(a)
    ndim = val.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        place = axis + ndim if axis < 0 else axis
        res = func(val, place)
        if res.ndim != val.ndim:
            res = np.expand_dims(res, place)
        if res.ndim != val.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        val = res
    return val


def fromfunction(function, shape, *, dtype=float, **kwargs):
    """Call a function once with the arrays of the indices."""
    return function(*np.indices(shape, dtype=dtype), **kwargs)


def piecewise(x, condlist, funclist, *args, **kw):
    """Call each function with the entries for which its condition holds."""
    if not isinstance(x, np.ndarray):
        x = np.asarray(x)
    conditions = conditions_of(x, condlist)
    if len(conditions) == len(funclist) - 1:
        conditions = [*conditions, where_none(conditions)]
    elif len(conditions) != len(funclist):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    y = np.zeros_like(x)
    for cond, func in zip(conditions, funclist):  # noqa: B905 - interpreted
        if not callable(func):
            y[cond] = func
        else:
            values = x[cond]
            if values.size > 0:
                y[cond] = func(values, *args, **kw)
    return y


def conditions_of(x, condlist):
    if np.ndim(condlist) == 0 or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0):
        return [of_bools(condlist)]
    return [of_bools(cond) for cond in condlist]


def of_bools(condition):
    if isinstance(condition, np.ndarray) and condition.dtype == bool:
        return condition
    return np.asarray(condition, dtype=bool)


def where_none(conditions):
    found = conditions[0]
    for cond in conditions[1:]:
        found = np.logical_or(found, cond)
    return np.logical_not(found)


def over_entries(function, arrays, otypes):
    """Call a function with the entries of arrays, and return an array of its results, or several.

    The entries are numbers of Python, as `np.vectorize` passes them.
    """
    spread = arrays if len(arrays) == 1 else np.broadcast_arrays(*arrays)
    shape = np.shape(spread[0])
    if otypes is None and np.size(spread[0]) == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    results = [
        function(*[entry.item() for entry in entries])
        for entries in zip(*[np.ravel(array) for array in spread])  # noqa: B905 - interpreted
    ]
    if isinstance(results[0], tuple) if otypes is None else len(otypes) > 1:
        count = len(results[0]) if otypes is None else len(otypes)
        types = [None] * count if otypes is None else otypes
        columns = [[result[k] for result in results] for k in range(count)]
        return tuple(array_of(columns[k], types[k]).reshape(shape) for k in range(count))
    return array_of(results, None if otypes is None else otypes[0]).reshape(shape)


def array_of(results, dtype):
    if dtype is not None:
        return np.array(results, dtype=dtype)
    array = np.array(results)
    if np.asarray(results[0]).dtype != array.dtype:
        raise TypeError(
            "np.vectorize converts all results to the type of the first one, which differs from "
            "that of others; give otypes=[float]"
        )
    return array


def with_fixed(function, args, places, named, names):
    """Return a function of the entries of some arguments; the others are `args` and `named`.

    `places` and `names` have the position among the entries of each that is one, and None for the
    others.
    """

    def called(*entries):
        given = [args[k] if places[k] is None else entries[places[k]] for k in range(len(args))]
        keywords = {
            name: named[name] if names[name] is None else entries[names[name]] for name in named
        }
        return function(*given, **keywords)

    return called


def entry_by_entry(pyfunc, otypes, excluded, signature, args, kwargs):
    """Return ``np.vectorize(pyfunc, ...)(*args, **kwargs)``."""
    function = np.vectorize(pyfunc, otypes=otypes, excluded=excluded, signature=signature)
    return function(*args, **kwargs)


def vectorized(pyfunc, otypes=None, doc=None, excluded=None, cache=False, signature=None):
    """Return the function that ``np.vectorize`` makes."""

    def called(*args, **kwargs):
        return entry_by_entry(pyfunc, otypes, excluded, signature, args, kwargs)

    return called
