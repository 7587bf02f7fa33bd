"""Builtins of Python that consume sequences, written in Python: the front end reads them.

>>> reduced(lambda a, b: a * b, [2, 3, 4])
24
"""

# ruff: noqa: D103 - these bodies are read like a user's code
# mypy: ignore-errors


def total(items, start=0):
    result = start
    for item in items:
        result = result + item
    return result


def largest(first, *others):
    best = first
    for item in others:
        if item > best:
            best = item
    return best


def smallest(first, *others):
    best = first
    for item in others:
        if item < best:
            best = item
    return best


def largest_of(items):
    best = items[0]
    for item in items[1:]:
        if item > best:
            best = item
    return best


def smallest_of(items):
    best = items[0]
    for item in items[1:]:
        if item < best:
            best = item
    return best


def mapped(function, items):
    return [function(item) for item in items]


def mapped_pairs(function, *columns):
    return [function(*row) for row in zip(*columns, strict=False)]


def filtered(function, items):
    return [item for item in items if function(item)]


def reduced(function, items):
    result = items[0]
    for item in items[1:]:
        result = function(result, item)
    return result


def reduced_from(function, items, start):
    result = start
    for item in items:
        result = function(result, item)
    return result


def listed(items):
    return [item for item in items]  # noqa: C416 - read as a loop
