"""Entries of arrays and their places, written in Python: the front end reads them.

>>> list(places_of_two(1, 2))
[(0, 0), (0, 1)]
"""

import numpy as np

# ruff: noqa: D103 - these bodies are read like a user's code
# mypy: ignore-errors


def numbers_of(array):
    return [entry.item() for entry in array]


def rows_of(array):
    return [[entry.item() for entry in row] for row in array]


def places(rows):
    for i in range(rows):
        yield (i,)


def places_of_two(rows, columns):
    for i in range(rows):
        for j in range(columns):
            yield i, j


def places_of_three(layers, rows, columns):
    for i in range(layers):
        for j in range(rows):
            for k in range(columns):
                yield i, j, k


def entries_of(array):
    for place in np.ndindex(array.shape):
        yield place, array[place]
