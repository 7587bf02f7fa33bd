"""Time and memory of a gradient over data in chunks: one call, a loop, and processes.

    python -m benchmarks.scale [--rows N] [--rounds N] [--update-docs]

The data of a network with one hidden layer are in zarr, in twenty chunks of rows.  Each way runs
in a process of its own, which starts its engine and compiles on a few rows first.  Time is the
least of the rounds.  Memory is the rise of anonymous memory (`RssAnon` of ``/proc/PID/status``, so
on Linux only), of the process and its children, which is sampled every 4 ms: of all of them
together, and of the one with the largest rise.  Gradients are compared with that of one call.

``--update-docs`` replaces the table and the picture of ``docs/many-machines.md``.  The extra
`scale` is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import os
import platform
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set

import srcad  # noqa: E402
from benchmarks.tables import processor, update_page  # noqa: E402

PAGE = Path(__file__).resolve().parent.parent / "docs" / "many-machines.md"
PICTURE = PAGE.with_name("scale.svg")
CHUNKS, FEATURES, HIDDEN = 20, 20, 100
PACKAGES = ("srcad", "numpy", "dask", "distributed", "joblib", "zarr")
EVERY = 0.004  # seconds between two samples
SETTLED = 0.5  # seconds after the start of an engine


# ------------------------------------------------------------------------------- the function
def loss(v: Any, w: Any, x: Any, t: Any) -> Any:
    """The squared error of a network with one hidden layer."""
    return np.sum((np.tanh(x @ v) @ w - t) ** 2)


both = srcad.value_and_grad(loss, wrt=("v", "w"))
Result = tuple[Any, tuple[Any, Any]]


def parameters() -> tuple[Any, Any]:
    """Return the weights of both layers."""
    random = np.random.default_rng(1)
    return 0.1 * random.standard_normal((FEATURES, HIDDEN)), 0.1 * random.standard_normal(HIDDEN)


def part(folder: str, k: int, most: int | None = None) -> Result:
    """Return value and gradient of a chunk, or of at most so many of its rows."""
    import zarr  # an optional package

    x, t = (zarr.open_array(f"{folder}/{name}.zarr", mode="r") for name in "xt")
    size = x.shape[0] // CHUNKS
    rows = slice(k * size, k * size + min(size, most or size))
    result: Result = both(*parameters(), x[rows], t[rows])
    return result


def total(parts: Any) -> Result:
    """Return the sums of values and of gradients, as they come in."""
    value: Any = 0.0
    v_bar, w_bar = (np.zeros_like(p) for p in parameters())
    for one, (v, w) in parts:
        value += one
        v_bar += v
        w_bar += w
    return value, (v_bar, w_bar)


# ------------------------------------------------------------------------------------ the ways
@contextlib.contextmanager
def one_call(folder: str) -> Iterator[Callable[[], Result]]:
    """All rows in one call; the data are read before."""
    import zarr  # an optional package

    x, t = (zarr.open_array(f"{folder}/{name}.zarr", mode="r")[...] for name in "xt")
    part(folder, 0, 10)
    yield lambda: both(*parameters(), x, t)


@contextlib.contextmanager
def loop(folder: str) -> Iterator[Callable[[], Result]]:
    """A loop over the chunks, in one process."""
    part(folder, 0, 10)
    yield lambda: total(part(folder, k) for k in range(CHUNKS))


@contextlib.contextmanager
def by_joblib(folder: str) -> Iterator[Callable[[], Result]]:
    """Two processes of joblib."""
    from joblib import Parallel, delayed  # an optional package

    with Parallel(2) as pool:
        pool(delayed(part)(folder, k, 10) for k in range(CHUNKS))
        yield lambda: total(pool(delayed(part)(folder, k) for k in range(CHUNKS)))


@contextlib.contextmanager
def by_futures(folder: str) -> Iterator[Callable[[], Result]]:
    """Two processes of `concurrent.futures`."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        folders = [folder] * CHUNKS
        list(pool.map(part, folders, range(CHUNKS), [10] * CHUNKS))
        yield lambda: total(pool.map(part, folders, range(CHUNKS)))


@contextlib.contextmanager
def by_dask(folder: str) -> Iterator[Callable[[], Result]]:
    """A cluster of Dask with two workers."""
    from dask.distributed import Client, LocalCluster  # an optional package

    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**how) as cluster, Client(cluster) as client:

        def mapped(*more: Any) -> Any:
            tasks = client.map(part, [folder] * CHUNKS, range(CHUNKS), *more, pure=False)
            return client.gather(tasks)

        mapped([10] * CHUNKS)
        yield lambda: total(mapped())


WAYS = {
    "one call": one_call,
    "a loop over chunks": loop,
    "joblib, 2 processes": by_joblib,
    "`concurrent.futures`, 2 processes": by_futures,
    "Dask, 2 workers": by_dask,
}
PROGRAMS = {
    "a loop over chunks": "loop.py",
    "joblib, 2 processes": "by_joblib.py",
    "`concurrent.futures`, 2 processes": "by_futures.py",
    "Dask, 2 workers": "by_dask.py",
}
LIMITS = {"a loop over chunks": 110, "Dask, 2 workers": 120}  # MB of the largest process


