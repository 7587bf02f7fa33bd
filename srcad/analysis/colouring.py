"""Colours of columns: those of one colour are computed together, and told apart afterwards.

Two columns of a Jacobian may have one colour if no row has an entry in both (Curtis, Powell and
Reid 1974, *On the estimation of sparse Jacobian matrices*).  A symmetric matrix needs fewer: its
entry may be read from either of its columns, which a star colouring makes sure of (Gebremedhin,
Manne and Pothen 2005, *What color is your Jacobian?*, section 4).

Patterns are rows of indices, ``(starts, columns)``: row `i` has ``columns[starts[i]:starts[i+1]]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.intp]]


def columns_coloured(starts: Ints, columns: Ints, width: int) -> Ints:
    """Return a colour for each column, no two of one colour in the same row.

    The first that is free.

    >>> columns_coloured(np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 3]), 4)
    array([0, 1, 0, 1])
    """
    lengths = np.diff(starts)
    if np.any(lengths == width):  # a full row: no two columns stand apart
        return np.arange(width)
    of_column, rows = transposed(starts, columns, width)
    rows_of_columns = _sections(of_column, rows)
    columns_of_rows = _sections(starts, columns)
    colours = np.full(width, -1)
    for column, touched in enumerate(rows_of_columns):
        colours[column] = _first_free(
            {colour for row in touched for colour in colours[columns_of_rows[row]].tolist()}
        )
    return colours


def star_coloured(starts: Ints, columns: Ints) -> Ints:
    """Return a colour for each row of a symmetric pattern: of any four in a chain three colours.

    >>> star_coloured(np.array([0, 2, 5, 8, 10]), np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3]))
    array([0, 1, 2, 0])
    """
    neighbours = [part.tolist() for part in _sections(starts, columns)]
    colours = [-1] * len(neighbours)
    for vertex, near in enumerate(neighbours):
        taken = set()
        for other in near:
            colour = colours[other]
            taken.add(colour)
            taken.update(
                colours[far]
                for far in neighbours[other]
                if far != vertex and (colour < 0 or 0 <= colours[far] < colour)
            )
        colours[vertex] = _first_free(taken)
    return np.array(colours, dtype=np.intp)


def _first_free(taken: set[int]) -> int:
    colour = 0
    while colour in taken:
        colour += 1
    return colour


def transposed(starts: Ints, columns: Ints, width: int) -> tuple[Ints, Ints]:
    """Return the pattern by columns: for each the rows that have an entry in it."""
    order = np.argsort(columns, kind="stable")
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[order]
    return np.concatenate(([0], np.cumsum(np.bincount(columns, minlength=width)))), rows


def _sections(starts: Ints, indices: Ints) -> list[Ints]:
    return np.split(indices, starts[1:-1]) if len(starts) > 1 else []


def readings(starts: Ints, columns: Ints, colours: Ints) -> tuple[Ints, Ints]:
    """Where each entry of a pattern is read: in which colour's product, and at which row.

    Raises
    ------
    ValueError
        An entry is in no product alone.
    """
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    count = int(np.max(colours, initial=-1)) + 1
    own = colours[columns]
    crowd = np.bincount(rows * count + own, minlength=(len(starts) - 1) * count)
    alone = crowd[rows * count + own] == 1
    if alone.all():
        return own, rows
    mirrored = columns * count + colours[rows]
    if len(starts) - 1 != len(colours) or not np.all(alone | (crowd[mirrored] == 1)):
        raise ValueError("two entries of one row have one colour")
    return np.where(alone, own, colours[rows]), np.where(alone, rows, columns)
