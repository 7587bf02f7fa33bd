"""See `tests.generator.runner`."""

import sys

from tests.generator.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
