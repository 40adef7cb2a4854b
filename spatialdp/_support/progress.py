"""A bar on a terminal, for steps whose number is public."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["progress"]

T = TypeVar("T")


def progress(steps: Sequence[T], label: str) -> Iterator[T]:
    """Yield the steps; on a terminal, show a bar if they take more than two seconds.

    Privacy
    -------
    The number of steps is shown, so it must be public.
    """
    from tqdm import tqdm

    yield from tqdm(steps, desc=label, delay=2, leave=False, disable=None, file=sys.stderr)
