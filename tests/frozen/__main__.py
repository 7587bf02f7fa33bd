"""See `tests.frozen` and `tests.frozen.runner`."""

import sys

from tests.frozen.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
