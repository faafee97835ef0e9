"""Writing of a saved graph in pieces. Each array is converted to bytes just before it is written."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ...errors import InvalidFile
from ...ops.dtypes import ITEMSIZE, dtype_name

FILES = ("graph.json", "arrays.safetensors", "digest.json")
ENCODED = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "F32", "complex128": "F64",
}  # fmt: skip
# Held while files move, so that two threads do not mix their files in a folder.
_placing = threading.RLock()
# Temporary folders of files being written.
_partial: set[str] = set()


def require_encoding(name: str, dtype: str) -> None:
    if dtype not in ENCODED:
        raise InvalidFile(
            f"{name} cannot be written: files have no dtype {dtype}. Pass the array as an argument, or keep "
            "it in another dtype, such as that of its bits. Nothing was written"
        )


def safetensors_of(
    arrays: Mapping[str, Any], to_bytes: Callable[[Any], bytes], metadata: Mapping[str, str] | None = None
) -> Iterator[bytes]:
    """Yield the pieces of a safetensors file: the header, then each array.

    Complex arrays are stored as floats with a last axis of size 2.
    """
    # The library's own writer changes its arguments from release to release.
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    place = 0
    for name, array in arrays.items():
        dtype = dtype_name(array)
        require_encoding(name, dtype)
        end = place + math.prod(array.shape) * ITEMSIZE[dtype]
        shape = [*array.shape, 2] if dtype.startswith("complex") else list(array.shape)
        header[name] = {"dtype": ENCODED[dtype], "shape": shape, "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    # Padding aligns the arrays to 8 bytes.
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name, array in arrays.items():
        try:
            yield to_bytes(array)
        # JAX raises this for an array that was deleted or donated.
        except RuntimeError as problem:
            raise InvalidFile(f"{name} cannot be written: {problem}. Nothing was written") from problem


def write(path: Path, files: Mapping[str, Iterable[bytes]]) -> None:
    """Write ``files`` and their digests to the zip file or folder ``path``.

    ``path`` is a folder if it has no suffix or is an existing folder.
    """
    is_file = path.suffix != "" and not path.is_dir()
    is_new = not is_file and not path.exists()
    if not is_file:
        path.mkdir(parents=True, exist_ok=True)
    elif not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to save {path.name} in")
    try:
        # The files are written in a temporary folder first, because others may save to this path at the same
        # time or have put a link there.
        with _partial_folder(path.parent if is_file else path) as partial:
            if is_file:
                write_zip(partial / path.name, files)
                (partial / path.name).replace(path)
                return
            _write_files(lambda name: (partial / name).open("wb"), files)
            _move_files(partial, path)
    except BaseException:
        if is_new:
            # The folder is not empty if others have saved there meanwhile.
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def _partial_folder(inside: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".partial_", dir=inside) as name:
        _partial.add(name)
        try:
            yield Path(name)
        finally:
            _partial.discard(name)


def _move_files(partial: Path, path: Path) -> None:
    with _placing:
        try:
            for name in FILES:
                (partial / name).replace(path / name)
        # A folder must not hold files of two graphs, so the remaining files are moved before the interrupt
        # goes on.
        except KeyboardInterrupt:
            for name in FILES:
                if (partial / name).exists():
                    (partial / name).replace(path / name)
            raise


def discard_partial() -> None:
    with _placing:
        for name in list(_partial):
            shutil.rmtree(name, ignore_errors=True)


def write_zip(file: Path | IO[bytes], files: Mapping[str, Iterable[bytes]]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        _write_files(lambda name: archive.open(zipfile.ZipInfo(name), "w", force_zip64=True), files)


def _write_files(opened: Callable[[str], IO[bytes]], files: Mapping[str, Iterable[bytes]]) -> None:
    digests = {}
    for name, pieces in files.items():
        digest = hashlib.sha256()
        with opened(name) as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
        digests[name] = digest.hexdigest()
    with opened(FILES[-1]) as file:
        file.write(json.dumps(digests).encode())
