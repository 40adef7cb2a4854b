"""Zones with attributes, and the flows between them: one graph of several releases, whose costs add up.

Nodes are public zones. Their attributes are released counts of zones (`ZoneTree`), edges are released flows between
them (`Flows`). This module reads no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.sampling import draw_leaves
from spatialdp.flows.release import FlowRelease
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.space.frames.zone_axis import ZoneAxis
from spatialdp.trees.adjust import NonNegative, project_rows
from spatialdp.wording import quoted
from spatialdp.zone_release import ZoneRelease

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DrawnGraph", "FlowGraph"]

_TAKEN = frozenset({"zone", "parent", "level", "geometry", "begin", "end", "origin", "destination", "flow"})


class DrawnGraph(NamedTuple):
    """A synthetic graph: nodes with whole attributes, and edges with whole numbers of trips."""

    nodes: pd.DataFrame
    edges: pd.DataFrame


@dataclass(frozen=True, eq=False, init=False, repr=False)
class FlowGraph:
    """A graph of zones: attributes of nodes from `ZoneTree`, edges from `Flows`.

    Parameters
    ----------
    flows : FlowRelease
        Flows between zones.
    **attributes : ZoneRelease
        Released counts of the same zones, by the name of the attribute, such as ``residents=...``.

    Raises
    ------
    ParameterError
        If the zones are not the same, or the promises cannot be added up because they are about different neighbours
        or units, or hold exact totals.

    Privacy
    -------
    A graph holds released numbers. A record or person that is in the data of several of these releases is promised the
    sum of their ε and δ, which is `cost`; no sum is smaller unless the data are known to be of different persons.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> zones = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
    >>> residents = sdp.ZoneTree().release(sdp.Codes(["a1"] * 90 + ["b1"] * 20), zones, epsilon=20)
    >>> trips = sdp.Trips(sdp.Codes(["a1"] * 30), sdp.Codes(["b1"] * 30))
    >>> graph = sdp.FlowGraph(sdp.Flows().release(trips, zones, epsilon=50), residents=residents)
    >>> graph.nodes()[["zone", "residents"]].round().values.tolist()
    [['b1', 20.0], ['a1', 90.0], ['a2', 0.0]]
    >>> graph
    <FlowGraph of 3 zones, 9 pairs, residents: together ε = 70>
    """

    flows: FlowRelease
    attributes: Mapping[str, ZoneRelease]

    def __init__(self, flows: FlowRelease, **attributes: ZoneRelease) -> None:
        _check(flows, attributes)
        object.__setattr__(self, "flows", flows)
        object.__setattr__(self, "attributes", dict(attributes))
        _check_promises(self._statements)

    @property
    def _statements(self) -> dict[str, Privacy]:
        return {"flows": self.flows.privacy} | {name: each.privacy for name, each in self.attributes.items()}

    @property
    def costs(self) -> dict[str, Fraction]:
        """The ε of each release, by its name; flows are called ``"flows"``."""
        return {name: each.epsilon for name, each in self._statements.items()}

    @property
    def cost(self) -> Budget:
        """What all releases cost together for a record, or person, that is in all of their data."""
        statements = self._statements.values()
        return Budget(sum((each.epsilon for each in statements), Fraction()), sum(each.delta for each in statements))

    def in_words(self) -> str:
        """Return what the graph promises, in plain words.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["a1", "b1"], None, {"code": 2})
        >>> graph = sdp.FlowGraph(sdp.Flows().release(sdp.Trips(sdp.Codes([]), sdp.Codes([])), zones, epsilon=1))
        >>> graph.in_words()[:73]
        'The graph is made of 1 release, with ε = 1 (flows). Together they cost ε '
        """
        if not all(each.private for each in self._statements.values()):
            return "NOT PRIVATE: the noise of a release can be reproduced. For experiments; do not publish."
        parts = " + ".join(f"{float(cost):g} ({name})" for name, cost in self.costs.items())
        unit = next(iter(self._statements.values())).unit
        count = f"{len(self.costs)} release{'s' if len(self.costs) > 1 else ''}"
        return (
            f"The graph is made of {count}, with ε = {parts}. Together they cost ε = {float(self.cost.epsilon):g} "
            f"for one {unit} in the data of each. A person with k residences and t trips is promised k times the ε of "
            "an attribute and t times that of flows, if records are the unit. Zones are public."
        )

    def nodes(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return the zones with their attributes and the trips that begin and end in each.

        Parameters
        ----------
        level : float
            Of the intervals: the columns of an attribute's name and ``_low`` and ``_high``.

        Returns
        -------
        DataFrame, or GeoDataFrame if the zones of an attribute have polygons

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["a1", "b1"], None, {"code": 2})
        >>> shops = sdp.ZoneTree().release(sdp.Codes(["a1"] * 7), zones, epsilon=100)
        >>> flows = sdp.Flows().release(sdp.Trips(sdp.Codes(["a1"]), sdp.Codes(["b1"])), zones, epsilon=100)
        >>> sdp.FlowGraph(flows, shops=shops).nodes()[["zone", "shops", "begin", "end"]].round().values.tolist()
        [['a1', 7.0, 1.0, 0.0], ['b1', 0.0, 0.0, 1.0]]
        """
        places = self.flows.places(level=level).set_index("place")
        frames = {name: each.level(each.zones.levels[-1], level) for name, each in self.attributes.items()}
        shaped = [frame for frame in frames.values() if "geometry" in frame]
        base: Any = shaped[0][["zone", "geometry"]].set_index("zone").loc[places.index] if shaped else places[[]]
        table = base.copy()
        ends = {"estimate": "", "lower": "_low", "upper": "_high"}
        for name, frame in frames.items():
            own = frame.set_index("zone").loc[places.index]
            for column, ending in ends.items():
                if column in own:
                    table[name + ending] = own[column]
        for column in places:
            table[column] = places[column]
        table = table.rename_axis("zone").reset_index()
        table.attrs["privacy"] = self._members()
        return table

    def edges(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return the published pairs: origin, destination, flow, and intervals if there are any.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["a1", "b1"], None, {"code": 2})
        >>> flows = sdp.Flows().release(sdp.Trips(sdp.Codes(["a1"]), sdp.Codes(["b1"])), zones, epsilon=100)
        >>> sdp.FlowGraph(flows).edges()[["origin", "destination", "flow"]].round().values.tolist()[1]
        ['a1', 'b1', 1.0]
        """
        table = self.flows.to_frame(level=level)
        table.attrs["privacy"] = self._members()
        return table

    def sample(self, *, noise: Noise | None = None) -> DrawnGraph:
        """Draw a synthetic graph; post-processing that costs nothing.

        Parameters
        ----------
        noise : Noise, optional
            Source of random bits. A `SeededNoise` makes the graph repeatable.

        Returns
        -------
        DrawnGraph
            `nodes` have a whole number of each attribute, `edges` are pairs with at least one trip. As many records as
            the releases estimate are drawn in proportion to estimates without negative ones, independently: an
            attribute and the trips of a zone depend on each other as the estimates do, and no further.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["a1", "b1"], None, {"code": 2})
        >>> trips = sdp.Trips(sdp.Codes(["a1"] * 30), sdp.Codes(["b1"] * 30))
        >>> sdp.FlowGraph(sdp.Flows().release(trips, zones, epsilon=100)).sample().edges.values.tolist()
        [['a1', 'b1', 30]]
        """
        import pandas as pd

        source = SystemNoise() if noise is None else noise
        labels = np.array(self.flows.frame.space.labels(), dtype=object)
        columns: dict[str, Any] = {"zone": labels}
        for name, each in self.attributes.items():
            counts = each.estimate.non_negative(NonNegative.FAMILIES) if each.estimate.consistent else each.estimate
            drawn_counts = _drawn(np.maximum(counts.leaf_values(), 0.0), source)
            codes = each.zones.codes[each.zones.leaf_nodes]
            columns[name] = pd.Series(drawn_counts, index=codes).loc[labels].to_numpy()
        trips = _drawn(self._flows_above_zero(), source)
        pairs = np.flatnonzero(trips)
        origins, destinations = (places[pairs] for places in self.flows.estimate.ends_of_pairs())
        edges = {"origin": labels[origins], "destination": labels[destinations], "trips": trips[pairs]}
        drawn = DrawnGraph(pd.DataFrame(columns), pd.DataFrame(edges))
        for table in drawn:
            table.attrs["privacy"] = self._members()
        return drawn

    def _flows_above_zero(self) -> Floats:
        """Return the flows without negative ones; if all pairs are there, places keep their numbers of departures."""
        estimate = self.flows.estimate
        if estimate.numbers is not None:
            return np.maximum(estimate.values, 0.0)
        rows = estimate.values.reshape(estimate.places, -1)
        return project_rows(self.flows.frame.space.shape, rows).ravel()

    def _members(self) -> dict[str, Any]:
        from spatialdp.outputs.files.statement import statement_members

        return {name: statement_members(each) for name, each in self._statements.items()}

    def __repr__(self) -> str:
        names = "".join(f", {name}" for name in self.attributes)
        private = "" if all(each.private for each in self._statements.values()) else ", NOT PRIVATE"
        size = f"{self.flows.estimate.places:,} zones, {self.flows.estimate.n_cells:,} pairs"
        return f"<FlowGraph of {size}{names}: together ε = {float(self.cost.epsilon):g}{private}>"


def _drawn(weights: Floats, source: Noise) -> Any:
    """Draw as many records as the sum of the weights, and return how many fall on each place."""
    count = max(0, round(float(weights.sum())))
    return np.bincount(draw_leaves(weights, count, source), minlength=weights.size)


def _check(flows: Any, attributes: Mapping[str, Any]) -> None:
    if not isinstance(flows, FlowRelease) or not isinstance(flows.frame.space, ZoneAxis):
        raise ParameterError("the flows are not released flows between zones; give a release of Flows for zones.")
    codes = sorted(flows.frame.space.labels())
    for name, release in attributes.items():
        if name in _TAKEN or not isinstance(release, ZoneRelease):
            raise ParameterError(
                f"the attribute {quoted(name)} is a {type(release).__name__}, or has the name of a column of the "
                "graph; give a release of ZoneTree, under another name."
            )
        if sorted(release.zones.codes[release.zones.leaf_nodes].tolist()) != codes:
            raise ParameterError(
                f"the attribute {quoted(name)} is about other zones than the flows; release both for the same zones."
            )


def _check_promises(statements: Mapping[str, Privacy]) -> None:
    """Refuse promises that do not add up to one."""
    kinds = {(each.neighbours, each.unit) for each in statements.values()}
    if len(kinds) > 1 or any(each.invariants for each in statements.values()):
        raise ReleaseError(
            "the releases promise something about different neighbours or units, or hold exact totals, so their costs "
            "do not add up to one promise; release all for the same neighbours and unit, without invariants."
        )
