"""Graphs of flows: nodes and edges of several releases, their costs, and drawn graphs."""

from __future__ import annotations

from fractions import Fraction

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError

CELLS = geopandas.GeoDataFrame(
    {"side": ["west", "west", "east", "east"], "quarter": ["sw", "nw", "se", "ne"]},
    geometry=[shapely.box(x, y, x + 0.5, y + 0.5) for x in (0, 0.5) for y in (0, 0.5)],
    crs="EPSG:4326",
)
ZONES = sdp.Zones(CELLS, levels=["side", "quarter"])
RNG = np.random.default_rng(1)
HOMES, WORK = RNG.random((3000, 2)), RNG.random((3000, 2)) * [0.5, 1]


def flows(epsilon=1, pairs="all", **terms):
    return sdp.Flows(pairs).release(sdp.Trips(HOMES, WORK), ZONES, epsilon=epsilon, **terms)


def residents(epsilon=0.5, **terms):
    return sdp.ZoneTree().release(sdp.Points(HOMES, crs="EPSG:4326"), ZONES, epsilon=epsilon, **terms)


def test_nodes_are_zones_with_attributes_and_ends_of_trips():
    release, counts = flows(), residents()
    graph = sdp.FlowGraph(release, residents=counts, voters=counts)
    nodes = graph.nodes()
    assert isinstance(nodes, geopandas.GeoDataFrame)
    assert set(nodes["zone"]) == {"sw", "nw", "se", "ne"}
    row = nodes.set_index("zone").loc["se"]
    assert row["residents"] == counts.answer("se") == row["voters"]
    assert row["residents_low"] <= row["residents"] <= row["residents_high"]
    assert row["begin"] == pytest.approx(release.answer(origin="se"))
    assert row["end_low"] < row["end"] < row["end_high"]
    assert row.geometry.equals(CELLS.set_index("quarter").geometry["se"])
    assert graph.edges().equals(release.to_frame())
    assert set(nodes.attrs["privacy"]) == {"flows", "residents", "voters"}


def test_costs_add_up():
    graph = sdp.FlowGraph(flows(epsilon=1), residents=residents(0.5), voters=residents(0.25))
    assert graph.costs == {"flows": 1, "residents": Fraction(1, 2), "voters": Fraction(1, 4)}
    assert graph.cost.epsilon == Fraction(7, 4)
    assert not graph.cost.delta
    words = graph.in_words()
    assert "3 releases, with ε = 1 (flows) + 0.5 (residents) + 0.25 (voters). Together they cost ε = 1.75" in words
    assert "4 zones, 16 pairs, residents, voters: together ε = 1.75" in repr(graph)
    gaussian = sdp.ZoneTree(law="gaussian").release(sdp.Points(HOMES, crs="EPSG:4326"), ZONES, epsilon=1, delta=1e-6)
    assert sdp.FlowGraph(flows(), residents=gaussian).cost.delta == Fraction(1, 10**6)


def test_a_release_that_is_not_private_marks_the_graph():
    graph = sdp.FlowGraph(flows(noise=sdp.SeededNoise(1)), residents=residents())
    assert graph.in_words().startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in repr(graph)


@pytest.mark.parametrize("pairs", ["all", "listed"])
def test_drawn_graphs_follow_the_releases(pairs):
    graph = sdp.FlowGraph(flows(epsilon=20, pairs=pairs), residents=residents(20))
    nodes, edges = graph.sample(noise=sdp.SeededNoise(2))
    assert nodes["residents"].sum() == pytest.approx(3000, abs=5)
    assert edges["trips"].sum() == pytest.approx(3000, abs=20)
    assert edges["trips"].min() >= 1
    assert set(edges["destination"]) == {"sw", "nw"}
    drawn = edges.set_index(["origin", "destination"])["trips"]["ne", "sw"]
    assert drawn == pytest.approx(375, abs=120)
    assert set(nodes.attrs["privacy"]) == {"flows", "residents"}


def test_zones_of_codes_have_plain_tables():
    zones = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
    release = sdp.Flows().release(sdp.Trips(sdp.Codes(["a1"]), sdp.Codes(["b1"])), zones, epsilon=100)
    graph = sdp.FlowGraph(release, shops=sdp.ZoneTree().release(sdp.Codes(["a2"] * 7), zones, epsilon=100))
    assert graph.nodes().set_index("zone")["shops"].round().to_dict() == {"a1": 0, "a2": 7, "b1": 0}
    assert "geometry" not in graph.nodes()
    nodes, edges = graph.sample()
    assert nodes.set_index("zone")["shops"].to_dict() == {"a1": 0, "a2": 7, "b1": 0}
    assert edges.values.tolist() == [["a1", "b1", 1]]


def test_what_does_not_fit_is_refused():
    grid = sdp.Flows().release(sdp.Trips(HOMES, WORK), sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1)
    with pytest.raises(ParameterError, match="not released flows between zones"):
        sdp.FlowGraph(grid)
    with pytest.raises(ParameterError, match="has the name of a column"):
        sdp.FlowGraph(flows(), begin=residents())
    with pytest.raises(ParameterError, match="'residents' is a FlowRelease"):
        sdp.FlowGraph(flows(), residents=flows())
    others = sdp.Zones(CELLS.iloc[:3], levels=["side", "quarter"])
    fewer = sdp.ZoneTree().release(sdp.Points(HOMES, crs="EPSG:4326"), others, epsilon=1)
    with pytest.raises(ParameterError, match="about other zones"):
        sdp.FlowGraph(flows(), residents=fewer)
    with pytest.raises(ReleaseError, match="do not add up to one promise"):
        sdp.FlowGraph(flows(), residents=residents(neighbours="replace"))
