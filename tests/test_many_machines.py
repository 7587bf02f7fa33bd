"""Programs of the page on many machines, each in a process of its own, and killed workers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "many-machines.md"
PROGRAM = re.compile(r"```python\n# (\w+\.py)\n((?:(?!```).)*)```", re.DOTALL)
PRINTED = re.compile(
    r"```python\n# (\w+\.py)\n(?:(?!```).)*```\n\nIt prints\n\n```text\n(.*?)```", re.DOTALL
)
PROGRAMS = dict(PROGRAM.findall(PAGE.read_text()))
OUTPUTS = dict(PRINTED.findall(PAGE.read_text()))
NEEDS = {
    "by_dask.py": ["distributed", "zarr", "scipy"],
    "by_futures.py": ["zarr", "scipy"],
    "by_joblib.py": ["joblib", "zarr", "scipy"],
    "by_mpi.py": ["mpi4py", "zarr", "scipy"],
    "by_ray.py": ["ray", "zarr", "scipy"],
    "fits.py": ["joblib", "numba", "scipy"],
    "is_a_sum.py": [],
    "loop.py": ["zarr", "scipy"],
    "monte_carlo.py": ["joblib"],
}
SECONDS = 240  # a limit for machines that do other things as well


def run(folder, name, monkeypatch, *before):
    """Run a program of a folder; return what it prints."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        [*before, sys.executable, name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(folder):
    for name, program in PROGRAMS.items():
        (folder / name).write_text(program)


def needs(name):
    for module in NEEDS[name]:
        pytest.importorskip(module)


def test_page_runs_each_program_and_each_is_short():
    assert set(PROGRAMS) == {*NEEDS, "data.py", "chunks.py"}
    for name, program in PROGRAMS.items():
        lines = [line for line in program.splitlines() if line.strip()]
        assert len(lines) <= 15, name
        assert not re.search(r"\b_[a-z]\w*|\w\._[a-z]", program), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fits.py", "is_a_sum.py", "monte_carlo.py"])
def test_program_prints_what_the_page_says(name, tmp_path, monkeypatch, update_golden):
    needs(name)
    write(tmp_path)

    check(name, run(tmp_path, name, monkeypatch), update_golden)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["loop.py", "by_dask.py", "by_futures.py", "by_joblib.py", "by_mpi.py", "by_ray.py"]
)
def test_sum_over_chunks_has_the_minimum_of_the_page(name, tmp_path, monkeypatch, update_golden):
    needs(name)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    before = ["mpiexec", "-n", "2"] if name == "by_mpi.py" else []  # it is in the package mpich
    if before and shutil.which("mpiexec") is None:
        pytest.skip("needs mpiexec")
    write(tmp_path)
    run(tmp_path, "data.py", monkeypatch)

    out = run(tmp_path, name, monkeypatch, *before)

    if name == "by_ray.py":
        out = out.splitlines()[-1] + "\n"
    check("loop.py", out, update_golden and name == "loop.py")


def check(name, out, update):
    if not update:
        assert out == OUTPUTS[name]
        return
    (match,) = (m for m in PRINTED.finditer(PAGE.read_text()) if m[1] == name)
    text = PAGE.read_text()
    PAGE.write_text(text[: match.start(2)] + out + text[match.end(2) :])


