"""The explorer's page: made from the release alone, complete in itself, and right to the last digit."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.grid_noise import QuadHaarNoise, SeparableNoise
from spatialdp.estimates.unevenness import tree
from spatialdp.outputs.explorer import data as explorer_data
from spatialdp.outputs.explorer import page as explorer
from spatialdp.records.counting import count_cells
from tests.helpers.cases import LARGE, LISTED, OVER_MAPS, in_turn
from tests.helpers.releases import BOUNDS, POINTS, REGION, release_of, some_boxes
from tests.helpers.sources import RecordingNoise

SOURCES = Path(explorer.__file__).parent / "assets"


def page_data(text):
    (found,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def ask(text, boxes, number=None):
    """What the page's own code answers, of a table for one of its maps."""
    given = json.dumps({"data": page_data(text), "boxes": np.asarray(boxes).tolist(), "map": number})
    command = ["node", str(Path(__file__).parent / "ask.mjs")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["answers"]


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node, which runs the page's code, is missing")


def compare_near_borders(answers, ends):
    """Where cells depend on each other, the page takes the larger of two variances for boxes that cut border cells."""
    above = ends[:, 0] > 0
    ratio = np.array([a["half"] for a in answers])[above] / (np.ptp(ends, axis=1)[above] / 2)
    assert ratio.min() > 0.98
    assert np.median(ratio) < 1.05
    assert ratio.max() < 3


@needs_node
@pytest.mark.parametrize(("name", "region"), in_turn(LARGE, (None, REGION)))
def test_page_answers_as_the_library(name, region, tmp_path):
    release, boxes = release_of(name, region), some_boxes()
    release.explore(tmp_path / "map.html")
    answers = ask((tmp_path / "map.html").read_text(), boxes)
    assert [a["estimate"] for a in answers] == pytest.approx(release.answer(boxes), rel=1e-9, abs=1e-7)
    if release.estimate.biased:
        assert {a["half"] for a in answers} == {None}
        return
    ends = release.interval(boxes)  # about the truth
    if isinstance(release.estimate.unbiased.noise, SeparableNoise | QuadHaarNoise) and region is not None:
        compare_near_borders(answers, ends)
        return
    assert [a["low"] for a in answers] == pytest.approx(ends[:, 0], rel=1e-9, abs=1e-7)
    assert [a["high"] for a in answers] == pytest.approx(ends[:, 1], rel=1e-9, abs=1e-7)
    halves = (ends[:, 1] - ends[:, 0]) / 2
    above = ends[:, 0] > 0  # ends below 0 are cut off
    assert np.array([a["half"] for a in answers])[above] == pytest.approx(halves[above], rel=1e-6, abs=1e-9)
    noise = np.ptp(release.interval(boxes, about="noise"), axis=1) / 2
    assert np.count_nonzero(halves > noise + 0.1) > 20  # the allowance is compared, too


@needs_node
@pytest.mark.parametrize(
    "mechanism", [sdp.Quadtree(6, prune=10), sdp.Adaptive((64, 64), estimate="unbiased")], ids=["pruned", "adaptive"]
)
def test_page_allows_for_lines_as_the_library(mechanism, tmp_path):
    rng = np.random.default_rng(3)
    places = np.stack([(rng.integers(0, 60, 20_000) + 0.3) / 60, rng.random(20_000)], axis=1)
    release = mechanism.release(places, sdp.Domain((0, 0, 1, 1)), epsilon=2, noise=sdp.SeededNoise(1))
    release.explore(tmp_path / "map.html")
    boxes = np.sort(rng.random((60, 2, 2)), axis=1).reshape(-1, 4)
    answers, ends = ask((tmp_path / "map.html").read_text(), boxes), release.interval(boxes)
    assert [a["low"] for a in answers] == pytest.approx(ends[:, 0], rel=1e-9, abs=1e-7)
    assert [a["high"] for a in answers] == pytest.approx(ends[:, 1], rel=1e-9, abs=1e-7)
    lattice, estimate = release.domain.boxes(boxes), release.estimate.unbiased
    without = estimate.unevenness.allowance(estimate._walker.walk(lattice), 60, along_axes=False)
    assert np.median(estimate.allowance(lattice).variance / without.variance) > 1.2


@needs_node
def test_page_allows_for_contrast_as_the_library(tmp_path, monkeypatch):
    """A town in empty country: cut leaves have their records on the town's side."""
    rng = np.random.default_rng(3)
    places = np.concatenate([0.5 + 0.05 * (rng.random((20_000, 2)) - 0.5), rng.random((200, 2))])
    release = sdp.KdTree(4).release(places, sdp.Domain((0, 0, 1, 1)), epsilon=2, noise=sdp.SeededNoise(1))
    release.explore(tmp_path / "map.html")
    centres, sides = 0.5 + 0.05 * (rng.random((60, 2)) - 0.5), 0.05 + 0.1 * rng.random((60, 2))
    boxes = np.concatenate([centres - sides / 2, centres + sides / 2], axis=1)
    answers, ends = ask((tmp_path / "map.html").read_text(), boxes), release.interval(boxes)
    assert [a["low"] for a in answers] == pytest.approx(ends[:, 0], rel=1e-9, abs=1e-7)
    assert [a["high"] for a in answers] == pytest.approx(ends[:, 1], rel=1e-9, abs=1e-7)
    monkeypatch.setattr(tree, "contrast_variance", lambda levels, shift, *_: np.zeros(shift.size))
    assert np.count_nonzero(release.interval(boxes)[:, 1] < ends[:, 1] - 1) > 20


@needs_node
@pytest.mark.parametrize("region", [None, REGION])
@pytest.mark.parametrize("name", LISTED)
def test_page_of_a_list_answers_as_the_library(name, region, tmp_path):
    domain, boxes = sdp.Domain(BOUNDS, crs="EPSG:4326", region=region), some_boxes()
    records = np.concatenate([POINTS, np.repeat(POINTS[:40], 200, axis=0)])
    mechanism = LISTED[name] if LISTED[name].cell_size is None else sdp.Sparse(cell_size=0.5)
    release = mechanism.release(records, domain, epsilon=1, noise=sdp.SeededNoise(1))
    release.explore(tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    answers = ask(text, boxes)
    assert "empty cells are expected on the list" in text
    assert [a["estimate"] for a in answers] == pytest.approx(release.answer(boxes), rel=1e-9, abs=1e-7)
    if release.estimate.biased:
        assert {a["half"] for a in answers} == {None}
        return
    ends = release.interval(boxes)
    assert [a["low"] for a in answers] == pytest.approx(ends[:, 0], rel=1e-9, abs=1e-7)
    assert [a["high"] for a in answers] == pytest.approx(ends[:, 1], rel=1e-9, abs=1e-7)
    above = ends[:, 0] > 0
    assert above.sum() > 50


@needs_node
@pytest.mark.parametrize("region", [None, REGION])
@pytest.mark.parametrize("name", OVER_MAPS)
def test_page_of_a_list_over_a_map_answers_as_the_library(name, region, tmp_path):
    domain, boxes = sdp.Domain(BOUNDS, crs="EPSG:4326", region=region), some_boxes()
    records = np.concatenate([POINTS, np.repeat(POINTS[:40], 200, axis=0)])
    release = OVER_MAPS[name].release(records, domain, epsilon=1, noise=sdp.SeededNoise(1))
    release.explore(tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    assert "Within blocks" in text
    blocks = release.estimate.map.leaf_boxes()
    whole = np.stack([domain.axes[i % 2].coordinates(blocks[:, i]) for i in range(4)], axis=1)
    for asked in (boxes, whole[:9]):
        answers, ends = ask(text, asked), release.interval(asked)
        assert [a["estimate"] for a in answers] == pytest.approx(release.answer(asked), rel=1e-9, abs=1e-6)
        assert [a["low"] for a in answers] == pytest.approx(ends[:, 0], rel=1e-9, abs=1e-6)
        assert [a["high"] for a in answers] == pytest.approx(ends[:, 1], rel=1e-9, abs=1e-6)
    without = dataclasses.replace(release, estimate=release.estimate.map).answer(boxes)
    assert np.count_nonzero(np.abs(without - release.answer(boxes)) > 1) > 20  # the list moves answers


@needs_node
def test_page_answers_at_another_level_and_after_loading(tmp_path):
    release, boxes = release_of("quadtree"), some_boxes(20)
    release.save(tmp_path / "release.parquet")
    sdp.load(tmp_path / "release.parquet").explore(tmp_path / "map.html", level=0.5)
    answers = ask((tmp_path / "map.html").read_text(), boxes)
    assert [a["high"] for a in answers] == pytest.approx(release.interval(boxes, level=0.5)[:, 1])


@needs_node
def test_adjusted_releases_have_answers_and_no_intervals(tmp_path):
    for name in ("flat", "quadtree"):
        release, boxes = release_of(name).non_negative().rounded(), some_boxes(20)
        release.explore(tmp_path / "map.html", overwrite=True)
        text = (tmp_path / "map.html").read_text()
        answers = ask(text, boxes)
        assert [a["estimate"] for a in answers] == pytest.approx(release.answer(boxes))
        assert {a["half"] for a in answers} == {None}
        assert 'value="uncertainty" disabled' in text
        assert "it has no intervals" in text


@needs_node
def test_script_is_one_valid_module(tmp_path):
    parts = [explorer._inlined(explorer.asset(f"{name}.mjs")) for name in explorer._MODULES]
    assert sorted(explorer._MODULES) == sorted(path.stem for path in SOURCES.glob("*.mjs"))
    script = tmp_path / "page.mjs"
    script.write_text("\n".join(parts))
    assert not re.search(r"^(import|export)\b", script.read_text(), re.MULTILINE)
    done = subprocess.run(["node", "--check", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # two modules with the same name for two things would be an error


class _Outside(HTMLParser):
    """Collects everything a page would fetch."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in {"src", "href", "srcset", "action"}]


@pytest.mark.parametrize("name", ["flat", "kd"])
def test_page_is_complete_in_itself(name, tmp_path):
    release_of(name, REGION).explore(tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    outside = _Outside()
    outside.feed(text)
    assert outside.found == ["data:,"]
    assert "default-src 'none'" in text
    assert "unsafe-inline" not in text
    assert "sourceMappingURL" not in text
    assert "@import" not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {"#default#VML"}
    assert "Redistribution and use in source and binary forms" in text  # Leaflet's licence


@pytest.mark.parametrize("name", ["flat", "quadtree", "kd", "hierarchy", "wavelet", "fourier, given block", "tailored"])
def test_equal_releases_give_equal_bytes(name, tmp_path):
    """A page holds nothing that is not in the published file, nor the time or place where it was made."""
    release = release_of(name, REGION)
    release.save(tmp_path / "release.parquet")
    (tmp_path / "elsewhere").mkdir()
    release.explore(tmp_path / "map.html")
    sdp.load(tmp_path / "release.parquet").explore(tmp_path / "elsewhere" / "other.html")
    assert (tmp_path / "map.html").read_bytes() == (tmp_path / "elsewhere" / "other.html").read_bytes()


def test_neighbours_with_the_same_outputs_have_the_same_page(tmp_path):
    """If frozen noise makes up for the extra record, nothing at all tells two data sets apart."""
    domain = sdp.Domain(BOUNDS, region=REGION)
    grid = domain.grid((16, 12))
    one, two = POINTS, np.vstack([POINTS, [[4.2, 3.3]]])

    class Compensating(RecordingNoise):
        def __init__(self, xy):
            super().__init__(5)
            base, here = (count_cells(sdp.Points(data), grid)[grid.mask] for data in (one, xy))
            self.shift = base - here

        def laplace(self, scale, size):
            return super().laplace(scale, size) + self.shift

    for name, xy in (("a", one), ("b", two)):
        release = sdp.Flat((16, 12)).release(xy, domain, epsilon=0.5, noise=Compensating(xy))
        release.explore(tmp_path / f"{name}.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize(
    "mechanism", [sdp.Flat((16, 12)), sdp.Quadtree(4), sdp.Tailored((16, 16)), sdp.Wavelet((9, 7))]
)
@pytest.mark.parametrize("extra", [[4.2, 3.3], [0.0, 0.0], [8.0, 6.0], [100.0, 0.0], [np.nan, 1.0]])
def test_neighbours_differ_only_in_estimates(mechanism, extra, tmp_path):
    pages = []
    for xy in (POINTS, np.vstack([POINTS, [extra]])):
        domain = sdp.Domain(BOUNDS, region=REGION)
        mechanism.release(xy, domain, epsilon=0.5, noise=RecordingNoise(5)).explore(
            tmp_path / "map.html", overwrite=True
        )
        text = (tmp_path / "map.html").read_text()
        data = page_data(text)
        # The colour scale and what is known of uneven spread come from the estimates; the noise's variances do not.
        uneven = data["estimate"]["uneven"]
        del data["estimate"]["values"], data["scale"], uneven["within"], uneven["growth"]
        for scale in uneven["scales"]:
            del scale["uneven"]
        pages.append((re.sub(r'application/json">.*?</script>', "", text, flags=re.DOTALL), data))
    assert pages[0] == pages[1]


def test_words_of_others_stay_words(tmp_path):
    evil = "</script><script>alert(1)</script><b onload='x'>&\"$title"
    crs = f'LOCAL_CS["{evil.replace(chr(34), "")}",UNIT["metre",1]]'
    release = sdp.Flat((2, 2)).release([], sdp.Domain(BOUNDS, crs=crs), epsilon=1)
    assert "<script>alert" in release.domain.crs
    release.explore(tmp_path / "map.html", title=evil)
    text = (tmp_path / "map.html").read_text()
    assert "<script>alert" not in text
    assert "<b onload" not in text
    assert text.count("</script>") == 3
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text


def test_data_cannot_end_the_script():
    assert "<" not in explorer._json({"a": "</script><!--"})
    assert json.loads(explorer._json({"a": "</script>&<!--"})) == {"a": "</script>&<!--"}


def test_page_tells_what_is_not_private(tmp_path):
    domain = sdp.Domain(BOUNDS)
    sdp.Flat((2, 2)).release([], domain, epsilon=1).explore(tmp_path / "private.html")
    sdp.Flat((2, 2)).release([], domain, epsilon=1, noise=sdp.SeededNoise(1)).explore(tmp_path / "seeded.html")
    private, seeded = ((tmp_path / name).read_text() for name in ("private.html", "seeded.html"))
    assert '<div class="banner"' in seeded
    assert '<div class="banner"' not in private
    assert "at most e^ε = 2.719 (rounded up)" in private
    assert "NOT PRIVATE" in seeded
    assert "by a factor of at most" not in seeded


def test_statement_in_words():
    domain = sdp.Domain(BOUNDS)
    gaussian = sdp.Flat((2, 2), law="gaussian").release([], domain, epsilon=1, delta=1e-6, neighbours="replace")
    assert "If any one record had any other value" in gaussian.privacy.in_words()
    assert "e^ε = 2.719 (rounded up), and by at most δ = 1e-06 on top of that" in gaussian.privacy.in_words()
    large = sdp.Flat((2, 2)).release([], domain, epsilon=100)
    assert "e^ε = 2.69e+43 (rounded up)" in large.privacy.in_words()


def test_files_are_whole_and_kept(tmp_path):
    release = release_of("flat, one cell")
    with pytest.raises(ParameterError, match=r"\.html"):
        release.explore(tmp_path / "map.png")
    with pytest.raises(FileNotFoundError, match="no folder"):
        release.explore(tmp_path / "nowhere" / "map.html")
    with pytest.raises(ParameterError, match="level"):
        release.explore(tmp_path / "map.html", level=1.5)
    assert not list(tmp_path.iterdir())
    release.explore(tmp_path / "map.html", title="first")
    with pytest.raises(FileExistsError, match="overwrite"):
        release.explore(tmp_path / "map.html", title="second")
    assert "<h1>first</h1>" in (tmp_path / "map.html").read_text()
    release.explore(tmp_path / "map.html", title="second", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["map.html"]


def test_pages_too_large_for_a_browser_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(explorer_data, "LARGEST_PAGE", 20)
    with pytest.raises(ReleaseError, match="192 cells; a page holds at most 20"):
        release_of("flat, fine").explore(tmp_path / "map.html")
    with pytest.raises(ReleaseError, match="nodes; a page holds"):
        release_of("kd").explore(tmp_path / "map.html")
    assert not list(tmp_path.iterdir())


def test_page_of_the_traffic_grid_is_small(tmp_path):
    mechanism = sdp.Flat((300, 217), law="laplace")  # 65,100 cells of fine noise
    mechanism.release([], sdp.Domain(BOUNDS), epsilon=1).explore(tmp_path / "map.html")
    assert (tmp_path / "map.html").stat().st_size < 3e6


def table_of(space, blocks=()):
    kinds = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
    hours = sdp.Time("2024-01-01", "2024-02-01", step="8 h", fold="hour of day")
    rng, count = np.random.default_rng(4), 3000
    times = np.datetime64("2024-01-01") + rng.integers(0, 31 * 24, count).astype("timedelta64[h]")
    names = rng.choice(["burglary", "shoplifting", "assault"], count)
    rows = sdp.Rows(rng.normal((2, 1), (0.6, 0.3), (count, 2)), time=times, kind=names)
    mechanism = sdp.Table(budget={"box": (1, 2), "kind": (1, 2)}) if blocks else sdp.Table()
    frame = sdp.Frame(space.grid((24, 12)), blocks=blocks, time=hours, kind=kinds)
    return mechanism.release(rows, frame, epsilon=1, noise=sdp.SeededNoise(2))


@needs_node
@pytest.mark.parametrize("blocks", [(), (4,)], ids=["cells", "blocks"])
@pytest.mark.parametrize("region", [None, shapely.box(0.3, 0.2, 3.1, 1.9)], ids=["whole", "region"])
def test_pages_of_tables_answer_as_the_maps_that_are_chosen(blocks, region, tmp_path):
    space = sdp.Domain((0, 0, 4, 2), region=region)
    release = table_of(space, blocks)
    release.explore(tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    boxes = [(0, 0, 4, 2), (0.5, 0.25, 2, 1.5), (0.77, 0.33, 2.9, 1.21)]
    table = page_data(text)["table"]
    assert table["sizes"] == [4, 5]
    assert len(table["maps"]) == 20
    for number, queries in ((0, {}), (1, {"kind": "theft"}), (13, {"time": "08:00", "kind": "burglary"})):
        shown = release.at(**queries)
        answers, ends = ask(text, boxes, number), shown.interval(boxes)
        assert [a["estimate"] for a in answers] == pytest.approx(shown.answer(boxes), rel=1e-9, abs=1e-7)
        np.testing.assert_allclose([[a["low"], a["high"]] for a in answers], ends, rtol=1e-6, atol=1e-6)
