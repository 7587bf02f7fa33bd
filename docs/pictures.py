"""Write the pictures of README and docs: ``python docs/pictures.py``, in the repository's root.

``docs/gradient.svg`` shows a function and the gradient that srcad generates, taken from the first
program of the README and its output, which the tests run.  ``docs/speed.svg`` shows geometric means
over the rows of the table of problems of ``docs/benchmarks.md``.  ``docs/fitted.svg`` shows the
data and the output of the first program of ``docs/differential_equations.md``.  A test compares the
files with these functions, so a new table asks for new pictures.
"""

from __future__ import annotations

import html
import math
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
WORDS = re.compile(
    r"(?P<comment>#.*)|(?P<string>\"[^\"]*\")|(?P<keyword>\b(?:def|return|import|for|in|if)\b)"
    r"|(?P<number>\b\d[\d.]*\b)"
)
COLOURS = {"comment": "#6b7280", "string": "#0a7a3d", "keyword": "#a1128f", "number": "#1d4ed8"}
LINE, LETTER = 17, 7.25  # height of a line and width of a letter, in pixels at 12 pixels


def code_lines(text: str, left: float, top: float) -> list[str]:
    """Return SVG elements for lines of Python, with colours for a few kinds of words."""
    lines = []
    for k, indented in enumerate(text.splitlines()):
        line = indented.lstrip()
        x = left + LETTER * (len(indented) - len(line))
        parts, start = [], 0
        for found in WORDS.finditer(line):
            colour = COLOURS[found.lastgroup or "number"]
            parts.append(html.escape(line[start : found.start()], quote=False))
            word = html.escape(found[0], quote=False)
            parts.append(f'<tspan fill="{colour}">{word}</tspan>')
            start = found.end()
        parts.append(html.escape(line[start:], quote=False))
        lines.append(f'<text x="{x:g}" y="{top + k * LINE:g}">{"".join(parts)}</text>')
    return lines


def picture_of_gradient(readme: str) -> str:
    """Return an SVG with the function of the first program of the README, and its gradient."""
    program, source = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.DOTALL)[0]
    function = re.findall(r"^def .*?(?=\n\n)", program, re.DOTALL | re.MULTILINE)[0]
    source = source.rstrip()
    widths = [max(map(len, text.splitlines())) * LETTER for text in (function, source)]
    right = 24 + widths[0] + 48
    height = 56 + LINE * len(source.splitlines())
    width = right + widths[1] + 16
    heads = [(24, "the function, plain NumPy"), (right, "print(srcad.grad(loss).source)")]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            f'viewBox="0 0 {width:.0f} {height}" role="img" font-family="{FONT}" font-size="12">',
            "<title>A function in plain NumPy, and the gradient that srcad generates</title>",
            '<rect width="100%" height="100%" rx="6" fill="#f8fafc"/>',
            f'<path d="M{right - 24:g} 14V{height - 14}" stroke="#cbd5e1"/>',
            *(
                f'<text x="{x:g}" y="26" font-family="{SANS}" fill="#475569">{head}</text>'
                for x, head in heads
            ),
            '<g fill="#0f172a">',
            *code_lines(function, 24, 52),
            *code_lines(source, right, 52),
            "</g>",
            "</svg>\n",
        ]
    )


SYSTEMS = {
    "srcad+numba": "srcad, compiled by Numba",
    "jax.jit": "JAX, compiled",
    "srcad": "srcad, NumPy code",
    "torch": "PyTorch, eager",
    "autograd": "autograd",
}


def means_of_problems(page: str) -> tuple[dict[str, float], str, str]:
    """Return geometric means of the ratios to the hand-written adjoint.

    Parameters
    ----------
    page : str
        Text of ``docs/benchmarks.md``.

    Returns
    -------
    tuple
        The mean of each system over the sizes that all of them support, the number of these sizes
        and problems, and two lines: date and machine of the measurement, and versions.
    """
    table = re.findall(r"### Problems\n\n(.*?)\n\n", page, re.DOTALL)[0].splitlines()
    names = [cell.strip() for cell in table[0].strip("|").split("|")]
    ratios: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    problems = set()
    for line in table[2:]:
        cells = dict(zip(names, (c.strip() for c in line.strip("|").split("|")), strict=True))
        chosen = [cells[name] for name in SYSTEMS]
        if cells["size"] and all(re.fullmatch(r"[\d.]+", cell) for cell in chosen):
            problems.add(cells["function"])
            for name, cell in zip(SYSTEMS, chosen, strict=True):
                ratios[name].append(float(cell))
    means = {
        name: math.exp(sum(map(math.log, found)) / len(found)) for name, found in ratios.items()
    }
    date, machine, versions = re.findall(
        r"<!-- results -->\n\n(\S+), .*\n(.*)\n(.*)\n\n### Problems", page
    )[0]
    words = re.findall(r"(?:srcad|numpy|numba|autograd|jax|torch) [\d.]+(?<!\.)", versions)
    count = f"{len(ratios['srcad'])} sizes of {len(problems)} problems"
    return means, count, f"{date}, {machine}\n{', '.join(words)}"


