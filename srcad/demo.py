"""The demonstration of ``python -m srcad demo``: a small network that learns two spirals."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

import numpy as np

from srcad.api.gradients import value_and_grad
from srcad.arguments.options import Backend
from srcad.frontend.source.definition import definition
from srcad.testing import check_grads

Params = dict[str, np.ndarray[Any, Any]]


def loss(params: Params, x: np.ndarray[Any, Any], t: np.ndarray[Any, Any]) -> Any:
    """Return the mean logistic loss of a two-layer network; ``t`` is +1 or -1."""
    h = np.tanh(x @ params["W1"] + params["b1"])
    z = h @ params["W2"] + params["b2"]
    return np.mean(np.log1p(np.exp(-t * z)))


def loss_of_arrays(W1: Any, b1: Any, W2: Any, b2: Any, x: Any, t: Any) -> Any:  # noqa: N803
    """Return the same loss; compiled code takes the parameters one by one."""
    h = np.tanh(x @ W1 + b1)
    z = h @ W2 + b2
    return np.mean(np.log1p(np.exp(-t * z)))


def spirals(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return points on two interleaved spirals, (2 count, 2), and their labels, (2 count,)."""
    angle = 3.0 * np.pi * np.sqrt(rng.uniform(0.02, 1.0, count))
    arm = np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=1) / 10.0
    points = np.concatenate([arm, -arm]) + rng.normal(0.0, 0.02, (2 * count, 2))
    return points, np.repeat([1.0, -1.0], count)


def initial(rng: np.random.Generator, hidden: int = 48) -> Params:
    """Return random parameters of the network."""
    return {
        "W1": rng.normal(0.0, 2.0, (2, hidden)),
        "b1": rng.normal(0.0, 1.0, hidden),
        "W2": rng.normal(0.0, 0.2, hidden),
        "b2": np.zeros(()),
    }


def run(seconds: float = 3.0, backend: Backend = "numpy") -> int:
    """Show, check and train; the exit status says whether it worked.

    With another backend than NumPy, both texts are shown.
    """
    rng = np.random.default_rng(0)
    x, t = spirals(150, rng)
    params = initial(rng)
    step: Any = value_and_grad(loss)
    compiled = None if backend == "numpy" else _compiled_step(backend)
    step(params, x, t)
    print("A plain NumPy function, and what srcad wrote from it:\n")
    _side_by_side(_without_docstring(definition(loss).text), step.source)

    if compiled is not None:
        step = compiled
        step(params, x, t)
    check_grads(loss, [params, x, t], wrt=0, order=1)
    print("\nEvery entry of its gradient agrees with finite differences.\n")

    accuracy = _train(step, params, x, t, seconds)
    print(f"\nThe network tells the two spirals apart on {accuracy:.1%} of the points.")
    return 0 if accuracy > 0.9 else 1


def _compiled_step(backend: Backend) -> Any:
    """Return a training step on another backend that prints its code once."""
    gradient = value_and_grad(loss_of_arrays, wrt=(0, 1, 2, 3), backend=backend)
    shown: list[str] = []

    def step(params: Params, x: Any, t: Any) -> tuple[Any, Params]:
        W1, b1, W2, b2 = params.values()  # noqa: N806 - mathematics has capital letters
        value, gradients = gradient(W1, b1, W2, float(b2), x, t)
        if not shown:
            shown.append(gradient.source)
            print(f"\nThe same on the backend {backend!r}:\n\n{shown[0]}")
        return value, dict(zip(params, gradients, strict=True))

    return step


def _train(step: Any, params: Params, x: Any, t: Any, seconds: float) -> float:
    """Adam on all points for some seconds, with a progress bar."""
    mean = {key: np.zeros_like(value) for key, value in params.items()}
    square = {key: np.zeros_like(value) for key, value in params.items()}
    start, count = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < seconds or count < 200:
        value, gradient = step(params, x, t)
        count += 1
        for key, g in gradient.items():
            mean[key] = 0.9 * mean[key] + 0.1 * g
            square[key] = 0.999 * square[key] + 0.001 * g * g
            first = mean[key] / (1 - 0.9**count)
            second = square[key] / (1 - 0.999**count)
            params[key] = params[key] - 0.02 * first / (np.sqrt(second) + 1e-8)
        if count % 50 == 0:
            _bar(min(elapsed / seconds, 1.0), count, float(value))
    _bar(1.0, count, float(value))
    print(f"\n{count} steps in {elapsed:.1f} s")
    z = np.tanh(x @ params["W1"] + params["b1"]) @ params["W2"] + params["b2"]
    return float(np.mean((z > 0) == (t > 0)))


def _bar(part: float, count: int, value: float) -> None:
    if not sys.stdout.isatty() and part < 1.0:
        return
    filled = int(30 * part)
    print(
        f"\rtraining [{'#' * filled}{'.' * (30 - filled)}] step {count:6d}  loss {value:.4f}",
        end="",
        flush=True,
    )


def _without_docstring(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if '"""' not in line)


def _side_by_side(left: str, right: str) -> None:
    """Print two texts side by side where the terminal is wide enough, else one below the other."""
    first, second = left.splitlines(), right.splitlines()
    width = max(map(len, first))
    if width + 3 + max(map(len, second)) > shutil.get_terminal_size((160, 24)).columns:
        print("\n".join([*first, "", *second]))
        return
    for k in range(max(len(first), len(second))):
        a = first[k] if k < len(first) else ""
        b = second[k] if k < len(second) else ""
        print(f"{a.ljust(width)} | {b}".rstrip())
