"""Publish spatial data under differential privacy.

    import spatialdp as sdp

    domain = sdp.Domain(bounds=(xmin, ymin, xmax, ymax), crs="EPSG:4326")
    release = sdp.Quadtree(height=8).release(points, domain, epsilon=1)
    release.answer(boxes)

Names are loaded when they are first used, so that importing the package takes little time. This is the
only file that re-exports names; `_HOMES` says where each name is defined.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spatialdp._version import __version__

if TYPE_CHECKING:  # type checkers and editors read the names of _HOMES here
    from spatialdp import datasets as datasets
    from spatialdp import workload as workload
    from spatialdp.clusters import Clusters as Clusters
    from spatialdp.clusters import kmeans as kmeans
    from spatialdp.curator.session import Curator as Curator
    from spatialdp.errors import SpatialDPError as SpatialDPError
    from spatialdp.evaluation.evaluate import evaluate as evaluate
    from spatialdp.evaluation.evaluate import evaluate_subsamples as evaluate_subsamples
    from spatialdp.evaluation.figures import plot_errors as plot_errors
    from spatialdp.evaluation.figures import ranking as ranking
    from spatialdp.flows.release import FlowRelease as FlowRelease
    from spatialdp.mechanisms import Adaptive as Adaptive
    from spatialdp.mechanisms import Flat as Flat
    from spatialdp.mechanisms import Flows as Flows
    from spatialdp.mechanisms import Fourier as Fourier
    from spatialdp.mechanisms import Hierarchy as Hierarchy
    from spatialdp.mechanisms import KdTree as KdTree
    from spatialdp.mechanisms import PrivBayes as PrivBayes
    from spatialdp.mechanisms import Quadtree as Quadtree
    from spatialdp.mechanisms import Sparse as Sparse
    from spatialdp.mechanisms import SparseMap as SparseMap
    from spatialdp.mechanisms import Table as Table
    from spatialdp.mechanisms import Tailored as Tailored
    from spatialdp.mechanisms import Trajectories as Trajectories
    from spatialdp.mechanisms import Uniform as Uniform
    from spatialdp.mechanisms import Wavelet as Wavelet
    from spatialdp.mechanisms import ZoneTree as ZoneTree
    from spatialdp.mechanisms.publish import publish as publish
    from spatialdp.mechanisms.running.series import Running as Running
    from spatialdp.networks.graph import FlowGraph as FlowGraph
    from spatialdp.networks.jointly import sample_jointly as sample_jointly
    from spatialdp.networks.release import NetworkRelease as NetworkRelease
    from spatialdp.outputs.files.geoparquet import load as load
    from spatialdp.planning.epsilon_for import epsilon_for as epsilon_for
    from spatialdp.planning.recommend import recommend as recommend
    from spatialdp.privacy.accounting import budget_per_record as budget_per_record
    from spatialdp.privacy.budget import Budget as Budget
    from spatialdp.privacy.chosen import Chosen as Chosen
    from spatialdp.privacy.ledger.account import Account as Account
    from spatialdp.privacy.ledger.cost import Cost as Cost
    from spatialdp.privacy.ledger.ledger import Ledger as Ledger
    from spatialdp.privacy.noise.source import SeededNoise as SeededNoise
    from spatialdp.privacy.noise.source import SystemNoise as SystemNoise
    from spatialdp.privacy.statement import Privacy as Privacy
    from spatialdp.privacy.unit import Person as Person
    from spatialdp.records.codes import Codes as Codes
    from spatialdp.records.codes import read_codes as read_codes
    from spatialdp.records.engines.tables import read_table as read_table
    from spatialdp.records.files import read_points as read_points
    from spatialdp.records.points import Points as Points
    from spatialdp.records.rows.files import read_rows as read_rows
    from spatialdp.records.rows.rows import Rows as Rows
    from spatialdp.records.rows.track_files import read_tracks as read_tracks
    from spatialdp.records.rows.tracks import Tracks as Tracks
    from spatialdp.records.rows.trips import Trips as Trips
    from spatialdp.records.rows.trips import read_trips as read_trips
    from spatialdp.release import Release as Release
    from spatialdp.running_release import RunningRelease as RunningRelease
    from spatialdp.space.domain import Domain as Domain
    from spatialdp.space.domain import Grid as Grid
    from spatialdp.space.frames.categories import Categories as Categories
    from spatialdp.space.frames.frame import Frame as Frame
    from spatialdp.space.frames.time import Time as Time
    from spatialdp.space.zones.frame import Zones as Zones
    from spatialdp.space.zones.h3 import H3 as H3
    from spatialdp.table_release import TableRelease as TableRelease
    from spatialdp.trajectories.release import TrajectoryRelease as TrajectoryRelease
    from spatialdp.workload import Workload as Workload
    from spatialdp.zone_release import ZoneRelease as ZoneRelease

_HOMES = {
    "Account": "privacy.ledger.account",
    "Adaptive": "mechanisms",
    "Budget": "privacy.budget",
    "Categories": "space.frames.categories",
    "Chosen": "privacy.chosen",
    "Clusters": "clusters",
    "Codes": "records.codes",
    "Cost": "privacy.ledger.cost",
    "Curator": "curator.session",
    "Domain": "space.domain",
    "Flat": "mechanisms",
    "FlowGraph": "networks.graph",
    "FlowRelease": "flows.release",
    "Flows": "mechanisms",
    "Fourier": "mechanisms",
    "Frame": "space.frames.frame",
    "Grid": "space.domain",
    "H3": "space.zones.h3",
    "Hierarchy": "mechanisms",
    "KdTree": "mechanisms",
    "Ledger": "privacy.ledger.ledger",
    "NetworkRelease": "networks.release",
    "Person": "privacy.unit",
    "Points": "records.points",
    "PrivBayes": "mechanisms",
    "Privacy": "privacy.statement",
    "Quadtree": "mechanisms",
    "Release": "release",
    "Rows": "records.rows.rows",
    "Running": "mechanisms.running.series",
    "RunningRelease": "running_release",
    "SeededNoise": "privacy.noise.source",
    "SpatialDPError": "errors",
    "SystemNoise": "privacy.noise.source",
    "Table": "mechanisms",
    "TableRelease": "table_release",
    "Sparse": "mechanisms",
    "SparseMap": "mechanisms",
    "Tailored": "mechanisms",
    "Time": "space.frames.time",
    "Tracks": "records.rows.tracks",
    "Trajectories": "mechanisms",
    "TrajectoryRelease": "trajectories.release",
    "Trips": "records.rows.trips",
    "Uniform": "mechanisms",
    "Wavelet": "mechanisms",
    "Workload": "workload",
    "ZoneRelease": "zone_release",
    "ZoneTree": "mechanisms",
    "Zones": "space.zones.frame",
    "budget_per_record": "privacy.accounting",
    "datasets": "datasets",
    "epsilon_for": "planning.epsilon_for",
    "evaluate": "evaluation.evaluate",
    "evaluate_subsamples": "evaluation.evaluate",
    "kmeans": "clusters",
    "load": "outputs.files.geoparquet",
    "plot_errors": "evaluation.figures",
    "publish": "mechanisms.publish",
    "ranking": "evaluation.figures",
    "read_codes": "records.codes",
    "read_points": "records.files",
    "read_rows": "records.rows.files",
    "read_table": "records.engines.tables",
    "read_tracks": "records.rows.track_files",
    "read_trips": "records.rows.trips",
    "recommend": "planning.recommend",
    "sample_jointly": "networks.jointly",
    "workload": "workload",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spatialdp' has no attribute {name!r}")
    home = import_module(f"spatialdp.{_HOMES[name]}")
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
