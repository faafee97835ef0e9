"""Ownership of code: the user's, a library's, a framework's, Python's or this package's."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from ...registration import packages

OWN = __name__.partition(".")[0]
Owner = Literal["user", "library", "framework", "python", "own"]
INTERNAL = frozenset({"framework", "python", "own"})
_INSTALLED = ("site-packages", "dist-packages")
_PYTHON = (f"{Path(os.__file__).parent}{os.sep}", "<frozen")
_follows_libraries = ContextVar("follows_libraries", default=False)


@contextmanager
def following_libraries(follows: bool) -> Iterator[None]:
    """Treat code of libraries as the user's in the ``with`` block if ``follows``, else as a library's.

    >>> file = f"{os.sep}lib{os.sep}site-packages{os.sep}package.py"
    >>> with following_libraries(True):
    ...     owner_of_file(file)
    'user'
    >>> owner_of_file(file)
    'library'
    """
    # NumPy needs this: its functions without a dispatch protocol (``np.zeros``) are recorded only in
    # modules where the recording has replaced them.
    token = _follows_libraries.set(follows)
    try:
        yield
    finally:
        _follows_libraries.reset(token)


def owner_of(item: Any) -> Owner:
    """Return the owner of a module (or its name), a class, a Python function, or the code of a frame.

    >>> [owner_of(item) for item in (os, functools.partial, owner_of, "torch.nn", "users.model")]
    ['python', 'python', 'own', 'framework', 'user']
    """
    # A wrapper may have the module name of the function that it wraps, so its globals decide.
    if isinstance(item, types.FunctionType):
        return _followed(_owner(item.__globals__.get("__name__"), item.__code__.co_filename, packages()))
    if isinstance(item, types.FrameType):
        return _followed(_owner(item.f_globals.get("__name__"), item.f_code.co_filename, packages()))
    name = (
        item
        if isinstance(item, str)
        else item.__name__
        if isinstance(item, types.ModuleType)
        else item.__module__
    )
    return _followed(
        _owner(
            name,
            getattr(sys.modules.get(name) if isinstance(name, str) else None, "__file__", None),
            packages(),
        )
    )


def _followed(owner: Owner) -> Owner:
    return "user" if owner == "library" and _follows_libraries.get() else owner


def is_users(item: Any) -> bool:
    return owner_of(item) == "user"


def is_internal(item: Any) -> bool:
    return owner_of(item) in INTERNAL


def owner_of_file(file: str) -> Owner:
    """Return the owner of a source file, for code of which only the file is known.

    >>> [owner_of_file(file) for file in (__file__, os.__file__, "/home/me/model.py")]
    ['own', 'python', 'user']
    """
    return _followed(_owner_of_file(file, packages()))


@functools.lru_cache(maxsize=8192)
def _owner_of_file(file: str, frameworks: frozenset[str]) -> Owner:
    # Code of an installed package is named after its folder in site-packages.
    inside = next(
        (file.rpartition(f"{folder}{os.sep}")[2] for folder in _INSTALLED if folder in file), ""
    ).partition(os.sep)[0]
    return _owner(
        inside or next((package for package, folder in _folders() if file.startswith(folder)), None),
        file,
        frameworks,
    )


def package_of(name: Any) -> str:
    """Return the top-level package of a module's name, or an empty string if it is no string.

    >>> package_of("torch.nn.functional"), package_of(None)
    ('torch', '')
    """
    return name.partition(".")[0] if isinstance(name, str) else ""


@functools.lru_cache(maxsize=8192)
def _owner(name: Any, file: Any, frameworks: frozenset[str]) -> Owner:
    package, file = package_of(name), file if isinstance(file, str) else ""
    # The file of ``__main__`` may be that of a launcher, which runs the user's code.
    if name == "__main__":
        return "user"
    if package == OWN:
        return "own"
    # Calls of frameworks are recorded, so nothing that their own code refers to matters.
    if package in frameworks:
        return "framework"
    # The name decides before the file does, because zipped and frozen modules have no file.
    if package in sys.stdlib_module_names:
        return "python"
    if any(folder in file for folder in _INSTALLED) or _is_installed(file):
        return "library"
    return "python" if file.startswith(_PYTHON) else "user"


def _is_installed(file: str) -> bool:
    folders = [
        folder for folder in sys.path if folder and file.startswith(f"{folder.rstrip(os.sep)}{os.sep}")
    ]
    return any(
        file[len(folder.rstrip(os.sep)) + 1 :].partition(os.sep)[0] in _installed_in(folder)
        for folder in folders
    )


@functools.lru_cache(maxsize=256)
def _installed_in(folder: str) -> frozenset[str]:
    # An egg-info folder lies beside the sources that somebody works on, and has no record.
    # An editable installation has its record elsewhere, so its code stays the user's.
    found = [each for each in metadata.distributions(path=[folder]) if each.read_text("RECORD")]
    return frozenset(file.parts[0] for each in found for file in each.files or ())


def _folders() -> Iterator[tuple[str, str]]:
    for name in (OWN, f"{OWN}.frontends", f"{OWN}.backends", *packages()):
        if file := getattr(sys.modules.get(name), "__file__", None):
            yield from (
                (name, f"{folder}{os.sep}")
                for folder in (Path(file).absolute().parent, Path(file).resolve().parent)
            )


# Modules of Python that read values for their own use, which does not change what they return.
_ASKING = frozenset({"logging", "warnings", "linecache", "inspect", "importlib", "tempfile"})


_MECHANISM = f"{OWN}.recording.patches"


def skip_patch_frames(frame: FrameType) -> FrameType:
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_MECHANISM):
        frame = frame.f_back
    return frame


def user_of(frame: FrameType | None) -> FrameType | None:
    """Return the frame of user or library code on whose behalf ``frame`` runs, or None."""
    frame = None if frame is None else skip_patch_frames(frame)
    while frame is not None:
        owner = owner_of(frame)
        if owner in ("framework", "own") or package_of(frame.f_globals.get("__name__")) in _ASKING:
            return None
        if owner != "python":
            return frame
        frame = frame.f_back
    return None
