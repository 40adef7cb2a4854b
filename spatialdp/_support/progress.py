"""A progress bar on a terminal, for loops whose number of steps is public.

Loops over records must not use it: the bar shows the total and the rate.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["progress"]

T = TypeVar("T")


def progress(steps: Sequence[T], label: str) -> Iterator[T]:
    """Yield the steps one by one; on a terminal, show a progress bar once they take more than two seconds.

    Privacy
    -------
    The bar shows the number of steps and their rate, so both must be public.
    """
    from tqdm import tqdm

    yield from tqdm(steps, desc=label, delay=2, leave=False, disable=None, file=sys.stderr)
