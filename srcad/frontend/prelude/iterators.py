"""Iterators of Python, written in Python: they hand out one item at a time.

>>> list(sliced([1, 2, 3, 4], 1, None, 2))
[2, 4]
"""


# mypy: ignore-errors


class End:
    """The marker of an exhausted iterator."""


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
        total = function(total, item) if begun else item  # noqa: F821 - bound by the trip before
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
