"""What evaluations by zones and of tables share: a truth that no bound on persons cuts off."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.evaluation.frames.counted import CountedExperiment, unbounded
from spatialdp.evaluation.frames.tables import TableExperiment
from spatialdp.evaluation.frames.zones import ZoneExperiment
from spatialdp.privacy.unit import MOST


@pytest.mark.parametrize(
    ("person", "bound"),
    [
        (None, None),
        (sdp.Person(shares=True), sdp.Person(shares=True)),
        (sdp.Person(records=3), sdp.Person(records=MOST)),
        (sdp.Person(cells=3), sdp.Person(cells=MOST)),
    ],
)
def test_the_truth_counts_what_the_release_counts_but_cuts_nothing_off(person, bound):
    assert unbounded(person) == bound


def test_errors_name_each_frame_by_a_word_of_its_own():
    kinds = CountedExperiment.__subclasses__()
    assert set(kinds) == {ZoneExperiment, TableExperiment}
    assert len({kind.frames for kind in kinds}) == 2
