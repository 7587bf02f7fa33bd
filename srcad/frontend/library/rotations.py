"""Rotations of `scipy.spatial.transform`; `prelude.rotations` has them in Python."""

from __future__ import annotations

import importlib
from typing import Any

from srcad.frontend.domain.values import AbstractValue, Constant, RecordValue
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude import rotations

_MODULE = "scipy.spatial.transform._rotation"
_MAKERS: tuple[Any, ...] = (
    rotations.from_rotvec, rotations.from_quat, rotations.from_euler, rotations.from_matrix,
    rotations.from_mrp, rotations.concatenate,
)  # fmt: skip
_STEPS: tuple[Any, ...] = (
    rotations.quaternion_of_vector, rotations.quaternion_of_angles, rotations.normalised,
    rotations.composed, rotations.quaternion_of, rotations.vector_of, rotations.angle_of,
    rotations.angles_of, rotations.matrix_of, rotations.rotated, rotations.quaternion_of_matrix,
    rotations.quaternion_of_parameters, rotations.parameters_of, rotations.powered,
    rotations.mean_of,
)  # fmt: skip


def _made_by(function: Any) -> None:
    @means_in(_MODULE, f"Rotation.{function.__name__}")
    def made(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if not state.is_active(*args, *kwargs.values()):
            return None
        return apply(state, Constant(function), args, kwargs)


def _step_of(function: Any) -> None:
    @means(function)
    def step(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        rules = importlib.import_module("srcad.rules.scipy.rotations")
        return apply(state, Constant(getattr(rules, function.__name__)), args, kwargs)


for _function in _MAKERS:
    _made_by(_function)
for _step in _STEPS:
    _step_of(_step)


@means(rotations.Rotated)
def rotated(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return an object with the methods of `Rotated`."""
    return RecordValue(rotations.Rotated, ("quat",), args)


@means_in(_MODULE, "Rotation.apply")
def applied(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``rotation.apply(vectors)`` of a rotation that no derivative flows through."""
    rotation, *others = args
    if not state.is_active(*others, *kwargs.values()) or state.is_active(rotation):
        return None
    return apply(state, Constant(rotations.applied), args, kwargs)
