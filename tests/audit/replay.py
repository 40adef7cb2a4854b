"""Two neighbours, the same outcomes: all that is published is the same, and the loss is within what is promised."""

from __future__ import annotations

import contextlib
import enum
import io
import json
import logging
import pickle
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from spatialdp.outputs.files.layouts import lay_out
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.release import Release
from tests.audit.pairs import pairs
from tests.audit.tape import Tape
from tests.helpers.cases import Setting

EPSILONS = (Fraction(1), Fraction(1, 100), Fraction(3))  # of pairs in turn


@contextlib.contextmanager
def overheard() -> Iterator[list[str]]:
    """Everything said meanwhile: printed, warned or logged."""
    said: list[str] = []
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level, _ = root.level, root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(stream),
            contextlib.redirect_stderr(stream),
        ):
            warnings.simplefilter("always")
            yield said
        said += [stream.getvalue(), *(str(each.message) for each in warned)]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def granted(release: Release) -> Fraction:
    """What the promise allows to be lost, in the currency of the statement."""
    budget = Budget(release.privacy.epsilon, release.privacy.delta)
    return rho_for(budget) if release.privacy.currency == "rho" else budget.epsilon


def published(release: Release) -> tuple[Any, ...]:
    """A release as everything that leaves the house: statement, texts, the header and rows of its file."""
    layout = lay_out(release.estimate, release.domain)
    rows = {name: values.tobytes() for name, values in layout.columns.items()}
    return (
        release.privacy,
        f"{release!r} {release.privacy} {release.domain}",
        json.dumps(layout.header, sort_keys=True),
        rows,
        layout.boxes.tobytes(),
    )


def file_of(release: Release, folder: Path) -> bytes:
    """The bytes of its GeoParquet file."""
    path = folder / "release.parquet"
    release.save(path, overwrite=True)
    return path.read_bytes()


def map_of(release: Release) -> Any:
    """What a map of it shows."""
    import matplotlib.pyplot as plt

    ax = release.plot()
    shown = (ax.images or ax.collections)[0]
    colours = (shown.get_clim(), np.ma.filled(shown.get_array(), np.nan).tobytes(), ax.get_xlabel())
    plt.close(ax.figure)
    return colours


def replay(setting: Setting, count: int, seed: int = 1, folder: Path | None = None, every: int = 1) -> Fraction:
    """Replay neighbouring pairs; the largest share of the promise that any of them lost.

    If a folder is given, maps are compared for the first pair, and files for the first and then every so many.
    """
    shares = [Fraction(0)]
    with Tape() as tape:
        for index, (kind, first, second) in enumerate(pairs(setting.domain, setting.relation, count, seed)):
            epsilon = EPSILONS[index % len(EPSILONS)]
            one, heard_one, held_one = _heard(setting, first, tape.record(seed + index), epsilon)
            shown = _shown(one, index, folder, every)  # before the other is released, of which it must know nothing
            two, heard_two, held_two = _heard(setting, second, tape.play(), epsilon)
            tape.finish()
            assert heard_one == heard_two, f"{kind}: the two runs said different things"
            assert held_one == held_two, f"{kind}: the two releases hold different things"
            for part, (mine, other) in enumerate(zip(published(one), published(two), strict=True)):
                assert mine == other, f"{kind}: part {part} of what is published differs"
            assert shown == _shown(two, index, folder, every), f"{kind}: file or map differs"
            lost = tape.rho if one.privacy.currency == "rho" else tape.epsilon
            shares.append(lost / granted(one))
            assert lost <= granted(one), f"{kind}: a loss of {float(shares[-1]):.4f} of the promise"
    return max(shares)


def _shown(release: Release, index: int, folder: Path | None, every: int) -> tuple[Any, ...]:
    """File and map, or what is due of them."""
    if folder is None or index % every:
        return ()
    return (file_of(release, folder),) if index else (file_of(release, folder), map_of(release))


def _heard(setting: Setting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Release, list[str], Any]:
    """A release, what was said meanwhile, and all that the object holds, shown or not."""
    with overheard() as said:
        terms = setting.terms | {"epsilon": epsilon}
        release = setting.mechanism.release(records, setting.domain, noise=noise, **terms)
    return release, said, held_by(release)


def held_by(value: Any) -> Any:
    """All that an object holds, shown or not, but for what it or others worked out from it meanwhile."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return {name: held_by(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [held_by(each) for each in value]
    if not hasattr(value, "__dict__") or isinstance(value, type | enum.Enum):
        return pickle.dumps(value)
    known = {name: each for kind in type(value).__mro__ for name, each in vars(kind).items()}
    kept = {name: each for name, each in vars(value).items() if not isinstance(known.get(name), cached_property)}
    return type(value), held_by(kept)
