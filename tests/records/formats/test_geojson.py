"""GeoJSON: divided by brackets and quotes alone, at any block size; what a feature says is about that feature."""

from __future__ import annotations

import io
import json
import math
import random

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from tests.helpers.person_files import persons_in
from tests.helpers.point_files import place_in

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")


def count(content, domain=DOMAIN, **options):
    content = content if isinstance(content, bytes) else content.encode()
    points = sdp.read_points(io.BytesIO(content), domain, file_format="geojson", **options)
    return count_cells(points, domain.grid((1, 1))).sum()


def feature(geometry='{"type": "Point", "coordinates": [0.5, 0.5]}', more=""):
    return f'{{"type": "Feature", "properties": {{}}, "geometry": {geometry}{more}}}'


def collection(*features, more=""):
    return f'{{"type": "FeatureCollection", "features": [{", ".join(features)}]{more}}}'


def slowly(content):
    """The same by a parser of JSON, for files that it can read."""
    total = 0
    for element in json.loads(content)["features"]:
        geometry = element.get("geometry") if isinstance(element, dict) else None
        place = geometry.get("coordinates") if isinstance(geometry, dict) else None
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        if kind == "MultiPoint":
            place = place[0] if len(place) == 1 else None
        place = place if kind in ("Point", "MultiPoint") else None
        if isinstance(place, list) and len(place) >= 2 and all(type(number) in (int, float) for number in place[:2]):
            total += all(0 <= number <= 1 for number in place[:2])
    return total


FEATURES = [
    feature(),
    feature('{"coordinates": [0.25, 0.75, 9], "bbox": [1, 2], "type": "Point"}'),
    feature('{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}'),
    feature('{"type": "MultiPoint", "coordinates": [[0.25, 0.75]]}'),
    feature('{"type": "MultiPoint", "coordinates": [ [0.25, 0.75, 3 ] ]}'),
    feature('{"type": "MultiPoint", "coordinates": [[0.25, 0.75], [0.5, 0.5]]}'),
    feature('{"type": "MultiPoint", "coordinates": []}'),
    feature("null"),
    feature(more=', "id": "a\\"]}\\\\", "bbox": [0.5, 0.5], "tags": {"geometry": {"type": "Point"}}'),
    feature(more=', "features": [1, {"type": "Point", "coordinates": [0.5, 0.5]}]'),
    "17",
    "[]",
    '"geometry"',
    '{"geometry": {"type": "Point", "coordinates": [7, 0.5]}}',
    '{"type": "Feature"}',
]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 2**22])
def test_any_block_size_gives_the_same(block, monkeypatch):
    monkeypatch.setattr("spatialdp.records.formats.geojson._BLOCK", block)
    chance = random.Random(block)
    for _ in range(6):
        content = collection(*chance.choices(FEATURES, k=12), more=', "bbox": [1, [2, "x"]], "other": [{"a": [1, 2]}]')
        for indent in (None, 1):
            text = json.dumps(json.loads(content), indent=indent)
            assert count(text) == slowly(text)


@pytest.mark.parametrize("block", [1, 2, 3, 5, 64])
def test_backslashes_mean_the_same_wherever_a_block_ends(block, monkeypatch):
    """A record of backslashes alone must take no more time than others, so that none is looked at by itself."""
    monkeypatch.setattr("spatialdp.records.formats.geojson._BLOCK", block)
    chance = random.Random(block)
    for _ in range(30):
        odd = ["".join(chance.choices('\\\\"]}{[,:a', k=chance.randrange(9))) for _ in range(3)]
        content = collection(*(feature(more=f', "a": {json.dumps(text)}') for text in odd))
        assert count(content) == 3
    for slashes in range(1, 12):
        assert count(collection(feature(more=f', "a": "{2 * slashes * chr(92)}"'), feature())) == 2
        with pytest.raises(PointsError, match="truncated"):
            count(collection(feature(more=f', "a": "{(2 * slashes + 1) * chr(92)}"')))


@pytest.mark.parametrize("block", [1, 7, 50, 2**22])
def test_elements_of_too_many_tokens_count_nowhere_wherever_a_block_ends(block, monkeypatch):
    """A feature of commas alone would take a hundred times its own bytes. Others are counted as without it."""
    monkeypatch.setattr("spatialdp.records.formats.geojson._BLOCK", block)
    monkeypatch.setattr("spatialdp.records.formats.geojson._MOST_TOKENS", 40)
    deep = feature(more=f', "a": {{"b": [{", ".join("[1]" * 50)}]}}')  # not on the levels that are looked at
    colons, commas = (feature(more=f', "a": {{{50 * mark}}}') for mark in ":,")
    for place in range(4):
        for long, expected in ((deep, 4), (colons, 3), (commas, 3), ("{" + 50 * "," + feature()[1:], 3)):
            features = [feature()] * 3
            features.insert(place, long)
            assert count(collection(*features)) == expected
            assert count(collection(*features, more=', "b": [1, [2]]')) == expected
    assert count(collection(commas, colons, commas)) == 0


