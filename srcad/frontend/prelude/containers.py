"""Containers of Python's library, written in Python: the front end reads them.

A dict whose keys are known at the call only is two things: a dict from the keys to places, through
which no derivative flows, and the list of what was ever stored, in the order of the stores.  So a
value that is stored is one more item of a list, and nothing that was read before changes.
"""

import collections

from srcad.ir.primitives import build_places, in_order, keys_of

# mypy: ignore-errors


def place_of(places, key):
    return places[key]


def value_of(mapping, key):
    return mapping.entries[mapping.places[key]]


def remember(mapping, key, place, value):
    """Skip the lookup of the value that was stored last."""


def drop(items, index):
    del items[index]


def to_keep(value):
    return value


def copied(container):
    return container.copy()


class Container:
    """Stand-in that the front end interprets in place of a class of Python's."""


class LibraryObject(Container):
    """Stand-in for an object of a library; methods that it lacks have no derivative.

    `described` names the object in messages, and `original` makes it from its class and the fields.
    """

    stands_for = object
    described = ""


class Mapping(Container):
    """A dict."""

    stands_for = dict
    __hash__ = None

    def __init__(self):
        self.places = build_places()
        self.entries = []

    def __getitem__(self, key):
        return value_of(self, key)

    def __setitem__(self, key, value):
        place = len(self.entries)
        self.places[key] = place
        self.entries.append(to_keep(value))
        remember(self, key, place, value)

    def __delitem__(self, key):
        del self.places[key]

    def __contains__(self, key):
        return key in self.places

    def __len__(self):
        return len(self.places)

    def __iter__(self):
        for key in keys_of(self.places):  # noqa: UP028 - read as a loop
            yield key

    def __reversed__(self):
        for key in reversed(keys_of(self.places)):  # noqa: UP028 - read as a loop
            yield key

    def at_once(self):
        return keys_of(self.places)

    def __eq__(self, other):
        if not isinstance(other, dict) or len(self) != len(other):
            return False
        for key in keys_of(self.places):
            if key not in other or self[key] != other[key]:
                return False
        return True

    def __ne__(self, other):
        return not (self == other)

    def __ror__(self, other):
        result = Mapping()
        result.update(other)
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def copy(self):
        return copied(self)

    def __copy__(self):
        return copied(self)

    def get(self, key, default=None):
        if key in self.places:
            return self.entries[place_of(self.places, key)]
        return to_keep(default)

    def setdefault(self, key, default=None):
        if key not in self.places:
            self.places[key] = len(self.entries)
            self.entries.append(to_keep(default))
        return self.entries[place_of(self.places, key)]

    def pop(self, key, *default):
        if default and key not in self.places:
            return default[0]
        value = self.entries[place_of(self.places, key)]
        del self.places[key]
        return value

    def popitem(self):
        if len(self.places) == 0:
            raise KeyError("popitem(): dictionary is empty")
        key = keys_of(self.places)[-1]
        value = self.entries[place_of(self.places, key)]
        del self.places[key]
        return key, value

    def update(self, *others, **named):
        for other in others:
            if isinstance(other, dict):
                for key, value in other.items():
                    self[key] = value
            else:
                for key, value in other:
                    self[key] = value
        for key, value in named.items():
            self[key] = value

    def clear(self):
        self.places = build_places()
        self.entries = []

    def keys(self):
        return Keys(self)

    def values(self):
        return Values(self)

    def items(self):
        return Items(self)


def from_keys(keys, value):
    result = Mapping()
    for key in keys:
        result[key] = value
    return result


class DefaultDict(Mapping):
    """A dict with a factory for missing values."""

    stands_for = collections.defaultdict

    def __getitem__(self, key):
        if key not in self.places:
            self[key] = self.default_factory()
        return self.entries[place_of(self.places, key)]


class OrderedDict(Mapping):
    """A dict that can be rearranged."""

    stands_for = collections.OrderedDict

    def move_to_end(self, key, last=True):
        place = place_of(self.places, key)
        if last:
            del self.places[key]
            self.places[key] = place
            return
        before = self.places
        self.places = build_places()
        self.places[key] = place
        for other in keys_of(before):
            if other != key:
                self.places[other] = place_of(before, other)

    def popitem(self, last=True):
        if len(self.places) == 0:
            raise KeyError("dictionary is empty")
        key = keys_of(self.places)[-1] if last else keys_of(self.places)[0]
        return key, self.pop(key)


class Counter(Mapping):
    """A dict of counts."""

    stands_for = collections.Counter

    def __getitem__(self, key):
        return self.entries[place_of(self.places, key)] if key in self.places else 0

    def __delitem__(self, key):
        if key in self.places:
            del self.places[key]

    def update(self, *others, **named):
        for other in others:
            if isinstance(other, dict):
                for key, count in other.items():
                    self[key] = count + self[key]
            else:
                for key in other:
                    self[key] = self[key] + 1
        for key, count in named.items():
            self[key] = count + self[key]

    def total(self):
        return sum(self.values())

    def most_common(self, count=None):
        found = sorted(self.items(), key=lambda pair: pair[1], reverse=True)
        return found if count is None else found[:count]


# ------------------------------------------------------------------------------ views
class Keys(Container):
    """The keys of a dict."""

    stands_for = type({}.keys())

    def __init__(self, of):
        self.of = of

    def __len__(self):
        return len(self.of.places)

    def __contains__(self, key):
        return key in self.of.places

    def __iter__(self):
        for key in keys_of(self.of.places):  # noqa: UP028 - read as a loop
            yield key

    def __reversed__(self):
        for key in reversed(keys_of(self.of.places)):  # noqa: UP028 - read as a loop
            yield key

    def at_once(self):
        return keys_of(self.of.places)


class Values(Container):
    """The values of a dict, each as it is when its turn comes."""

    stands_for = type({}.values())

    def __init__(self, of):
        self.of = of

    def __len__(self):
        return len(self.of.places)

    def __contains__(self, value):
        return value in self.at_once()

    def __iter__(self):
        for key in keys_of(self.of.places):
            yield self.of.entries[place_of(self.of.places, key)]

    def __reversed__(self):
        for key in reversed(keys_of(self.of.places)):
            yield self.of.entries[place_of(self.of.places, key)]

    def at_once(self):
        return [self.of.entries[place] for place in in_order(self.of.places)]


class Items(Container):
    """The keys and values of a dict."""

    stands_for = type({}.items())

    def __init__(self, of):
        self.of = of

    def __len__(self):
        return len(self.of.places)

    def __iter__(self):
        for key in keys_of(self.of.places):
            yield key, self.of.entries[place_of(self.of.places, key)]

    def __reversed__(self):
        for key in reversed(keys_of(self.of.places)):
            yield key, self.of.entries[place_of(self.of.places, key)]

    def at_once(self):
        return [
            (key, self.of.entries[place])
            for key, place in zip(keys_of(self.of.places), in_order(self.of.places), strict=False)
        ]


INSIDE = (
    Mapping,
    Keys,
    Values,
    Items,
    place_of,
    value_of,
    remember,
    drop,
    copied,
    to_keep,
    build_places,
    keys_of,
    in_order,
)
