"""How files are written whole or not at all.

A file is written without a name, or with a hidden one, beside its target, and put in place when it is complete. All
modules must write files through `write_all`; only the cache of trials appends to a file of its own. The design is in
``docs/design/files.md``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

__all__ = ["PRIVATE_MODE", "check_place", "write_all"]

PRIVATE_MODE = 0o600  # for files that are as private as the records: only their owner may read them


def write_all(files: Mapping[Path, bytes], *, overwrite: bool, private: bool = False) -> None:
    """Write files that belong together: all of them, in the given order, or none.

    No file is put in place before the contents of all are on disk. If one cannot be put in place, new files are removed
    again; a file that had replaced an older one stays, and the error names it. With `private`, nobody but their owner
    may read the files.
    """
    for target in files:
        check_place(target, overwrite=overwrite)
    mode = PRIVATE_MODE if private else 0o666
    created: list[Path] = []
    replaced: list[Path] = []
    with ExitStack() as stack:
        try:
            complete = [stack.enter_context(_written(target, content, mode)) for target, content in files.items()]
            for target, put_in_place in zip(files, complete, strict=True):
                done = replaced if target.exists() else created
                put_in_place(overwrite)
                done.append(target)
        except BaseException as error:
            for target in created:
                target.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise type(error)(error.errno, _not_written(list(files), replaced, error)) from error
            raise


def _not_written(files: list[Path], replaced: list[Path], error: OSError) -> str:
    names, replaced_names = (" and ".join(map(str, paths)) for paths in (files, replaced))
    left = f"but {replaced_names} had been replaced already" if replaced else "and nothing was left behind"
    return f"{names} could not be written ({error.strerror or error}), {left}; make room, or choose another place"


@contextmanager
def _written(target: Path, content: bytes, mode: int) -> Iterator[Callable[[bool], None]]:
    """Write the content to a file beside the target, and yield the function that puts this file in place.

    The file has no name yet, so it vanishes with the process, whatever ends it. Where the system has no files without
    names, it has a hidden name, which is removed at the end.
    """
    partial, nameless = _partial(target), _nameless(target.parent, mode)
    handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode) if nameless is None else nameless

    def put_in_place(overwrite: bool) -> None:
        if nameless is not None:
            # Python follows the link only if it is given a folder's handle. The path is absolute: any handle will do.
            named = partial if overwrite else target  # a name is needed to replace another file
            os.link(f"/proc/self/fd/{handle}", named, src_dir_fd=handle, follow_symlinks=True)
        if nameless is None or overwrite:
            _put(partial, target, overwrite=overwrite)

    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
            yield put_in_place
    finally:
        partial.unlink(missing_ok=True)


def _nameless(folder: Path, mode: int) -> int | None:
    """Open a file without a name in a folder; None if the system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.exists("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, mode)
    except OSError:
        return None


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.partial")


def _put(partial: Path, target: Path, *, overwrite: bool) -> None:
    if overwrite:
        os.replace(partial, target)
    else:
        os.link(partial, target)  # fails if the target has been created meanwhile


def check_place(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that cannot be written, or exists and may not be replaced, before any work is done."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it.")
    if os.path.lexists(target) and not overwrite:  # true for a broken link too
        raise FileExistsError(f"{target} exists; choose another name, or pass overwrite=True to replace it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"you may not write in the folder {target.parent}; choose another one.")