def test_only_the_list_of_features_has_records():
    others = f', "other": [{feature()}], "place": {collection(feature())}'
    assert count(collection(feature(), more=others)) == 1
    assert count(f'{{"other": [{feature()}, {feature()}], "features": [{feature()}], "last": [{feature()}]}}') == 1


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ('"featureType": "SECRET"', 1),
        ('"coordRefSys": "http://www.opengis.net/def/crs/EPSG/0/2154"', 1),
        ('"crs": {"type": "name", "properties": {"name": "EPSG:2154"}}', 1),
        ('"place": {"type": "Point", "coordinates": [1, 2]}', 1),
        ('"note": "gdal_streamed_alg"', 1),
        ('"deep": ' + "[" * 100_000 + "]" * 100_000, 1),
        ('"note": "\\\\"', 1),
        ('"note": "\\\\\\""', 1),
        ('"note": "' + "\\\\" * 5000 + '"', 1),
        ('"geometry": null', 0),
        ('"geometry": {"type": "Point", "coordinates": [7, 7]}', 0),
        ('"geometry": {"type": "Point", "coordinates": [0.1, 0.1]}', 1),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_feature_speaks_for_itself_alone(members, expected):
    """Of two geometries the last one counts, as parsers of JSON have it."""
    odd = feature(more=f", {members}")
    for features in ([odd], [feature(), odd, feature()]):
        assert count(collection(*features)) == len(features) - 1 + expected


@pytest.mark.parametrize(
    "coordinates",
    [
        '["0.5", "0.5"]',
        "[0.5]",
        "[]",
        "[null, 0.5]",
        "[NaN, 0.5]",
        "[[0.5, 0.5]]",
        '{"x": 1}',
        '"0.5, 0.5"',
        "[1e400, 0.5]",
    ],
)
def test_coordinates_that_are_no_two_numbers_count_nowhere(coordinates):
    odd = feature(f'{{"type": "Point", "coordinates": {coordinates}}}')
    assert count(collection(feature(), odd)) == 1


@pytest.mark.parametrize("coordinates", ["[0.5, 0.5]", "[[[0.5, 0.5]]]", "[[0.5, 0.5], []]", "[[0.5]]", "[[]]", "[]"])
def test_multi_points_that_have_not_one_part_count_nowhere(coordinates):
    odd = feature(f'{{"type": "MultiPoint", "coordinates": {coordinates}}}')
    assert count(collection(feature(), odd)) == 1


def test_lines_of_features_are_refused_in_the_same_words_however_many_there_are():
    said = set()
    for lines in ([feature()], [feature()] * 2, [feature("null"), feature()], [feature(), "17"]):
        with pytest.raises(PointsError) as caught:
            count("\n".join(lines))
        said.add(str(caught.value))
    assert len(said) == 1


def test_bytes_that_are_not_utf8_and_control_characters_are_records_like_any_other():
    for text in (b"\xff\xfe", b"\x00", b"\n", "\u2028".encode()):
        assert count(collection(feature(more=', "a": "TEXT"'), feature()).encode().replace(b"TEXT", text)) == 2
    assert count(b"\xef\xbb\xbf " + collection(feature()).encode() + b"\n\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        collection(feature())[:-1],
        collection(feature()) + "}",
        '{"features": ["]}',
        collection(feature())[:40],
    ],
)
def test_what_is_not_one_whole_object_is_refused(content):
    with pytest.raises(PointsError, match="truncated, damaged or of another format"):
        count(content)


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        feature(),
        feature() + "\n" + feature(),
        "\x1e" + feature(),
        '{"features": {}}',
        '{"features": 1}',
        '{"features": [], "features": []}',
        collection(feature()) + "{}",
        collection(feature()) + "x",
        "x" + collection(feature()),
        "x",
    ],
)
def test_what_has_not_one_list_of_features_is_refused(content):
    with pytest.raises(PointsError, match="not a GeoJSON FeatureCollection"):
        count(content)


