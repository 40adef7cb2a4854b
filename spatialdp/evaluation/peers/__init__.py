"""Published methods to compare with, by the names that the command line gives them: `PEERS`.

They are for `evaluate`, not for publishing: they are not in `spatialdp.mechanisms.MECHANISMS` and are not audited.
"""

from spatialdp.evaluation.peers.base import KnownRecords
from spatialdp.evaluation.peers.grids import AdaptiveGrid, UniformGrid
from spatialdp.evaluation.peers.mwem import MWEM
from spatialdp.evaluation.peers.privtree import PrivTree
from spatialdp.mechanisms.base import Mechanism

__all__ = ["MWEM", "PEERS", "AdaptiveGrid", "KnownRecords", "PrivTree", "UniformGrid"]

PEERS: dict[str, type[Mechanism]] = {
    "uniform-grid": UniformGrid,
    "adaptive-grid": AdaptiveGrid,
    "privtree": PrivTree,
    "mwem": MWEM,
}