# ----------------------------------------------------------------------------------- measuring
@dataclass(frozen=True)
class Row:
    """One way, measured.

    Attributes
    ----------
    name : str
        The way.
    seconds : float
        The least time of a round.
    together, largest : float
        The rise of anonymous memory in megabytes, of all processes and of one.
    error : float
        The largest relative error of a gradient.
    """

    name: str
    seconds: float
    together: float
    largest: float
    error: float


def anonymous(pid: int) -> float:
    """Return the anonymous memory of a process in MB; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = re.search(r"^RssAnon:\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    found = [pid]
    for one in found:
        for file in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, file.read_text().split())
    return found


def child() -> None:
    """Run one way in this process, at the pace of the parent, which measures the memory."""
    name, folder, rounds = sys.argv[1:]
    with WAYS[name](folder) as run:
        print("ready", flush=True)
        sys.stdin.readline()
        times = []
        for _ in range(int(rounds)):
            begin = time.perf_counter()
            value, gradients = run()
            times.append(time.perf_counter() - begin)
        print(min(times), flush=True)
        sys.stdin.readline()
    np.savez(f"{folder}/result.npz", value, *gradients)


def measured(name: str, folder: str, rounds: int) -> Row:
    """Return the time, the memory and the error of one way."""
    command = [sys.executable, "-c", "from benchmarks.scale import child; child()", name, folder]
    with subprocess.Popen(
        [*command, str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        _expect(process.stdout.readline(), name)
        time.sleep(SETTLED)
        before = {pid: anonymous(pid) for pid in family(process.pid)}
        process.stdin.write("\n")
        process.stdin.flush()
        together = largest = 0.0
        while not select.select([process.stdout], [], [], EVERY)[0]:
            rises = [anonymous(pid) - memory for pid, memory in before.items()]
            together, largest = max(together, sum(rises)), max(largest, *rises)
        seconds = float(_expect(process.stdout.readline(), name))
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait()
    found = np.load(f"{folder}/result.npz")
    exact = f"{folder}/exact.npz"
    if not Path(exact).exists():
        Path(f"{folder}/result.npz").rename(exact)
    wanted = np.load(exact)
    error = max(np.max(np.abs(found[k] - wanted[k])) / np.max(np.abs(wanted[k])) for k in wanted)
    return Row(name, seconds, together, largest, float(error))


def _expect(line: str, name: str) -> str:
    if not line:
        raise RuntimeError(f"{name} failed")
    return line


def write_data(folder: str, rows: int) -> None:
    """Write the data of the network."""
    import zarr  # an optional package

    random = np.random.default_rng(0)
    arrays = {"x": (rows, FEATURES), "t": (rows,)}
    for name, shape in arrays.items():
        chunks = (rows // CHUNKS, *shape[1:])
        zarr.create_array(
            f"{folder}/{name}.zarr", data=random.standard_normal(shape), chunks=chunks
        )


# ------------------------------------------------------------------------------------- results
def lines_of(name: str) -> int:
    """Return the number of lines of the program of the page for a way."""
    if name not in PROGRAMS:
        return 1
    found = re.search(rf"# {PROGRAMS[name]}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return sum(bool(line.strip()) for line in found[1].splitlines())


def markdown(rows: list[Row], count: int) -> str:
    """Return the table, the machine and the picture."""
    lines = [
        "| way | s | MB, all processes | MB, largest process | lines |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        lines.append(
            f"| {row.name} | {row.seconds:.2f} | {row.together:,.0f} | {row.largest:,.0f} | "
            f"{lines_of(row.name)} |"
        )
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES[1:])
    return (
        "\n".join(lines)
        + f"\n\n*{datetime.date.today().isoformat()}, {processor()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores, one thread per process; Python "
        f"{platform.python_version()}, srcad {srcad.__version__}, {packages}; {count:,} rows in "
        f"{CHUNKS} chunks (`python -m benchmarks.scale`).*\n\n"
        f"![Time and memory of each way]({PICTURE.name})\n"
    )


def draw(rows: list[Row]) -> None:
    """Draw memory and time of each way."""
    import matplotlib as mpl  # an optional package

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "srcad"
    names = [row.name.replace("`", "") for row in rows][::-1]
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(9, 2.6), sharey=True, layout="constrained"
    )
    left.barh(names, [row.largest for row in rows][::-1], color="#0072B2")
    left.set(xscale="log", xlabel="rise of memory, largest process (MB)")
    right.barh(names, [row.seconds for row in rows][::-1], color="#E69F00")
    right.set(xlabel="time (s)")
    figure.savefig(PICTURE, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    """Measure each way and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000, help="a multiple of 20")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--update-docs", action="store_true")
    options = parser.parse_args()
    if not Path("/proc/self/status").exists():
        raise SystemExit("memory is read from /proc, which only Linux has")
    rows = []
    print(f"{'':34}      s   MB, all   largest     error")
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder, options.rows)
        for name in WAYS:
            row = measured(name, folder, options.rounds)
            rows.append(row)
            limit = f"  limit {LIMITS[name]}" if name in LIMITS else ""
            print(f"{name:34} {row.seconds:6.2f} {row.together:9.1f} {row.largest:9.1f} "
                  f"{row.error:9.1e}{limit}", flush=True)  # fmt: skip
    print("memory: rise of RssAnon (Linux)")
    if options.update_docs:
        update_page(PAGE, markdown(rows, options.rows))
        draw(rows)


if __name__ == "__main__":
    main()
