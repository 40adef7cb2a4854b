"""Can neighbours be told apart by anything that was not paid for? Replay a release on a neighbour and compare.

The second run gets the noisy outcomes of the first (`tape`). Then everything that is published must be the same, and
the exact privacy loss, which the tape adds up, must be within the promise.
"""

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
from tests.audit.pairs import pairs, person_pairs
from tests.audit.tape import Tape
from tests.audit.zones import zone_pairs
from tests.helpers.cases import Setting
from tests.helpers.zone_cases import ZoneSetting

EPSILONS = (Fraction(1), Fraction(1, 100), Fraction(3))  # pairs take them in turn


@contextlib.contextmanager
def captured_messages() -> Iterator[list[str]]:
    """Collect everything that is printed, warned or logged while the context lasts."""
    messages: list[str] = []
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level, _ = root.level, root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(stream),
            contextlib.redirect_stderr(stream),
        ):
            warnings.simplefilter("always")
            yield messages
        messages += [stream.getvalue(), *(str(each.message) for each in caught)]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def granted(release: Release) -> Fraction:
    """Return the privacy loss that the promise allows, in the currency of the statement."""
    budget = Budget(release.privacy.epsilon, release.privacy.delta)
    return rho_for(budget) if release.privacy.currency == "rho" else budget.epsilon


def published(release: Release) -> tuple[Any, ...]:
    """Return everything that is published: statement, texts, and the header and rows of the file."""
    layout = lay_out(release.estimate, release.domain)
    rows = {name: values.tobytes() for name, values in layout.columns.items()}
    return (
        release.privacy,
        f"{release!r} {release.privacy} {release.domain}",
        json.dumps(layout.header, sort_keys=True),
        rows,
        b"" if layout.boxes is None else layout.boxes.tobytes(),
    )


def file_of(release: Release, folder: Path) -> bytes:
    """Return the bytes of a release's GeoParquet file."""
    path = folder / "release.parquet"
    release.save(path, overwrite=True)
    return path.read_bytes()


def map_of(release: Release) -> Any:
    """Return what a map of a release shows: limits of the colour scale, values and caption."""
    import matplotlib.pyplot as plt

    ax = release.plot()
    cells = (ax.images or ax.collections)[0]
    content = (cells.get_clim(), np.ma.filled(cells.get_array(), np.nan).tobytes(), ax.get_xlabel())
    plt.close(ax.figure)
    return content


def replay(
    setting: Setting | ZoneSetting,
    count: int,
    seed: int = 1,
    folder: Path | None = None,
    every: int = 1,
    maps: bool = True,
) -> Fraction:
    """Replay pairs of neighbours; return the largest share of the promise that any of them lost.

    With a folder, the maps of the first pair are compared (unless `maps` is false), and the files of the first pair and
    then of every `every`-th one.
    """
    mapped = 0 if maps else None
    shares = [Fraction(0)]
    with Tape() as tape:
        for index, (kind, first, second) in enumerate(_pairs(setting, count, seed)):
            epsilon = EPSILONS[index % len(EPSILONS)]
            one, messages_one, content_one = _observed(setting, first, tape.record(seed + index), epsilon)
            # Before the second release, which must not affect it.
            files_one = _file_and_map(one, index, folder, every, mapped)
            two, messages_two, content_two = _observed(setting, second, tape.play(), epsilon)
            tape.finish()
            assert messages_one == messages_two, f"{kind}: the two runs gave different messages"
            assert content_one == content_two, f"{kind}: the two release objects hold different values"
            for part, (mine, other) in enumerate(zip(published(one), published(two), strict=True)):
                assert mine == other, f"{kind}: part {part} of what is published differs"
            assert files_one == _file_and_map(two, index, folder, every, mapped), f"{kind}: file or map differs"
            loss = tape.rho if one.privacy.currency == "rho" else tape.epsilon
            shares.append(loss / granted(one))
            assert loss <= granted(one), f"{kind}: the loss is {float(shares[-1]):.4f} times the promise"
    return max(shares)


def _pairs(setting: Setting | ZoneSetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs that differ by one record or, if persons are the unit, by a whole person."""
    if isinstance(setting, ZoneSetting):
        return zone_pairs(setting, count, seed)
    unit = pairs if setting.person is None else person_pairs
    return unit(setting.domain, setting.relation, count, seed)


def _file_and_map(release: Release, index: int, folder: Path | None, every: int, mapped: int | None) -> tuple[Any, ...]:
    """Return the file and the map of a release, if they are compared for this pair."""
    if folder is None or index % every:
        return ()
    return (file_of(release, folder), map_of(release)) if index == mapped else (file_of(release, folder),)


def _observed(
    setting: Setting | ZoneSetting, records: Any, noise: Any, epsilon: Fraction
) -> tuple[Release, list[str], Any]:
    """Make a release; return it with all messages and with everything that the object holds, hidden or not."""
    with captured_messages() as messages:
        terms = setting.terms | {"epsilon": epsilon}
        release = setting.mechanism.release(records, setting.domain, noise=noise, **terms)
    return release, messages, content_of(release)


def content_of(value: Any) -> Any:
    """Return everything that an object holds, hidden or not, except cached properties, which follow from the rest."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return {name: content_of(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [content_of(each) for each in value]
    if not hasattr(value, "__dict__") or isinstance(value, type | enum.Enum):
        return pickle.dumps(value)
    members = {name: each for kind in type(value).__mro__ for name, each in vars(kind).items()}
    own = {name: each for name, each in vars(value).items() if not isinstance(members.get(name), cached_property)}
    return type(value), content_of(own)
