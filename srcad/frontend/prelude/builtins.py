"""Builtins of Python that consume sequences, written in Python: the front end reads them.

>>> reduced(lambda a, b: a * b, [2, 3, 4])
24
"""

import copy

# ruff: noqa: D103 - these bodies are read like a user's code
# mypy: ignore-errors


def total(items, start=0):
    result = start
    for item in items:
        result = result + item
    return result


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


def unchanged(function):
    return function


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


# ------------------------------------------------------------------------ one item at a time
class End:
    """What an iterator gives when it has nothing more."""


def drawn(iterable):
    source = iter(iterable)
    while True:
        item = next(source, End)
        if item is End:
            return
        yield item


def iterated(items):
    for item in items:  # noqa: UP028 - read as a loop
        yield item


def stepped(iterator):
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item


def couples(items):
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            yield items[i], items[j]


def couples_below(stop):
    for i in range(stop):
        for j in range(i + 1, stop):
            yield i, j


def ordered_couples_below(stop):
    for i in range(stop):
        for j in range(stop):
            if i != j:
                yield i, j


def ordered_couples(items):
    for i in range(len(items)):
        for j in range(len(items)):
            if i != j:
                yield items[i], items[j]


def enumerated(items, start):
    count = start
    for item in items:
        yield count, item
        count = count + 1


def zipped(before, items, after):
    if before and fewest(before) == 0:
        return
    count = 0
    for item in items:
        if after and count >= fewest(after):
            return
        yield (*[column[count] for column in before], item, *[column[count] for column in after])
        count = count + 1
        if before and count >= fewest(before):
            return


def fewest(columns):
    best = len(columns[0])
    for column in columns[1:]:
        if len(column) < best:
            best = len(column)
    return best


def mapped_each(function, items):
    for item in items:
        yield function(item)


def filtered_each(function, items):
    for item in items:
        if function(item):
            yield item


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


def first(items):
    for item in items:
        return item
    raise StopIteration


def first_or(items, default):
    for item in items:
        return item
    return default


# ------------------------------------------------------------------------ itertools
def counted(start=0, step=1):
    value = start
    while True:
        yield value
        value = value + step


def chained(*sources):
    for items in sources:
        for item in items:  # noqa: UP028 - read as a loop
            yield item


def chained_from(sources):
    for items in sources:
        for item in items:  # noqa: UP028 - read as a loop
            yield item


def accumulated(items, function):
    begun = False
    for item in items:
        total = function(total, item) if begun else item  # noqa: F823 - bound by the trip before
        begun = True
        yield total


def accumulated_from(items, function, initial):
    total = initial
    yield total
    for item in items:
        total = function(total, item)
        yield total


def sliced(items, start, stop, step):
    position = 0
    wanted = start
    if stop is not None and wanted >= stop:
        return
    for item in items:
        if position == wanted:
            yield item
            wanted = wanted + step
            if stop is not None and wanted >= stop:
                return
        position = position + 1


def paired(items):
    for k in range(len(items) - 1):
        yield items[k], items[k + 1]


def paired_lazily(items):
    begun = False
    for item in items:
        if begun:
            yield before, item  # noqa: F821 - bound by the trip before
        before = item  # noqa: F841 - read by the next trip
        begun = True


def taken_while(function, items):
    for item in items:
        if not function(item):
            return
        yield item


def dropped_while(function, items):
    dropping = True
    for item in items:
        if dropping and function(item):
            continue
        dropping = False
        yield item


def repeated(item, times):
    for _ in range(times):
        yield item


def forever(item):
    while True:
        yield item


def starmapped(function, rows):
    for row in rows:
        yield function(*row)


def combined(sources):
    if len(sources) == 0:
        yield ()
        return
    for item in sources[0]:
        for rest in combined(sources[1:]):
            yield (item, *rest)


def applied_at(operation, array, places, values):
    for place, value in zip(places, values, strict=False):
        array[place] = operation(array[place], value)


def applied_at_entries(operation, array, places, values):
    for k in range(len(values)):
        entry = tuple(place[k] for place in places)
        array[entry] = operation(array[entry], values[k])
