"""Can neighbours be told apart by anything that was not paid for? Replay a release on a neighbour and compare.

The second run gets the noisy outcomes of the first (`tape`). Then everything that is published must be the same, and
the exact privacy loss, which the tape adds up, must be within the promise.

`replay` is the same for settings of all kinds. What differs is registered for each kind of setting: which neighbours
there are (`neighbours_of`), and what an adversary sees of a release (`seen`).
"""

from __future__ import annotations

import contextlib
import enum
import io
import json
import logging
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache, cached_property, singledispatch
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


def granted(release: Any) -> Fraction:
    """Return the privacy loss that the promise allows, in the currency of the statement."""
    budget = Budget(release.privacy.epsilon, release.privacy.delta)
    return rho_for(budget) if release.privacy.currency == "rho" else budget.epsilon


def share_lost(tape: Tape, release: Any) -> Fraction:
    """Return the share of the promise that a replay lost."""
    return (tape.rho if release.privacy.currency == "rho" else tape.epsilon) / granted(release)


def published(release: Any) -> tuple[Any, ...]:
    """Return everything that is published: statement, texts, and the header, rows and shapes of the file."""
    layout = lay_out(release.estimate, release.domain)
    return (
        release.privacy,
        f"{release!r} {release.privacy} {release.domain}",
        json.dumps(layout.header, sort_keys=True),
        {name: _exactly(values) for name, values in layout.columns.items()},
        b"" if layout.boxes is None else layout.boxes.tobytes(),
        None if layout.shapes is None else [str(each) for each in layout.shapes],
    )


def _exactly(values: Any) -> Any:
    """Return all of a column: its bytes, or its objects, such as codes."""
    return values.tolist() if values.dtype == object else values.tobytes()


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


# --- what differs by the kind of setting -----------------------------------------------------------------


@singledispatch
def neighbours_of(setting: Any, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs of neighbours with their names: they differ by a record or, if persons are the unit, by a person."""
    raise NotImplementedError(f"nobody has said which neighbours {type(setting).__name__} has")


@neighbours_of.register
def _(setting: Setting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    unit = pairs if setting.person is None else person_pairs
    return unit(setting.domain, setting.relation, count, seed)


neighbours_of.register(ZoneSetting, zone_pairs)


@singledispatch
def seen(setting: Any, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    """Make a release; return it, all messages, all that the object holds, hidden or not, and all that is published."""
    release, messages = released(setting, records, noise, epsilon)
    return release, messages, content_of(release), *published(release)


def released(setting: Any, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, list[str]]:
    """Make a release; return it with all messages."""
    with captured_messages() as messages:
        terms = setting.terms | {"epsilon": epsilon}
        release = setting.mechanism.release(records, setting.domain, noise=noise, **terms)
    return release, messages


# --- the replay ------------------------------------------------------------------------------------------


def replay(
    setting: Any, count: int, seed: int = 1, folder: Path | None = None, every: int = 1, maps: bool = True
) -> Fraction:
    """Replay pairs of neighbours; return the largest share of the promise that any of them lost.

    With a folder, the maps of the first pair are compared (unless `maps` is false), and the files of the first pair and
    then of every `every`-th one.
    """
    mapped = 0 if maps else None
    shares = [Fraction(0)]
    with Tape() as tape:
        for index, (kind, first, second) in enumerate(neighbours_of(setting, count, seed)):
            epsilon = EPSILONS[index % len(EPSILONS)]
            one, *parts_one = seen(setting, first, tape.record(seed + index), epsilon)
            # Before the second release, which must not affect it.
            files_one = _file_and_map(one, index, folder, every, mapped)
            two, *parts_two = seen(setting, second, tape.play(), epsilon)
            tape.finish()
            for part, (mine, other) in enumerate(zip(parts_one, parts_two, strict=True)):
                assert mine == other, f"{kind}: part {part} of what is published differs"
            assert files_one == _file_and_map(two, index, folder, every, mapped), f"{kind}: file or map differs"
            shares.append(share_lost(tape, one))
            assert shares[-1] <= 1, f"{kind}: the loss is {float(shares[-1]):.4f} times the promise"
    return max(shares)


@cache
def replayed(setting: Any, count: int = 24, seed: int = 5) -> Callable[[], None]:
    """Return a check that replays pairs of neighbours."""

    def check() -> None:
        replay(setting, count, seed)

    return check


def _file_and_map(release: Any, index: int, folder: Path | None, every: int, mapped: int | None) -> tuple[Any, ...]:
    """Return the file and the map of a release, if they are compared for this pair."""
    if folder is None or index % every:
        return ()
    return (file_of(release, folder), map_of(release)) if index == mapped else (file_of(release, folder),)


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