def test_the_crs_stands_beside_the_features(tmp_path):
    point, lambert = place_in("EPSG:2154")
    there = feature(f'{{"type": "Point", "coordinates": [{point.x}, {point.y}]}}')
    named = ', "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}'
    assert count(collection(there, more=named), lambert) == 1
    with pytest.raises(CRSMismatchError, match="the points have EPSG:2154"):
        count(collection(feature(), more=named))
    with pytest.raises(CRSMismatchError, match="states no CRS"):
        count(collection(feature(), more=', "crs": null'))
    frame = geopandas.GeoDataFrame(geometry=[point], crs="EPSG:2154")
    frame.to_file(tmp_path / "a.geojson")
    assert sdp.read_points(tmp_path / "a.geojson", lambert).crs == "EPSG:2154"


def test_many_features_are_read_exactly(tmp_path):
    xy = np.random.default_rng(0).random((2000, 2))
    geopandas.GeoDataFrame(geometry=shapely.points(xy), crs="EPSG:4326").to_file(
        tmp_path / "a.geojson", COORDINATE_PRECISION=17
    )
    grid = DOMAIN.grid((64, 64))
    assert np.array_equal(
        count_cells(sdp.read_points(tmp_path / "a.geojson", DOMAIN), grid), count_cells(sdp.Points(xy), grid)
    )
    assert not math.isnan(xy.sum())


# --- persons ---------------------------------------------------------------------------------------

VALUES = {
    '"ann"': "ann",
    "5": "5",
    '"5"': "5",
    '"05"': "05",
    "5.0": "5",
    "-0": "0",
    "1e3": "1000",
    "9007199254740993": "9007199254740993",
    "9007199254740993.0": None,
    "0.5": None,
    "1e400": None,
    "null": None,
    "true": None,
    "[5]": None,
    '{"who": 5}': None,
    '""': "",
    r'"a\"b\\c\u00e9\n"': 'a"b\\cé\n',
    r'"\ud800"': None,
    r'"\ud83d\ude00"': "😀",
    r'"\x"': None,
    '"é, {[\t"': "é, {[\t",
    "nonsense": None,
}


def of_person(value, name='"who"'):
    return f'{{"properties": {{"a": [1, {{"who": 9}}], {name}: {value}, "b": "x"}}, "geometry": {POINT}}}'


POINT = '{"type": "Point", "coordinates": [0.5, 0.5]}'


@pytest.mark.parametrize("block", [50, 2**22])
def test_persons_are_text_or_whole_numbers(block, monkeypatch):
    monkeypatch.setattr("spatialdp.records.formats.geojson._BLOCK", block)
    content = collection(*map(of_person, VALUES)).encode()
    assert persons_in(io.BytesIO(content), file_format="geojson") == list(VALUES.values())


def test_persons_are_found_where_they_belong(tmp_path):
    others = {
        '{"who": "eve", "geometry": %s}': None,  # beside the properties
        '{"geometry": {"type": "Point", "coordinates": [0.5, 0.5], "who": "eve"}, "properties": {"who": "ann"}}': "ann",
        '{"properties": {"who": "eve"}, "geometry": %s, "properties": {"who": "ann"}}': "ann",
        '{"properties": {"who": "eve", "who": "ann"}, "geometry": %s}': "ann",
        '{"properties": {"who": "eve"}, "geometry": %s, "properties": {}}': None,
        '{"properties": null, "geometry": %s}': None,
        '{"properties": "who", "geometry": %s}': None,
        '{"geometry": %s}': None,
        '{"properties": {"WHO": "eve", "who ": "eve"}, "geometry": %s}': None,
        '{"properties": {"who": "ann"}, "geometry": null}': "ann",
    }
    features = [text.replace("%s", POINT) for text in others]
    without = ['{"properties": {"who": "eve"}}', "null", "[]", '{"properties": {"who": "eve"}, "geometry": "x"}']
    content = collection(
        *[part for pair in zip(features, (without * 3)[: len(features)], strict=True) for part in pair]
    ).encode()
    (tmp_path / "a.geojson").write_bytes(content)
    assert persons_in(tmp_path / "a.geojson") == list(others.values())


@pytest.mark.parametrize("name", ["who", "Straße", 'a"b', "a\\b"])
def test_names_of_properties_may_be_escaped(name):
    features = [of_person('"ann"', json.dumps(name, ensure_ascii=escaped)) for escaped in (True, False)]
    assert persons_in(io.BytesIO(collection(*features).encode()), file_format="geojson", person=name) == ["ann"] * 2


def test_bytes_that_are_not_utf_8_are_no_person():
    content = collection(of_person('"ann"'), of_person('"@"'), of_person('"bob"'), of_person(r'"\n@"')).encode()
    content = content.replace(b"@", b"\xff")
    assert persons_in(io.BytesIO(content), file_format="geojson") == ["ann", None, "bob", None]
