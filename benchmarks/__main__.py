"""``python -m benchmarks``: srcad beside hand-written adjoints and other systems, on one thread."""

import os

for _variable in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_variable}_NUM_THREADS", "1")
os.environ.setdefault("NPROC", "1")  # the size of XLA's pool of threads
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from benchmarks.comparison import main  # noqa: E402 - after the number of threads is set

if __name__ == "__main__":
    main()
