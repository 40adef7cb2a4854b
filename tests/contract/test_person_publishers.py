"""Every publisher of a release of persons says what was bounded, and what its numbers count."""

from __future__ import annotations

import html
import json

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pyogrio
import pytest

import spatialdp as sdp
from spatialdp.outputs.files.statement import read_statement
from tests.helpers.cases import PERSONS
from tests.helpers.commands import run

matplotlib.use("Agg")

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
RNG = np.random.default_rng(6)
POINTS = sdp.Points(RNG.random((100, 2)), person=RNG.integers(0, 12, 100).tolist())
RELEASES = {
    f"{person.bound}, {mechanism.name}": mechanism.release(POINTS, DOMAIN, epsilon=1, person=person)
    for person, mechanism in zip(PERSONS[:3], (sdp.Flat((8, 6)), sdp.KdTree(2), sdp.Adaptive((8, 6))), strict=True)
}
COUNTED = {"records": "records", "cells": "presences", "shares": "persons"}
every_release = pytest.mark.parametrize("name", RELEASES)


def words_of(name):
    """The release, what it counts, and the sentences that must be told about it."""
    release = RELEASES[name]
    person = release.privacy.person
    return release, COUNTED[str(person.bound)], [person.in_short(), person.in_words(), person.counted_in_words()]


@every_release
def test_statements_and_tables_tell_the_bound(name):
    release, counted, (short, long, meaning) = words_of(name)
    assert release.privacy.counted == counted
    assert f"one person, {short})" in repr(release)
    table = html.unescape(release._repr_html_())
    assert all(text in table for text in (short, long, meaning, f"{counted}, estimated from the release"))
    assert short in html.unescape(release.privacy._repr_html_())
    assert long in release.privacy.in_words()
    assert "with all of their records," in release.privacy.in_words()


@every_release
def test_maps_tell_what_they_count(name):
    release, counted, sentences = words_of(name)
    ax = release.plot()
    texts = " ".join(str(text) for text in (ax.get_xlabel(), *(other.get_ylabel() for other in ax.figure.axes)))
    caption = " ".join(texts.split())
    plt.close(ax.figure)
    assert f"estimated {counted} per " in caption
    assert all(sentence in caption for sentence in sentences)
    half_width = release.plot(view="half-width")
    assert any(f"interval, {counted} per " in other.get_ylabel() for other in half_width.figure.axes)
    plt.close(half_width.figure)


@every_release
def test_pages_tell_what_they_count(name):
    release, counted, sentences = words_of(name)
    text = html.unescape(release.explore().text)
    plain = text.replace('<span class="whole">', "").replace("</span>", "")
    assert all(sentence in plain for sentence in sentences)
    assert f"true number of {counted} with about" in " ".join(plain.split())
    assert f'"counted":"{counted}"' in text
    assert f'"unit":"Estimated {counted} per ' in text
    assert "Bound on a person" in plain


@every_release
def test_files_of_every_format_hold_the_bound_and_what_is_counted(name, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    release, counted, (_, long, _) = words_of(name)
    shape = {".tif": (8, 6)}
    for suffix in (".gpkg", ".geojson", ".csv", ".tif"):
        release.save(tmp_path / f"map{suffix}", shape=shape.get(suffix))
        assert read_statement(tmp_path / f"map{suffix}") == release.privacy
    with rasterio.open(tmp_path / "map.tif") as raster:
        told = [json.loads(raster.tags()["SPATIALDP_COLUMNS"])]
    told.append(json.loads(pyogrio.read_info(tmp_path / "map.gpkg")["layer_metadata"]["SPATIALDP_COLUMNS"]))
    told.append(json.loads((tmp_path / "map.geojson").read_bytes())["columns"])
    told.append(json.loads((tmp_path / "map.privacy.json").read_bytes())["columns"])
    for columns in told:
        assert columns["estimate"] == f"estimated number of {counted}"
        assert columns["counted"].startswith(long)


@every_release
def test_datasets_of_xarray_tell_what_they_count(name):
    pytest.importorskip("xarray")
    release, counted, (_, long, _) = words_of(name)
    dataset = release.to_xarray((8, 6))
    assert dataset["estimate"].attrs["long_name"] == f"estimated number of {counted}"
    assert dataset.attrs["counted"].startswith(long)


@every_release
def test_commands_tell_what_is_counted(name, tmp_path):
    release, counted, (short, long, meaning) = words_of(name)
    path = tmp_path / "release.parquet"
    release.save(path)
    told = run("info", path).stdout
    assert all(text in told for text in (short, long, *meaning.split(". ")))
    assert f"{counted}, estimated from the release" in told
    facts = json.loads(run("info", path, "--json").stdout)
    assert facts["counted"] == counted
    assert facts["privacy"]["person"] == release.privacy.person.to_json()
    answers = run("query", path, "--bbox=0,0,0.5,0.5")
    assert f"note: estimates are of {counted}: {long}" in answers.stderr
    assert answers.stdout.startswith("xmin,ymin,xmax,ymax,estimate,lower,upper")


def test_releases_of_records_are_told_as_before(tmp_path):
    release = sdp.Flat((4, 4)).release(RNG.random((50, 2)), DOMAIN, epsilon=1)
    assert release.privacy.counted == "records"
    assert release.privacy.counted_in_words() == ""
    assert "person" not in release.privacy.to_json()
    release.save(tmp_path / "release.parquet")
    answers = run("query", tmp_path / "release.parquet", "--bbox=0,0,0.5,0.5")
    assert "note: estimates" not in answers.stderr
