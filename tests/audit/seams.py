"""Where tests take hold of the package: the few functions through which everything private must pass."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import spatialdp.mechanisms  # noqa: F401 - so that all of it is there to be patched


@contextlib.contextmanager
def everywhere(original: Callable[..., Any], replacement: Any) -> Iterator[None]:
    """Replace a function in every module of the package that knows it, under whatever name."""
    with contextlib.ExitStack() as patches:
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "spatialdp" and module is not None:
                for known in [known for known, value in vars(module).items() if value is original]:
                    patches.enter_context(mock.patch.object(module, known, replacement))
        yield


@contextlib.contextmanager
def planned_once(mechanism: Any) -> Iterator[None]:
    """Many releases of one mechanism on the same terms, planned once: what is planned from is not the records.

    One of the methods that are remembered is given a domain and the terms, the other one what comes of them.
    """
    with contextlib.ExitStack() as patches:
        for name in ("_design", "_plan"):
            patches.enter_context(mock.patch.object(type(mechanism), name, _remembered(type(mechanism), name)))
        yield


def _remembered(kind: type, name: str) -> Callable[..., Any]:
    method, found = getattr(kind, name), []

    def remembered(self: Any, *public: Any) -> Any:
        if not found:
            found.extend([(self, *public), method(self, *public)])
        assert all(mine is first or mine == first for mine, first in zip((self, *public), found[0], strict=True))
        return found[1]

    return remembered
