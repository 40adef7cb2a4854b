"""How do synthetic trajectories become a table, and a file? Points with a time, as GeoParquet with the statement."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import numpy as np

from spatialdp.errors import ParameterError
from spatialdp.outputs.files.save import check_target, write_release
from spatialdp.outputs.files.statement import STATEMENT, statement_members
from spatialdp.privacy.noise.source import Noise

if TYPE_CHECKING:
    import geopandas

    from spatialdp.trajectories.release import Positions, TrajectoryRelease

__all__ = ["check_trajectory_target", "frame_of", "save_trajectories"]


def frame_of(release: TrajectoryRelease, positions: Positions) -> geopandas.GeoDataFrame:
    """Return a row for each position: its trajectory, its time from the start of 1970, and its place."""
    import geopandas

    sizes = np.diff(positions.starts)
    owners = np.repeat(np.arange(sizes.size), sizes)
    steps = np.arange(owners.size) - positions.starts[owners]
    times = (steps * int(release.step * 10**6)).astype("datetime64[us]")
    columns = {"tid": owners, "time": times, "x": positions.x, "y": positions.y}
    points = geopandas.points_from_xy(positions.x, positions.y)
    frame = geopandas.GeoDataFrame(columns, geometry=points, crs=release.domain.crs)
    frame.attrs["privacy"] = statement_members(release.privacy)
    return frame


def check_trajectory_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse names that `save_trajectories` would refuse, before anything is spent."""
    target = check_target(path, overwrite=overwrite)
    if target.suffix.lower() != ".parquet":
        raise ParameterError(
            f"{target.name} is given for synthetic trajectories, which are written as GeoParquet; give a name that "
            "ends in .parquet."
        )


def save_trajectories(
    release: TrajectoryRelease, path: str | os.PathLike[str], n: int | None, *, noise: Noise | None, overwrite: bool
) -> None:
    """Write synthetic trajectories completely or not at all; see `TrajectoryRelease.save`."""
    check_trajectory_target(path, overwrite=overwrite)
    content = _bytes(release, frame_of(release, release.positions(n, noise=noise)))
    target = check_target(path, overwrite=overwrite)
    write_release(release, {target: content}, overwrite=overwrite)  # type: ignore[arg-type]  # it has what is asked for


def _bytes(release: TrajectoryRelease, frame: geopandas.GeoDataFrame) -> bytes:
    """Return a GeoParquet file with the privacy statement in its metadata."""
    import pyarrow.parquet as pq

    plain, whole = io.BytesIO(), io.BytesIO()
    frame.attrs.clear()  # the statement is written once, under the key of other formats
    frame.to_parquet(plain, index=False)
    table = pq.read_table(plain)
    statement = json.dumps(statement_members(release.privacy), ensure_ascii=False).encode()
    metadata = {**(table.schema.metadata or {}), STATEMENT.encode(): statement}
    pq.write_table(table.replace_schema_metadata(metadata), whole)
    return whole.getvalue()
