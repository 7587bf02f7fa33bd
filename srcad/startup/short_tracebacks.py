"""Short tracebacks: one frame of srcad stands between the caller and an error.

>>> import traceback
>>> def public(x):
...     with short_traceback():
...         return _checked(x)
>>> def _checked(x):
...     raise on_purpose(TypeError(f"not {x!r}"))
>>> try:
...     public(2)
... except TypeError as error:
...     print(error)
not 2
"""

from __future__ import annotations

import os
from types import CodeType
from typing import Any, TypeVar

from srcad.errors import InvalidIRError, SrcadError

E = TypeVar("E", bound=Exception)
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def on_purpose(error: E) -> E:
    """Mark an error of Python's own class that srcad raises on purpose."""
    error.__srcad_meant__ = True  # type: ignore[attr-defined]
    return error


def is_ours(code: CodeType) -> bool:
    """Return True if some code is srcad's own; generated code is not."""
    return code.co_filename.startswith(_HOME)


class short_traceback:  # noqa: N801 - reads like contextlib's own
    """Take the frames behind this one that are srcad's out of the traceback of an error.

    That is done for errors that srcad raises on purpose, for those of the system, and for those
    that come from code of the user's; the traceback of a defect stays as it is.  With `every` it is
    done for all: where the function of the user is called from here.
    """

    __slots__ = ("every",)

    def __init__(self, *, every: bool = False) -> None:
        self.every = every

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: Any) -> None:
        if error is None or error.__traceback__ is None:
            return
        if self.every or _is_for_users(error):
            link = error.__traceback__
            while link.tb_next is not None:
                if is_ours(link.tb_next.tb_frame.f_code):
                    link.tb_next = link.tb_next.tb_next
                else:
                    link = link.tb_next


def _is_for_users(error: BaseException) -> bool:
    if isinstance(error, InvalidIRError):
        return False
    if isinstance(error, SrcadError | OSError) or hasattr(error, "__srcad_meant__"):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        if last.tb_frame.f_code.co_filename.startswith("<srcad "):
            return True  # a helper of generated code raises what the plain call raises
        last = last.tb_next
    return last is not None and not is_ours(last.tb_frame.f_code)
