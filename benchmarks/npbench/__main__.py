"""``python -m benchmarks.npbench``."""

from benchmarks.npbench.check import main

if __name__ == "__main__":
    main()
