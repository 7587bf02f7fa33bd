"""``python -m tests.recipes [NAME]...``: try the recipes, and say what each change touches."""

import sys

from tests.recipes.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