# A map over 30 chunks of which each takes 0.1 s; one of two workers is killed after 0.5 s.
SLOWLY = """
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import numpy as np
import srcad

def loss(w, x):
    return np.sum(np.tanh(x @ w))

gradient = srcad.grad(loss)
W, DATA = np.linspace(-1.0, 1.0, 4), np.random.default_rng(0).standard_normal((30, 50, 4))

def slowly(k):
    time.sleep(0.1)
    return gradient(W, DATA[k])

def kill_after(seconds, pid):
    threading.Timer(seconds, os.kill, [pid, signal.SIGKILL]).start()

def worker(_=None):
    time.sleep(0.1)
    return os.getpid()
"""
KILLED = {
    "distributed": """
from dask.distributed import Client, LocalCluster
from slowly import *

if __name__ == "__main__":
    how = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        pids = client.run(os.getpid)
        client.gather(client.map(slowly, range(2), pure=False))
        begin = time.perf_counter()
        kill_after(0.5, next(iter(pids.values())))
        found = sum(client.gather(client.map(slowly, range(30), pure=False)))
        assert time.perf_counter() - begin < 30.0
        assert client.run(os.getpid) != pids
    wanted = gradient(W, DATA.reshape(-1, 4))
    assert np.max(np.abs(found - wanted)) <= 1e-12 * np.max(np.abs(wanted))
    print("right")
""",
    "joblib": """
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from slowly import *

if __name__ == "__main__":
    with Parallel(2) as pool:
        kill_after(0.5, pool(delayed(worker)() for _ in range(2))[0])
        try:
            print(sum(pool(delayed(slowly)(k) for k in range(60))))
        except TerminatedWorkerError:
            print("right")
""",
    "futures": """
from slowly import *

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        kill_after(0.5, list(pool.map(worker, range(2)))[0])
        try:
            print(sum(pool.map(slowly, range(60))))
        except BrokenProcessPool:
            print("right")
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", KILLED)
def test_sum_is_whole_or_raises_after_a_worker_is_killed(engine, tmp_path, monkeypatch):
    if engine != "futures":
        pytest.importorskip(engine)
    (tmp_path / "slowly.py").write_text(SLOWLY)
    (tmp_path / "killed.py").write_text(KILLED[engine])

    assert run(tmp_path, "killed.py", monkeypatch) == "right\n"


# A closure over the data of a task, and a derivative of the same file that brings the text.
CLOSURES = """
import os
import numpy as np
import srcad
from dask.distributed import Client, LocalCluster

W = np.linspace(-1.0, 1.0, 4)

def loss(w):
    return np.sum(w**2)

gradient = srcad.grad(loss)

def task(data, other):
    def f(w):
        return np.sum(np.tanh(data @ w))

    slope = srcad.grad(f)
    return slope(W).tobytes(), slope.cache_info().compilations, os.getpid()

if __name__ == "__main__":
    data = list(np.random.default_rng(0).standard_normal((50, 20, 4)))
    wanted = [task(one, gradient)[0] for one in data]
    how = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        found = client.gather(client.map(task, data, other=gradient))
    print([one[0] for one in found] == wanted, {one[1] for one in found})
    print(len({one[2] for one in found}), os.getpid() in {one[2] for one in found})
"""


@pytest.mark.slow
def test_closures_over_data_of_tasks_compile_once_per_worker(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    (tmp_path / "closures.py").write_text(CLOSURES)

    same, where = run(tmp_path, "closures.py", monkeypatch).splitlines()

    assert same == "True {1}"
    assert where in ("1 False", "2 False")


# The first gradients of ten problems of the benchmarks with a shared folder of compiled code.
CACHED = """
import sys
import time
import numpy as np
import srcad
from benchmarks.problems import PROBLEMS
from numba.core.event import Listener, register

compiled = []

class Noted(Listener):
    def on_start(self, event):
        compiled.append(event)

    def on_end(self, event):
        pass

ten = list(PROBLEMS.items())[:10]
backend = srcad.Numba(cache="compiled")
register("numba:compile", Noted())
begin = time.process_time()
for name, problem in ten:
    arguments = problem.make(np.random.default_rng(0), next(iter(problem.sizes)))
    found = srcad.grad(problem.primal, wrt=problem.wrt, backend=backend)(*arguments)
    print(name, b"".join(np.asarray(one).tobytes() for one in found).hex()[:2000])
print(len(compiled), time.process_time() - begin)
"""


@pytest.mark.slow
def test_second_process_with_shared_cache_compiles_nothing(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    (tmp_path / "cached.py").write_text(CACHED)

    first, second = (run(tmp_path, "cached.py", monkeypatch).splitlines() for _ in range(2))

    assert second[:-1] == first[:-1]
    (made, seconds), (made_again, seconds_again) = first[-1].split(), second[-1].split()
    assert int(made) > 0
    assert int(made_again) == 0
    assert float(seconds_again) <= 0.5 * float(seconds)


CELLS = [
    "import numpy as np\nimport srcad\nfrom dask.distributed import Client, LocalCluster",
    "scale = 3.0\ndef loss(x):\n    return np.sum(np.sin(scale * x))\ngradient = srcad.grad(loss)",
    "how = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)\n"
    "with LocalCluster(**how) as cluster, Client(cluster) as client:\n"
    "    print(sum(client.gather(client.map(gradient, np.zeros((4, 2))))))\n"
    "    print(client.submit(srcad.grad(lambda x: x**3), 2.0).result())",
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_gradient_of_notebook_runs_on_cluster(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for module in ("ipykernel", "distributed"):
        pytest.importorskip(module)
    from traitlets.config import Config

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])

    nbclient.NotebookClient(
        book,
        timeout=SECONDS,
        kernel_name="python3",
        config=Config({"KernelManager": {"ip": "127.0.0.1"}}),
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()

    printed = "".join(one["text"] for one in book.cells[-1].outputs if one.get("name") == "stdout")
    assert printed == "[12. 12.]\n12.0\n"
