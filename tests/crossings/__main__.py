"""See `tests.crossings.runner`."""

import os
import sys

os.environ.setdefault("SRCAD_VERIFY", "1")

from tests.crossings.runner import main  # noqa: E402 - after the verifier is on

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
