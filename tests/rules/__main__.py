"""Run checks of the rule table: ``python -m tests.rules --all``, or with names of functions.

A name may be a function's (``np.sum``) or a check's, where ``*`` matches anything.  ``--kind K``
runs one kind only, ``--jobs N`` uses so many processes, ``--share K/N`` runs every N-th row.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import multiprocessing
import os
import sys
import time

from tests.rules import proof

Found = tuple[str, str, str, str]


def chosen(index: int, words: list[str], kinds: list[str]) -> list[proof.Check]:
    """The checks of the row with this index that are named by some word; all without words."""
    row = proof.rows()[index]
    name = proof.row_name(row)
    if words and not any(name in (word, word.partition("/")[0]) or "*" in word for word in words):
        return []
    return [
        check
        for check in proof.checks_of(row)
        if (not kinds or check.kind in kinds)
        and (not words or name in words or any(fnmatch.fnmatchcase(check.name, w) for w in words))
    ]


def results_of(task: tuple[int, list[str], list[str]]) -> tuple[str, list[Found], float]:
    """The row's name, and the kind, name, verdict and text of each of its checks; the seconds."""
    start = time.perf_counter()
    index, words, kinds = task
    found = [(c.kind, c.name, *proof.judged(c)) for c in chosen(index, words, kinds)]
    return proof.row_name(proof.rows()[index]), found, time.perf_counter() - start


def main() -> int:
    """Run the checks, print counts, failures and refusals; return 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true", help="run the checks of every row")
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--share", default="1/1")
    given = parser.parse_args()
    if not given.names and not given.all:
        parser.error("give the names of functions, or --all")
    which, of = (int(number) for number in given.share.split("/"))
    tasks = [(k, given.names, given.kind) for k in range(len(proof.rows()))][which - 1 :: of]
    start = time.perf_counter()
    results: list[Found] = []
    if given.jobs == 1 or given.names:
        for task in tasks:
            _note(results, results_of(task))
    else:
        with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
            for done in pool.imap_unordered(results_of, tasks):
                _note(results, done)
    _report(results, time.perf_counter() - start)
    return int(not results or any(verdict == "wrong" for _, _, verdict, _ in results))


def _note(results: list[Found], done: tuple[str, list[Found], float]) -> None:
    """Keep the results of a row, and print its failures at once."""
    name, found, seconds = done
    results += found
    for _, check, verdict, text in found:
        if verdict == "wrong":
            print(f"FAILED {check}\n    {text}", flush=True)
    if seconds > 20 and sys.stderr.isatty():
        print(f"{name}: {seconds:.0f} s", file=sys.stderr)


def _report(results: list[Found], seconds: float) -> None:
    counts = collections.Counter((kind, verdict) for kind, _, verdict, _ in results)
    verdicts = ("right", "wrong", "known", "refused", "undecided")
    print(f"\n{'kind':14s}" + "".join(f"{v:>11s}" for v in verdicts))
    for kind in dict.fromkeys(kind for kind, *_ in results):
        print(f"{kind:14s}" + "".join(f"{counts[kind, v]:11d}" for v in verdicts))
    for verdict in ("known", "refused", "undecided"):
        reasons = collections.Counter(text for *_, v, text in results if v == verdict)
        examples = {text: name for _, name, v, text in results if v == verdict}
        if reasons:
            print(f"\n{verdict}:")
        for text, count in reasons.most_common():
            print(f"{count:7d}  {text}\n         such as {examples[text]}")
    print(f"\n{len(results)} checks in {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
