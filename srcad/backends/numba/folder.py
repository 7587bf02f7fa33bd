"""Cache directory of compiled code, not writable by other users."""

from __future__ import annotations

import os
import stat

import srcad
from srcad.errors import OptionError

VARIABLE = "SRCAD_CACHE_DIR"


def private(folder: str) -> str:
    """Return the subdirectory of this version of srcad, created if it does not exist.

    Raises
    ------
    OptionError
        Other users may write into it, or it cannot be made.
    """
    inner = os.path.join(os.path.abspath(folder), f"srcad-{srcad.__version__}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.makedirs(inner, mode=0o700, exist_ok=True)
        for place in (folder, inner):
            _check_private(place)
    except OSError as error:
        raise OptionError(
            f"cannot keep compiled code in {folder!r}",
            why=f"{error.strerror or error}.",
            help='name a folder of your own:  srcad.Numba(cache="folder"), or SRCAD_CACHE_DIR',
        ) from None
    return inner


def _check_private(place: str) -> None:
    found = os.stat(place)
    is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if not is_own or (os.name == "posix" and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise OptionError(
            f"cannot keep compiled code in {place!r}",
            why="other users may write into this folder, and code is executed from it.",
            help=(f"chmod 700 {place}", "or name a folder of your own"),
        )
