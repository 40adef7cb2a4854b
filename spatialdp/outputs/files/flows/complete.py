"""How are released flows stored completely, and how is a file checked that claims to hold some? By the rules of `load`.

The file is GeoParquet with a row for each published pair: the codes of its origin and its destination, the estimate,
and a line if the places lie anywhere. The header holds the places, the margins of a list, the noise, the rule of the
list and the privacy statement. Nothing depends on the trips but the list, which was paid for, and its numbers. Files
come from anywhere: every number is checked before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, lookup
from spatialdp._support.json_values import amount, flag
from spatialdp.estimates.flows.counts import FlowCounts, Listing, margins_of
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.outputs.files.limits import WIDEST_STEP, check_estimates, check_moments
from spatialdp.outputs.files.tables.complete import frame_from_json, frame_to_json
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame

__all__ = ["flow_columns", "flow_header", "rebuild_flows"]

_LARGEST_THRESHOLD = 1e45
_MOST_FALSE = 2e8


def flow_header(estimate: FlowCounts) -> dict[str, Any]:
    """Return everything about flows that their rows do not hold, as JSON values."""
    listing = estimate.listing
    return {
        "kind": estimate.kind,
        "frame": frame_to_json(estimate.frame),
        "places": estimate.places,
        "margins": None if listing is None else _margins_to_json(estimate),
        "noise": {
            name: None if law is None else {"variance": law.variance, "kurtosis": law.kurtosis, "step": law.step}
            for name, law in (("pair", estimate.pair), ("margin", estimate.margin))
        },
        "listing": None if listing is None else {"threshold": listing.threshold, "false": listing.false},
        "biased": estimate.biased,
    }


def flow_columns(estimate: FlowCounts) -> dict[str, Array]:
    """Return the rows of flows."""
    labels = np.array(estimate.frame.space.labels(), dtype=object)
    origins, destinations = (labels[places] for places in estimate.ends_of_pairs())
    return {"origin": origins, "destination": destinations, "estimate": estimate.values}


def rebuild_flows(header: Mapping[str, Any], columns: Mapping[str, Array], domain: Domain | None) -> FlowCounts:
    """Rebuild flows from their rows and header; raise ValueError, KeyError or TypeError if they are not valid."""
    check_estimates(columns["estimate"])
    listing = _listing(header["listing"])
    if listing is None:
        if math.isqrt(columns["estimate"].size) ** 2 != columns["estimate"].size:
            raise ValueError("the rows are not all pairs")
        margins = margins_of(columns["estimate"])
    else:
        margins = _margin(header["margins"]["origins"]), _margin(header["margins"]["destinations"])
    frame = frame_from_json(header["frame"], domain, margins[0].size)
    size = frame.space.size
    if len(frame.axes) != 1 or any(margin.size != size for margin in margins):
        raise ValueError("the margins are not those of the places")
    if listing is None:
        _check_all(columns, frame)
    numbers = None if listing is None else _numbers(columns, frame)
    noise = header["noise"]
    pair, margin = _noise(noise["pair"]), None if noise["margin"] is None else _noise(noise["margin"])
    if listing is not None and margin is None:
        raise ValueError("a list has no margins")
    (origins, destinations), biased = margins, flag(header["biased"])
    return FlowCounts(frame, numbers, columns["estimate"], origins, destinations, pair, margin, listing, biased)


def _margins_to_json(estimate: FlowCounts) -> dict[str, list[float]]:
    """Return the margins of a list; those of all pairs are their sums."""
    return {"origins": estimate.origins.tolist(), "destinations": estimate.destinations.tolist()}


def _margin(values: Any) -> Floats:
    margin = np.array(values, dtype=np.float64)
    if margin.ndim != 1 or not margin.size:
        raise ValueError("a margin is not a list of numbers")
    check_estimates(margin)
    return margin


def _numbers(columns: Mapping[str, Array], frame: Frame) -> Integers:
    """Return the pairs of the rows, which must be pairs of places, in order and each once."""
    labels = np.array(frame.space.labels(), dtype=object)
    order = np.argsort(labels)
    ends = [order[_places(columns[name], labels[order])] for name in ("origin", "destination")]
    numbers = ends[0] * labels.size + ends[1]
    if not np.all(np.diff(numbers) > 0):
        raise ValueError("the pairs are not in order and each once")
    return np.asarray(numbers)


def _check_all(columns: Mapping[str, Array], frame: Frame) -> None:
    """Check that the rows are all pairs of places, in order."""
    labels = np.array(frame.space.labels(), dtype=object)
    expected = {"origin": np.repeat(labels, labels.size), "destination": np.tile(labels, labels.size)}
    if not all(np.array_equal(columns[name], names) for name, names in expected.items()):
        raise ValueError("the rows are not all pairs, in order")


def _places(names: Array, labels: Array) -> Integers:
    found, places = lookup(names, labels)
    if names.dtype != object or not found.all():
        raise ValueError("a pair is not one of places")
    return places


def _listing(data: Any) -> Listing | None:
    if data is None:
        return None
    return Listing(amount(data["threshold"], _LARGEST_THRESHOLD), amount(data["false"], _MOST_FALSE))


def _noise(data: Mapping[str, Any]) -> CountNoise:
    variance, kurtosis = amount(data["variance"]), amount(data["kurtosis"])
    check_moments(np.array(variance), np.array(kurtosis))
    return CountNoise(variance, kurtosis, amount(data["step"], WIDEST_STEP))