def picture_of_speed(page: str) -> str:
    """Return an SVG with one bar for each system, from the table of problems."""
    means, count, machine = means_of_problems(page)
    left, unit, top, step = 190, 110, 60, 26  # pixels; a power of ten is `unit` wide
    low, high = -2, 2
    one = left + unit * -low
    bottom = top + step * len(means)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{bottom + 76}" '
        f'viewBox="0 0 720 {bottom + 76}" role="img" font-family="{SANS}" font-size="12" '
        'fill="#0f172a">',
        "<title>Time of a gradient relative to a hand-written NumPy adjoint</title>",
        '<rect width="100%" height="100%" rx="6" fill="#f8fafc"/>',
        '<text x="24" y="26" font-size="13">Time of a gradient, hand-written NumPy adjoint = 1 '
        f"(geometric mean over {count})</text>",
    ]
    for power in range(low, high + 1):
        x = left + unit * (power - low)
        colour = "#475569" if power == 0 else "#e2e8f0"
        parts.append(f'<path d="M{x} {top - 14}V{bottom}" stroke="{colour}"/>')
        parts.append(
            f'<text x="{x}" y="{bottom + 16}" text-anchor="middle" fill="#475569">{10.0**power:g}'
            "</text>"
        )
    for k, (name, mean) in enumerate(means.items()):
        y = top + k * step
        x = left + unit * (math.log10(mean) - low)
        begin, end = min(x, one), max(x, one)
        colour = "#1d4ed8" if name.startswith("srcad") else "#94a3b8"
        label = f'x="{end + 6:.1f}"' if mean > 1 else f'x="{begin - 6:.1f}" text-anchor="end"'
        parts += [
            f'<text x="24" y="{y + 5}">{SYSTEMS[name]}</text>',
            f'<rect x="{begin:.1f}" y="{y - 8}" width="{end - begin:.1f}" height="17" '
            f'fill="{colour}"/>',
            f'<text {label} y="{y + 5}">{mean:.2g}</text>',
        ]
    parts += [
        f'<text x="24" y="{bottom + 36}" font-size="11" fill="#475569">left is faster, logarithmic'
        "; one thread, float64, wall time</text>",
        *(
            f'<text x="24" y="{bottom + 52 + 14 * k}" font-size="10" fill="#475569">'
            f"{html.escape(line)}</text>"
            for k, line in enumerate(machine.splitlines())
        ),
        "</svg>\n",
    ]
    return "\n".join(parts)


def numbers(text: str) -> list[float]:
    """Return the numbers in a list or array in brackets."""
    return [float(word) for word in re.findall(r"-?\d+\.?\d*", text)]


def picture_of_fit(page: str) -> str:
    """Return an SVG with data, the fitted logistic curve and its confidence band."""
    program, output = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)[0]
    measured = numbers(re.findall(r"measured = np.array\(\[(.*?)\]\)", program)[0])
    rate, capacity = numbers(output.splitlines()[0])[:2]
    band = numbers(output.splitlines()[1])
    start, last = measured[0], len(measured) - 1

    def population(t: float) -> float:
        return capacity / (1.0 + (capacity / start - 1.0) * math.exp(-rate * t))

    def place(t: float, n: float) -> str:
        return f"{60 + 90 * t:.1f},{250 - 100 * n:.1f}"

    def width(t: float) -> float:
        k = min(int(t), last - 1)
        return band[k] + (t - k) * (band[k + 1] - band[k])

    grid = [k / 10 for k in range(10 * last + 1)]
    curve = [place(t, population(t)) for t in grid]
    above = [place(t, population(t) + width(t)) for t in grid]
    below = [place(t, population(t) - width(t)) for t in grid]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="300" viewBox="0 0 640 300" '
        f'role="img" font-family="{SANS}" font-size="12" fill="#475569">',
        "<title>Measured numbers, the fitted trajectory and its confidence band</title>",
        '<rect width="100%" height="100%" rx="6" fill="#f8fafc"/>',
        '<path d="M60 30V250H610" fill="none" stroke="#cbd5e1"/>',
        *(f'<text x="{60 + 90 * t}" y="268" text-anchor="middle">{t}</text>'
          for t in range(last + 1)),
        *(f'<text x="50" y="{254 - 100 * n}" text-anchor="end">{n}</text>' for n in range(3)),
        '<text x="335" y="288" text-anchor="middle">t</text>',
        f'<polygon points="{" ".join(above + below[::-1])}" fill="#1d4ed8" fill-opacity="0.2"/>',
        f'<polyline points="{" ".join(curve)}" fill="none" stroke="#1d4ed8" stroke-width="1.5"/>',
    ]  # fmt: skip
    for t, n in enumerate(measured):
        x, y = place(t, n).split(",")
        parts.append(f'<circle cx="{x}" cy="{y}" r="3.5" fill="#0f172a"/>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Write the pictures."""
    readme = (DOCS.parent / "README.md").read_text()
    (DOCS / "gradient.svg").write_text(picture_of_gradient(readme))
    page = (DOCS / "differential_equations.md").read_text()
    (DOCS / "fitted.svg").write_text(picture_of_fit(page))
    (DOCS / "speed.svg").write_text(picture_of_speed((DOCS / "benchmarks.md").read_text()))


if __name__ == "__main__":
    main()
