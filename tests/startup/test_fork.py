"""A child process that is forked while another thread compiles has compilers of its own."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from srcad import grad
from srcad.calling import gradient
from srcad.startup import locks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # that there are threads is the point
]


def square(x):
    return x * x


def cube(x):
    return x * x * x


def fifth(x):
    return x * x * x * x * x


def fourth(x):
    return square(square(x))


@pytest.fixture
def slow(monkeypatch):
    """A compiler that takes its time, and tells when it has begun."""
    begun, compile_entry = threading.Event(), gradient.compile_entry

    def slowly(*args):
        begun.set()
        time.sleep(0.2)
        return compile_entry(*args)

    monkeypatch.setattr(gradient, "compile_entry", slowly)
    return begun


def forked(check):
    """Whether a check holds in a child process, with nothing left as the compiler had it."""
    limit = sys.getrecursionlimit()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        held = check() and sys.getrecursionlimit() == limit and gc.isenabled()
        os._exit(0 if held else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def meanwhile(begun, *functions):
    threads = [threading.Thread(target=grad(f), args=(3.0,)) for f in functions]
    for thread in threads:
        thread.start()
    assert begun.wait(5)
    return threads


def test_forked_child_compiles_function_parent_was_compiling(slow):
    threads = meanwhile(slow, square, square)

    assert forked(lambda: grad(square)(3.0) == 6.0)
    for thread in threads:
        thread.join()


def test_forked_child_compiles_other_function(slow):
    threads = meanwhile(slow, cube)

    assert forked(lambda: grad(fourth)(2.0) == 32.0)
    for thread in threads:
        thread.join()


def test_fork_waits_at_most_timeout(slow, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.01)
    threads = meanwhile(slow, fifth, fifth)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if (grad(fifth)(2.0), grad(fourth)(2.0)) == (80.0, 32.0) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for thread in threads:
        thread.join()


def test_parent_and_grandchild_compile_after_fork(slow):
    assert forked(lambda: forked(lambda: grad(fourth)(2.0) == 32.0))
    assert grad(cube)(2.0) == 12.0


def test_threads_may_fork_at_the_same_time(slow):
    held = []
    threads = [
        threading.Thread(target=lambda: held.append(forked(lambda: grad(cube)(2.0) == 12.0)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert grad(square)(3.0) == 6.0
    for thread in threads:
        thread.join()
    assert held == [True] * 3


FORKS = """
import linecache, os, signal, threading, warnings
warnings.simplefilter("ignore")
import srcad

def made(k):
    text = f"def f(x):\\n  y = x\\n  for _ in range(3):\\n    y = y * x + {k}\\n  return y\\n"
    name = f"<made {k}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["f"]

def compile_on(k, stop):
    while not stop.is_set():
        k += 1
        srcad.grad(made(k))(2.0)

stop = threading.Event()
threads = [threading.Thread(target=compile_on, args=(k * 10**6, stop)) for k in (1, 2)]
for thread in threads:
    thread.start()
failed = []
for k in range(COUNT):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if srcad.grad(made(1))(2.0) == 37.0 else 1)
    if os.waitpid(child, 0)[1]:
        failed.append(k)
stop.set()
for thread in threads:
    thread.join()
print(failed)
"""


@pytest.mark.parametrize("count", [60, 4, 3])  # what is loaded first is loaded by the first ones
def test_child_forked_during_compilation_does_not_hang(count):
    program = FORKS.replace("COUNT", str(count))
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )

    assert ran.stdout == "[]\n", ran.stderr


def test_import_and_fork_exclude_each_other():
    order = []

    def imports():
        with locks.importing:
            order.append("begun")
            time.sleep(0.2)
            order.append("imported")

    thread = threading.Thread(target=imports)
    thread.start()
    while not order:
        time.sleep(0.01)
    assert forked(lambda: order == ["begun", "imported"])
    thread.join()


def test_fork_holds_no_lock_that_import_needs():
    begun, waited = threading.Event(), []

    def imports():
        with locks.importing:
            begun.set()
            time.sleep(0.1)
            with locks.COMPILING:
                waited.append(time.monotonic())

    thread = threading.Thread(target=imports)
    thread.start()
    assert begun.wait(5)
    start = time.monotonic()
    assert forked(lambda: grad(cube)(2.0) == 12.0)
    thread.join()
    assert waited[0] - start < 5
    assert time.monotonic() - start < 10


def test_fork_lets_go_of_locks_if_import_begins_meanwhile(monkeypatch):
    ready, done = threading.Event(), threading.Event()

    class Late:
        """A lock whose taking lets another thread begin an import that needs `COMPILING`."""

        def acquire(self, timeout):
            ready.set()
            time.sleep(0.1)
            return True

        def release(self):
            pass

    def imports():
        assert ready.wait(5)
        with locks.importing, locks.COMPILING:
            done.set()

    monkeypatch.setitem(locks._AWAITED, 1000, Late())
    thread = threading.Thread(target=imports)
    thread.start()
    start = time.monotonic()
    assert forked(lambda: grad(cube)(2.0) == 12.0)
    thread.join()
    assert done.is_set()
    assert time.monotonic() - start < 10


FIRST_USE = """
import os, signal, threading, time
import numpy as np, srcad

def f(x):
    return np.sum(np.sin(x) * 3.0)

def g(x):
    return np.sum(np.cos(x) * x)

def h(x):
    return np.prod(np.exp(x))

def use(*functions):
    for one in functions:
        srcad.grad(one)(np.ones(3))
        srcad.hessian(one)(np.ones(2))

threads = [threading.Thread(target=use, args=pair) for pair in ((f, g), (g, h))]
for thread in threads:
    thread.start()
failed, longest = [], 0.0
for k in range(COUNT):
    time.sleep(0.02)
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if np.allclose(srcad.grad(f)(np.ones(2)), 3 * np.cos(1)) else 1)
    longest = max(longest, time.monotonic() - start)
    if os.waitpid(child, 0)[1]:
        failed.append(k)
for thread in threads:
    thread.join()
print(failed, longest < 10)
"""


def test_child_forked_during_first_use_in_other_threads_does_not_hang(tmp_path):
    program = tmp_path / "first_use.py"  # before Python 3.13, ``-c`` leaves no source
    program.write_text(FIRST_USE.replace("COUNT", "6"))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert ran.stdout == "[] True\n", ran.stderr


def test_nested_import_lock_is_reentrant():
    with locks.importing, locks.importing:
        assert forked(lambda: grad(cube)(2.0) == 12.0)
    assert not locks._IMPORTING
