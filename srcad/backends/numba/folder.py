"""Cache directory of compiled code, not writable by other users."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

import srcad
from srcad.errors import OptionError

VARIABLE = "SRCAD_CACHE_DIR"


def private(folder: str) -> str:
    """Return the subdirectory of this version of srcad, created if it does not exist.

    Raises
    ------
    OptionError
        Other users may write into it, or put another folder in its place, or it cannot be made.
    """
    outer = os.path.abspath(folder)
    inner = os.path.join(outer, f"srcad-{srcad.__version__}")
    try:
        _make(inner)
        for place in dict.fromkeys((outer, inner)):
            _check_private(place)
        for place in dict.fromkeys((outer, *_parents(outer), *_parents(os.path.realpath(outer)))):
            _check_parent(place, folder)
    except OSError as error:
        raise OptionError(
            f"cannot keep compiled code in {folder!r}",
            why=f"{error.strerror or error}.",
            help='name a folder of your own:  srcad.Numba(cache="folder"), or SRCAD_CACHE_DIR',
        ) from None
    return inner


def _make(folder: str) -> None:
    """Create a folder and its parents for this user only."""
    if not os.path.isdir(folder):
        _make(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):  # another process has made it
            os.mkdir(folder, 0o700)


def _parents(place: str) -> Iterator[str]:
    while place != (place := os.path.dirname(place)):
        yield place


def _check_private(place: str) -> None:
    found = os.stat(place)
    is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if not is_own or (os.name == "posix" and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise OptionError(
            f"cannot keep compiled code in {place!r}",
            why="other users may write into this folder, and code is executed from it.",
            help=(f"chmod 700 {place}", "or name a folder of your own"),
        )


def _check_parent(place: str, folder: str) -> None:
    """Raise `OptionError` if other users may rename entries of a parent directory or link."""
    if os.name == "posix" and not (_is_safe(os.lstat(place)) and _is_safe(os.stat(place))):
        raise OptionError(
            f"cannot keep compiled code in {folder!r}",
            why=f"other users may put another one in its place, since they may change {place!r}.",
            help=(f"chmod go-w {place}", "or name a folder below your home"),
        )


def _is_safe(found: os.stat_result) -> bool:
    """Return True if only this user and root may rename the entries of others in a directory.

    By convention a group with the number of the user has no other members.
    """
    if found.st_uid not in (0, os.getuid()):
        return False
    if stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX:
        return True
    is_own_group = found.st_gid == os.getgid() == os.getuid()
    return not found.st_mode & (stat.S_IWOTH if is_own_group else stat.S_IWGRP | stat.S_IWOTH)
