"""Builtins of Python that consume sequences, written in Python: the front end reads them.

>>> reduced(lambda a, b: a * b, [2, 3, 4])
24
"""

import copy

import numpy as np

# mypy: ignore-errors


def total(items, start=0):
    result = start
    for item in items:
        result = result + item
    return result


def each_as_array(items):
    return [np.asarray(item) for item in items]


def equally_long(first, *others):
    place = 1
    for other in others:
        before = f"arguments 1-{place}" if place > 1 else "argument 1"
        place += 1
        if other < first:
            raise ValueError(f"zip() argument {place} is shorter than {before}")
        if other > first:
            raise ValueError(f"zip() argument {place} is longer than {before}")


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


def largest_by(key, first, *others):
    best = first
    best_key = key(first)
    for item in others:
        item_key = key(item)
        if item_key > best_key:
            best, best_key = item, item_key
    return best


def smallest_by(key, first, *others):
    best = first
    best_key = key(first)
    for item in others:
        item_key = key(item)
        if item_key < best_key:
            best, best_key = item, item_key
    return best


def largest_of_by(key, items):
    best = items[0]
    best_key = key(best)
    for item in items[1:]:
        item_key = key(item)
        if item_key > best_key:
            best, best_key = item, item_key
    return best


def smallest_of_by(key, items):
    best = items[0]
    best_key = key(best)
    for item in items[1:]:
        item_key = key(item)
        if item_key < best_key:
            best, best_key = item, item_key
    return best


def in_order(items, order):
    return [items[k] for k in order]


def wrapped(function, wrapper):
    return wrapper


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


def multiplied(items, count):
    return [item for _ in range(count) for item in items]


def put_at(items, places, values):
    if len(values) != len(places):
        raise ValueError("attempt to assign sequence to extended slice of another size")
    for k, value in zip(places, values):  # noqa: B905 - they are equally long
        items[k] = value


def remove_at(items, places):
    items[:] = [items[k] for k in range(len(items)) if k not in places]


def copied(items):
    return [copy.deepcopy(item) for item in items]


def listed(items):
    return [item for item in items]  # noqa: C416 - read as a loop


def truthy(item):
    return item


def any_of(items):
    for item in items:  # noqa: SIM110 - read as a loop
        if item:
            return True
    return False


def all_of(items):
    for item in items:  # noqa: SIM110 - read as a loop
        if not item:
            return False
    return True


def applied_at(operation, array, places, values):
    for place, value in zip(places, values, strict=False):
        array[place] = operation(array[place], value)


def applied_at_entries(operation, array, places, values):
    for k in range(len(values)):
        entry = tuple(place[k] for place in places)
        array[entry] = operation(array[entry], values[k])


# ---------------------------------------------------------------------------- entries of arrays
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


# ------------------------------------------------------- getters of operator, helpers of contextlib
def managed(function, *args, **kwargs):
    return function(*args, **kwargs)


def item_of(key, obj):
    return obj[key]


def items_of(keys, obj):
    return tuple([obj[key] for key in keys])


def attribute_of(names, obj):
    for name in names:
        obj = getattr(obj, name)
    return obj


def attributes_of(each, obj):
    return tuple([attribute_of(names, obj) for names in each])


def method_called(name, args, kwargs, obj):
    return getattr(obj, name)(*args, **kwargs)
