"""How do trajectories get into a file? A release completely, and synthetic ones as points with a time."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from spatialdp.errors import ParameterError
from spatialdp.outputs.files.geoparquet import geoparquet_bytes
from spatialdp.outputs.files.save import check_target, write_release
from spatialdp.outputs.files.statement import STATEMENT, statement_beside, statement_members, statement_with_digest
from spatialdp.privacy.noise.source import Noise

if TYPE_CHECKING:
    import geopandas

    from spatialdp.release import Release
    from spatialdp.trajectories.release import Positions, TrajectoryRelease

__all__ = ["check_trajectory_target", "frame_of", "sample_contents", "save_sample", "save_trajectories"]

SAMPLES = (".parquet", ".csv")


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


def check_trajectory_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuse names that `save_trajectories` would refuse, before anything is spent."""
    target = check_target(path, overwrite=overwrite)
    if target.suffix.lower() != ".parquet":
        raise ParameterError(
            f"{target.name} is given for released trajectories, which are no map; give a name that ends in .parquet, "
            "for the complete release. Synthetic trajectories may also be written as .csv."
        )
    return target


def save_trajectories(release: TrajectoryRelease, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a release completely or not at all; see `TrajectoryRelease.save`."""
    target = check_trajectory_target(path, overwrite=overwrite)
    plain = cast("Release", release)  # it has all that is asked for
    write_release(plain, {target: geoparquet_bytes(plain)}, overwrite=overwrite)


def save_sample(
    release: TrajectoryRelease, path: str | os.PathLike[str], n: int | None, *, noise: Noise | None, overwrite: bool
) -> None:
    """Write synthetic trajectories completely or not at all; see `TrajectoryRelease.save_sample`."""
    target = check_target(path, overwrite=overwrite)
    if target.suffix.lower() not in SAMPLES:
        raise ParameterError(
            f"{target.name} is given for synthetic trajectories; give a name that ends in {' or '.join(SAMPLES)}."
        )
    files = sample_contents(release, target, release.positions(n, noise=noise))
    write_release(cast("Release", release), files, overwrite=overwrite)


def sample_contents(release: TrajectoryRelease, target: Path, positions: Positions) -> dict[Path, bytes]:
    """Return the files of synthetic trajectories: GeoParquet, or CSV with the privacy statement beside it."""
    frame = frame_of(release, positions)
    if target.suffix.lower() == ".parquet":
        return {target: _geoparquet(release, frame)}
    table = frame.drop(columns="geometry").to_csv(index=False).encode()
    members = statement_members(release.privacy)
    statement = members | {"summary": f"synthetic trajectories, drawn from: {release.privacy}"}
    return {statement_beside(target): statement_with_digest(table, statement), target: table}


def _geoparquet(release: TrajectoryRelease, frame: geopandas.GeoDataFrame) -> bytes:
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
