"""Files that are written whole or not at all. The only module that writes files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

__all__ = ["write_all"]


def write_all(files: Mapping[Path, bytes], *, overwrite: bool) -> None:
    """Write files that belong together. None is put in place before all are written, and the last one comes last."""
    for target in files:
        check_place(target, overwrite=overwrite)
    made: list[Path] = []
    replaced: list[Path] = []
    with ExitStack() as stack:
        try:
            put = [stack.enter_context(_written(target, content)) for target, content in files.items()]
            for target, place in zip(files, put, strict=True):
                done = replaced if target.exists() else made
                place(overwrite)
                done.append(target)
        except BaseException as error:
            for target in made:
                target.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise type(error)(error.errno, _not_written(list(files), replaced, error)) from error
            raise


def _not_written(files: list[Path], replaced: list[Path], error: OSError) -> str:
    names, gone = (" and ".join(map(str, paths)) for paths in (files, replaced))
    left = f"but {gone} had been replaced already" if replaced else "and nothing was left behind"
    return f"{names} could not be written ({error.strerror or error}), {left}; make room, or choose another place"


@contextmanager
def _written(target: Path, content: bytes) -> Iterator[Callable[[bool], None]]:
    """Write a file without a name beside the target, and hand out what puts it in place.

    A file without a name vanishes with the process, whatever ends it. Where the system has none, it has a name.
    """
    partial, nameless = _partial(target), _nameless(target.parent)
    handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666) if nameless is None else nameless

    def put(overwrite: bool) -> None:
        if nameless is not None:
            # The folder's handle is not read, as the path is absolute, but makes Python follow the link.
            named = partial if overwrite else target  # a name is needed to replace another file
            os.link(f"/proc/self/fd/{handle}", named, src_dir_fd=handle, follow_symlinks=True)
        if nameless is None or overwrite:
            _put(partial, target, overwrite=overwrite)

    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
            yield put
    finally:
        partial.unlink(missing_ok=True)


def _nameless(folder: Path) -> int | None:
    """Open a file without a name, if the system has such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.exists("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:
        return None


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.partial")


def _put(partial: Path, target: Path, *, overwrite: bool) -> None:
    if overwrite:
        os.replace(partial, target)
    else:
        os.link(partial, target)  # fails if the target has come into being meanwhile


def check_place(target: Path, *, overwrite: bool) -> None:
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it.")
    if os.path.lexists(target) and not overwrite:  # also a link to nowhere
        raise FileExistsError(f"{target} exists; choose another name, or pass overwrite=True to replace it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"you may not write in the folder {target.parent}; choose another one.")
