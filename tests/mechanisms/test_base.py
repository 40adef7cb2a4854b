"""What all mechanisms share: terms are checked before records, and statements tell the whole promise."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError
from tests.helpers.cases import CASES, DOMAINS, Setting, possible, terms
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((0, 0, 3, 2))


def test_statement_tells_the_whole_promise():
    release = sdp.Flat((3, 2)).release([], DOMAIN, epsilon=0.1, neighbours="replace")
    statement = release.privacy
    assert (statement.epsilon, statement.delta) == (Fraction(1, 10), 0)
    assert (statement.neighbours, statement.unit, statement.mechanism) == ("replace", "record", "flat")
    assert statement.private is True
    assert statement.version == sdp.__version__
    assert statement.parameters == {"shape": (3, 2), "cell_size": None, "law": "discrete-laplace", "truncate": None}
    assert str(statement).startswith("ε = 0.1 (replace one record), flat")


@pytest.mark.parametrize("noise", [sdp.SeededNoise(1), ZeroNoise()])
def test_only_system_noise_makes_a_private_release(noise):
    noise.private = True  # saying so does not make it so
    release = sdp.Flat((3, 2)).release([], DOMAIN, epsilon=1, noise=noise)
    assert release.privacy.private is False
    assert "NOT PRIVATE" in str(release.privacy)
    assert sdp.Flat((3, 2)).release([], DOMAIN, epsilon=1).privacy.private is True


def test_parameters_are_refused_before_a_record_is_read():
    class Explosive:
        def __array__(self, *args, **kwargs):
            raise AssertionError("a record was looked at")

    nowhere = sdp.Domain((0, 0, 3, 2), region=shapely.box(0.9, 0.9, 1.1, 1.1), region_cells="centres")
    with pytest.raises(DomainError, match="centre"):
        sdp.Flat((3, 2)).release(Explosive(), nowhere, epsilon=1)
    with pytest.raises(BudgetError, match="noise of parameter"):
        sdp.Quadtree(1, budget=(10**30, 1)).release(Explosive(), DOMAIN, epsilon=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (1, "1"),
        (0.1, "0.1"),
        (1.0000004, "1.0000004"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**20 + 1, 10**20), "1.00001"),
    ],
)
def test_statement_never_understates_epsilon(epsilon, text):
    assert str(sdp.Flat((3, 2)).release([], DOMAIN, epsilon=epsilon).privacy).startswith(f"ε = {text} (")


def test_releases_and_statements_can_be_copied_and_pickled():
    release = sdp.Flat((3, 2)).release([], DOMAIN, epsilon=1)
    for copied in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert copied.privacy == release.privacy
        assert np.array_equal(copied.estimate.values, release.estimate.values)
    assert dataclasses.asdict(release.privacy)["epsilon"] == 1


def test_a_release_from_replaced_methods_is_not_private(monkeypatch):
    """Noise from replaced methods is not the system's, whoever replaced them."""
    assert sdp.Flat((2, 2)).release([], DOMAIN, epsilon=1).privacy.private
    with pytest.raises(AttributeError):
        sdp.SystemNoise().laplace = lambda scale, size: np.zeros(size, dtype=np.int64)
    monkeypatch.setattr(sdp.SystemNoise, "laplace", lambda self, scale, size: np.zeros(size, dtype=np.int64))
    for noise in (None, sdp.SystemNoise()):
        release = sdp.Flat((2, 2)).release([], DOMAIN, epsilon=1, noise=noise)
        assert not release.privacy.private
        assert "NOT PRIVATE" in repr(release)


def test_bad_terms_are_refused():
    flat = sdp.Flat((2, 2))
    with pytest.raises(ParameterError, match="'add-remove', 'replace'"):
        flat.release([], DOMAIN, epsilon=1, neighbours="swap")
    with pytest.raises(ParameterError, match="SystemNoise"):
        flat.release([], DOMAIN, epsilon=1, noise=np.random.default_rng())
    with pytest.raises(ParameterError, match="never taken from the points"):
        flat.release([[1, 1]], (0, 0, 1, 1), epsilon=1)
    with pytest.raises(ParameterError, match="never taken from the points"):
        flat.plan((0, 0, 1, 1), epsilon=1)
    with pytest.raises(BudgetError, match="delta"):
        flat.release([], DOMAIN, epsilon=1, delta=1e-9)
    with pytest.raises(BudgetError, match="positive delta"):
        sdp.Flat((2, 2), law="gaussian").release([], DOMAIN, epsilon=1)
    with pytest.raises(TypeError):
        flat.release([], DOMAIN)  # no default for what privacy costs


def test_mechanisms_are_values():
    assert sdp.Flat([3, 2]) == sdp.Flat((3, 2))
    assert hash(sdp.Flat((3, 2))) == hash(sdp.Flat((3, 2)))
    with pytest.raises(AttributeError):
        sdp.Flat((3, 2)).shape = (4, 4)


@pytest.mark.parametrize("name", CASES)
def test_prepared_is_released(name, tmp_path):
    """`prepare` decides all that is public, and nothing else: with the same noise come the same bytes."""
    setting = Setting(name, "five sides", "add-remove")
    points = np.random.default_rng(1).uniform((0, 0), (8, 6), (80, 2))
    prepared = setting.mechanism.prepare(setting.domain, **setting.terms)
    one = prepared.release(points, noise=sdp.SeededNoise(7))
    two = setting.mechanism.release(points, setting.domain, noise=sdp.SeededNoise(7), **setting.terms)
    for release, file in ((one, "one.parquet"), (two, "two.parquet")):
        release.save(tmp_path / file)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert prepared.statement == dataclasses.replace(one.privacy, private=prepared.statement.private)


@pytest.mark.parametrize("name", CASES)
def test_plan_and_statement_agree_before_and_after(name):
    mechanism = CASES[name]
    if not possible(name, "two corners", "add-remove"):
        return
    given = terms(mechanism, "add-remove")
    plan = mechanism.plan(DOMAINS["two corners"], **given)
    privacy = mechanism.release([], DOMAINS["two corners"], **given).privacy
    assert (plan.budget, plan.currency, plan.mechanism) == (privacy.budget, privacy.currency, mechanism.name)
    assert privacy.private
    assert privacy.parameters == mechanism.parameters()


def test_boxes_to_average_over_are_required():
    with pytest.raises(ParameterError, match="at least one"):
        sdp.Flat((3, 2)).expected_error(DOMAIN, [], epsilon=1)


def test_parameters_are_plain_values():
    held = sdp.Fourier((8, 8), candidates=[(2, 2), "marginals"], selection_share=Fraction(1, 3)).parameters()
    assert held["candidates"] == ((2, 2), "marginals")
    assert type(held["basis"]) is str
    assert Fraction(held["selection_share"]) == Fraction(1, 3)
