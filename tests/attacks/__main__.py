"""List what became of every attack: ``python -m tests.attacks [words]``."""

import collections
import sys

from tests.attacks.collected import ATTACKS
from tests.attacks.verdict import verdict

if __name__ == "__main__":
    counts: collections.Counter[str] = collections.Counter()
    for name, attack in ATTACKS.items():
        if all(word in name for word in sys.argv[1:]):
            found = verdict(attack)
            counts[found.partition(":")[0].partition(" at ")[0]] += 1
            print(f"{name}: {found}")
    print(dict(counts))
