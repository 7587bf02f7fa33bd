"""`collections.deque`, written in Python: the front end reads it."""

import collections

from srcad.frontend.prelude.containers import Container, copied, drop

# mypy: ignore-errors


class Deque(Container):
    """A list that is written at both ends, and that may have a greatest length."""

    stands_for = collections.deque

    __hash__ = None

    def __getitem__(self, index):
        return self.entries[index]

    def __setitem__(self, index, value):
        self.entries[index] = value

    def __delitem__(self, index):
        del self.entries[index]

    def __contains__(self, value):
        return value in self.entries

    def __len__(self):
        return len(self.entries)

    def __iter__(self):
        for item in self.entries:  # noqa: UP028 - read as a loop
            yield item

    def __reversed__(self):
        for item in reversed(self.entries):  # noqa: UP028 - read as a loop
            yield item

    def at_once(self):
        return self.entries

    def __eq__(self, other):
        return self.entries == list(other)

    def __ne__(self, other):
        return self.entries != list(other)

    def __iadd__(self, other):
        self.extend(other)
        return self

    def copy(self):
        return copied(self)

    def __copy__(self):
        return copied(self)

    def append(self, value):
        self.entries.append(value)
        if self.maxlen is not None and len(self.entries) > self.maxlen:
            drop(self.entries, 0)

    def appendleft(self, value):
        self.entries.insert(0, value)
        if self.maxlen is not None and len(self.entries) > self.maxlen:
            drop(self.entries, -1)

    def pop(self):
        if len(self.entries) == 0:
            raise IndexError("pop from an empty deque")
        return self.entries.pop()

    def popleft(self):
        if len(self.entries) == 0:
            raise IndexError("pop from an empty deque")
        return self.entries.pop(0)

    def extend(self, values):
        for value in values:
            self.append(value)

    def extendleft(self, values):
        for value in values:
            self.appendleft(value)

    def insert(self, index, value):
        if self.maxlen is not None and len(self.entries) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self.entries.insert(index, value)

    def rotate(self, steps=1):
        count = len(self.entries)
        if count > 1:
            cut = -steps % count
            self.entries[:] = self.entries[cut:] + self.entries[:cut]

    def reverse(self):
        self.entries.reverse()

    def clear(self):
        self.entries.clear()

    def remove(self, value):
        self.entries.remove(value)

    def count(self, value):
        return self.entries.count(value)

    def index(self, value):
        return self.entries.index(value)
