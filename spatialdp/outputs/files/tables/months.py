"""How are the released months of a series stored completely? As tables are, with all measurements so far.

The file holds what has been published of the months, and nothing of the secret state of the series: the measurements of
all months, one after the other in the order of the frame, and in the header the frame, the horizon and the noise. It
is written by the same rules as other complete files, and every number of it is checked when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array
from spatialdp._support.atomic import write_all
from spatialdp._support.json_values import amount, whole
from spatialdp.errors import ParameterError
from spatialdp.outputs.files.frames.domains import domain_from_json, domain_to_json
from spatialdp.outputs.files.geoparquet import MONTHS, layout_bytes, rebuilt_from
from spatialdp.outputs.files.layouts import Layout
from spatialdp.outputs.files.limits import check_estimates, check_moments
from spatialdp.outputs.files.tables.complete import areas_of_frame, frame_from_json, frame_to_json
from spatialdp.privacy.statement import Privacy
from spatialdp.running_release import RunningRelease
from spatialdp.strategies.frames.square_root import BITS, LONGEST_HORIZON, SquareRoot

__all__ = ["load_months", "save_months"]


def save_months(release: RunningRelease, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write all released months to a file, completely or not at all; see `RunningRelease.save`."""
    target = Path(path)
    if target.suffix.lower() != ".parquet":
        raise ParameterError(
            f"{target.name} does not end in .parquet, which holds all released months; give such a name, or write the "
            "table of to_frame() yourself."
        )
    write_all({target: layout_bytes(_laid_out(release), release.privacy, release.frame.domain)}, overwrite=overwrite)


def load_months(path: str | os.PathLike[str]) -> RunningRelease:
    """Read what `save_months` wrote; see `RunningRelease.load`."""
    release: RunningRelease = rebuilt_from(Path(path), _rebuilt, MONTHS)
    return release


def _laid_out(release: RunningRelease) -> Layout:
    frame, root = release.frame, release.root
    header = {
        "kind": MONTHS,
        "frame": frame_to_json(frame),
        "horizon": root.horizon,
        "bits": root.bits,
        "months": release.months,
        "variance": release.variance,
        "kurtosis": release.kurtosis,
    }
    values = {"estimate": np.ascontiguousarray(release.measured).ravel()}
    domain = {"domain": None if frame.domain is None else domain_to_json(frame.domain)}
    return Layout(header, values, frame=domain, areas=areas_of_frame(frame))


def _rebuilt(
    header: Mapping[str, Any], columns: Mapping[str, Array], privacy: Privacy, areas: list[bytes | None] | None
) -> RunningRelease:
    """Rebuild a release from a file; raise ValueError, KeyError or TypeError if its parts are not valid."""
    data, values = header["estimate"], columns["estimate"]
    check_estimates(values)
    horizon = whole(data["horizon"], 1, LONGEST_HORIZON)
    months = whole(data["months"], 1, horizon)
    domain = None if header["domain"] is None else domain_from_json(header["domain"])
    frame = frame_from_json(data["frame"], domain, values.size // months, areas)
    if frame.n_cells * months != values.size:
        raise ValueError("the measurements are not those of the frame and its months")
    variance, kurtosis = amount(data["variance"]), amount(data["kurtosis"])
    check_moments(np.array(variance), np.array(kurtosis))
    root = SquareRoot(horizon, whole(data["bits"], 1, BITS))
    measured = values.reshape(months, *frame.shape)
    measured.setflags(write=False)
    return RunningRelease(frame, privacy, root, measured, variance, kurtosis)
