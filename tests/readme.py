"""``python tests/readme.py README.md``: run the programs of a document with the installed srcad.

It needs only the standard library, so that it runs in an environment that has srcad and NumPy and
nothing else.  It fails if srcad is not imported from that environment, or if a program does not
print the text under it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAIR = re.compile(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", re.DOTALL)


def output_of(program: str, folder: Path) -> str:
    """Return what a program prints, run as ``model.py`` in a folder."""
    (folder / "model.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "model.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def main(document: str) -> int:
    """Run each program, print how many there are, and return the exit status."""
    pairs = PAIR.findall(Path(document).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = output_of("import srcad; print(srcad.__file__)", folder).strip()
        if not Path(file).is_relative_to(sys.prefix):
            print(f"srcad is imported from {file}, not from {sys.prefix}")
            return 1
        for program, expected in pairs:
            found = output_of(program, folder)
            if found.rstrip() != expected.rstrip():
                print(f"{program}\nprints\n{found}\ninstead of\n{expected}")
                return 1
    print(f"{len(pairs)} programs of {document} print what stands under them")
    return 0 if pairs else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
