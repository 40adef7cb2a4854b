"""The explorer's page in a real browser. Skipped where there is no Chromium; `make browser` installs it and insists."""

from __future__ import annotations

import os
import re
import time

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from benchmarks import browser
from tests.browser.test_explorer import compare_near_borders
from tests.helpers.cases import LARGE
from tests.helpers.releases import BOUNDS, REGION, release_of, some_boxes
from tests.helpers.zone_releases import release_of as zone_release_of
from tests.helpers.zone_releases import zones_of

pytestmark = pytest.mark.browser

if browser.missing() is None:
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.select import Select
    from selenium.webdriver.support.wait import WebDriverWait


@pytest.fixture(scope="module", autouse=True)
def _installed():
    if reason := browser.missing():
        (pytest.fail if os.environ.get("SPATIALDP_NEEDS_BROWSER") else pytest.skip)(reason)


@pytest.fixture(scope="module")
def driver(_installed):
    with browser.chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Releases and their pages, made once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page(name, region=None):
        if (name, region is None) not in made:
            release, path = release_of(name, region), folder / f"{len(made)}.html"
            release.explore(path, title=name)
            made[name, region is None] = release, path
        return made[name, region is None]

    return page


def drag(driver, start, stop, *, shift=False):
    """Drag the mouse over the map, from and to shares of its width and height."""
    area = driver.find_element(By.ID, "map")
    width, height = area.size["width"], area.size["height"]
    stations = [start, ((start[0] + stop[0]) / 2, (start[1] + stop[1]) / 2), stop]
    offsets = [(round((x - 0.5) * width), round((y - 0.5) * height)) for x, y in stations]
    actions = ActionChains(driver, duration=50)
    if shift:
        actions.key_down(Keys.SHIFT)
    actions.move_to_element_with_offset(area, *offsets[0]).click_and_hold()
    for offset in offsets[1:]:
        actions.move_to_element_with_offset(area, *offset)
    actions.release()
    if shift:
        actions.key_up(Keys.SHIFT)
    actions.perform()


def form_box(driver):
    return [float(driver.find_element(By.ID, side).get_attribute("value")) for side in ("xmin", "ymin", "xmax", "ymax")]


def fill(driver, box):
    for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True):
        field = driver.find_element(By.ID, side)
        field.clear()
        field.send_keys(repr(float(value)))


def assert_shown(driver, release, box):
    """The numbers that can be read are the library's, as rounded."""
    estimate, interval, relative = (
        driver.find_element(By.CSS_SELECTOR, f"#result .{name} dd").text
        for name in ("estimate", "interval", "relative")
    )
    low, high = release.interval(box)
    answer = release.answer(box)
    for text, value in zip([estimate, *interval.split(" to ")], [answer, low, high], strict=True):
        decimals = len(text.partition(".")[2])
        assert abs(float(text.replace(",", "").replace("−", "-")) - value) <= 0.5000001 * 10**-decimals
    share = 100 * (high - answer) / abs(answer)  # the lower end is cut off at zero
    if share < 1000:
        decimals = len(relative.strip("±% ").partition(".")[2])
        assert abs(float(relative.strip("±% ").replace(",", "")) - share) <= 0.5000001 * 10**-decimals
    else:
        assert relative == "more than ±1,000 %"


def centre(driver):
    return driver.execute_script("const c = explorer.map.getCenter(); return [c.lat, c.lng, explorer.map.getZoom()]")


def pixels(driver):
    """All tiles of the map, as they are painted."""
    script = "return [...document.querySelectorAll('.leaflet-tile-pane canvas')].map((c) => c.toDataURL()).sort()"
    return driver.execute_script(script)


@pytest.mark.parametrize("name", LARGE)
def test_loads_without_errors_or_requests(driver, pages, name):
    _, path = pages(name, REGION)
    browser.console(driver)
    browser.requests(driver)
    browser.open_page(driver, path)
    for view in ("uncertainty", "estimate"):
        switch = driver.find_element(By.CSS_SELECTOR, f"input[value={view}]")
        if switch.is_enabled():
            driver.execute_script("arguments[0].click()", switch)
    drag(driver, (0.3, 0.3), (0.6, 0.6), shift=True)
    assert driver.find_element(By.CSS_SELECTOR, "#result .estimate dd").text
    assert browser.console(driver) == []
    assert browser.requests(driver) == [path.as_uri()]


@pytest.mark.parametrize("name", ["flat", "quadtree", "quadtree, high", "kd", "hierarchy", "wavelet", "tailored"])
def test_numbers_equal_the_librarys(driver, pages, name):
    release, path = pages(name, REGION)
    browser.open_page(driver, path)
    boxes = some_boxes()
    script = "return arguments[0].map((box) => { const a = explorer.ask(box); return [a.estimate, a.low, a.high]; })"
    found = np.array(driver.execute_script(script, boxes.tolist()), dtype=float)
    assert found[:, 0] == pytest.approx(release.answer(boxes), rel=1e-9, abs=1e-7)
    ends = release.interval(boxes)
    if name == "wavelet":  # near the border of a region, its intervals are close to the library's
        compare_near_borders([{"half": high - low} for _, low, high in found], 2 * ends)
    else:
        assert found[:, 1:] == pytest.approx(ends, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("name", ["flat", "quadtree", "kd", "tailored"])
def test_dragged_box_shows_the_right_numbers(driver, pages, name):
    release, path = pages(name)
    browser.open_page(driver, path)
    drag(driver, (0.7, 0.7), (0.35, 0.3), shift=True)
    box = form_box(driver)
    assert box[0] < box[2]
    assert box[1] < box[3]
    # The map is as wide as the domain but for a margin, or as high; a third of it was dragged over.
    share = (box[2] - box[0]) / 8, (box[3] - box[1]) / 6
    assert max(share) > 0.3
    assert max(share) < 0.75
    assert_shown(driver, release, box)


def test_drawing_mode_draws_and_moving_mode_moves(driver, pages):
    release, path = pages("quadtree")
    browser.open_page(driver, path)
    before = centre(driver)
    drag(driver, (0.5, 0.5), (0.6, 0.6))
    WebDriverWait(driver, 5).until(lambda d: centre(d) != before)
    assert not driver.find_elements(By.CSS_SELECTOR, "#result dl")
    driver.find_element(By.ID, "draw").click()
    assert driver.find_element(By.ID, "draw").get_attribute("aria-pressed") == "true"
    time.sleep(0.5)  # the map may still be gliding
    moved = centre(driver)
    drag(driver, (0.4, 0.4), (0.6, 0.6))
    assert centre(driver) == moved
    assert_shown(driver, release, form_box(driver))
    driver.find_element(By.ID, "draw").click()
    drag(driver, (0.5, 0.5), (0.4, 0.4))
    WebDriverWait(driver, 5).until(lambda d: centre(d) != moved)


def test_hovering_reads_a_cell(driver, pages):
    release, path = pages("flat")
    browser.open_page(driver, path)
    area = driver.find_element(By.ID, "map")
    x, y = 2.9, 2.2
    script = """
        const [lat, lng] = explorer.frame.place(...arguments);
        const p = explorer.map.latLngToContainerPoint([lat, lng]);
        return [p.x, p.y]"""
    left, top = driver.execute_script(script, x / 8 * 2**30, y / 6 * 2**30)
    offset = round(left - area.size["width"] / 2), round(top - area.size["height"] / 2)
    ActionChains(driver).move_to_element(area).move_to_element_with_offset(area, *offset).perform()
    column, row = int(x / 8 * 37), int(y / 6 * 29)
    text = driver.find_element(By.ID, "readout").text
    assert f"Cell {column}, {row}" in text
    west, east, south, north = column * 8 / 37, (column + 1) * 8 / 37, row * 6 / 29, (row + 1) * 6 / 29
    assert f"longitude {west:.3f} to {east:.3f}, latitude {south:.3f} to {north:.3f}" in text
    value = release.estimate.values[row, column]
    assert abs(float(re.match(r"\S+", text)[0].replace("−", "-").replace(",", "")) - value) <= 0.05
    ActionChains(driver).move_to_element(driver.find_element(By.TAG_NAME, "h1")).perform()
    assert driver.find_element(By.ID, "readout").text == ""


def test_everything_can_be_done_with_the_keyboard(driver, pages):
    release, path = pages("quadtree")
    browser.open_page(driver, path)

    def focused():
        return driver.execute_script("const e = document.activeElement; return e.id || e.value || e.tagName")

    visited = []
    for _ in range(12):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        visited.append(focused())
        if visited[-1] == "map":
            before = centre(driver)
            ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
            WebDriverWait(driver, 5).until(lambda d: centre(d)[1] > before[1])  # noqa: B023 - used here and now
            time.sleep(0.5)
            ActionChains(driver).send_keys("+").perform()
            WebDriverWait(driver, 5).until(lambda d: centre(d)[2] == 1)
            time.sleep(0.5)
            readout = driver.find_element(By.ID, "readout")
            assert "records" in readout.text
            assert readout.get_attribute("aria-live") == "polite"
            assert driver.find_element(By.ID, "cross").is_displayed()
        elif visited[-1] == "estimate":
            ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
            assert focused() == "uncertainty"
            assert "more: may be noise alone" in driver.find_element(By.ID, "legend").text
        elif visited[-1] in ("xmin", "ymin", "xmax", "ymax"):
            value = {"xmin": "1.5", "ymin": "0.75", "xmax": "6.25", "ymax": "4.5"}[visited[-1]]
            ActionChains(driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(value).perform()
            if visited[-1] == "ymax":
                ActionChains(driver).send_keys(Keys.ENTER).perform()
                assert_shown(driver, release, (1.5, 0.75, 6.25, 4.5))
    assert visited.index("map") < visited.index("estimate") < visited.index("draw") < visited.index("xmin")
    assert {"xmax", "ymin", "ymax", "SUMMARY"} <= set(visited)
    assert driver.find_element(By.ID, "result").get_attribute("aria-live") == "polite"


def test_typed_boxes_are_answered_or_refused(driver, pages):
    release, path = pages("kd")
    browser.open_page(driver, path)
    for box in ((0, 0, 8, 6), (-5, 1.25, 3.3, 100), (2.5, 2, 2.75, 2.5)):
        fill(driver, box)
        driver.find_element(By.CSS_SELECTOR, "#box button").click()
        assert_shown(driver, release, box)
    for outside in ((9, 0, 12, 3), (8, 0, 9, 6), (-3, -3, 0, 6), (9, 9, 9, 9)):
        fill(driver, outside)
        driver.find_element(By.CSS_SELECTOR, "#box button").click()
        assert "outside the map" in driver.find_element(By.ID, "result").text
    fill(driver, (5, 0, 4, 6))
    driver.find_element(By.CSS_SELECTOR, "#box button").click()
    assert "must not exceed" in driver.find_element(By.ID, "result").text
    driver.find_element(By.ID, "ymax").clear()
    driver.find_element(By.CSS_SELECTOR, "#box button").click()
    assert "Give a number for ymax" in driver.find_element(By.ID, "result").text


def test_views_differ_and_come_back(driver, pages):
    _, path = pages("quadtree")
    browser.open_page(driver, path)
    estimates = pixels(driver)
    driver.execute_script("document.querySelector('input[value=uncertainty]').click()")
    assert pixels(driver) != estimates
    driver.execute_script("document.querySelector('input[value=estimate]').click()")
    assert pixels(driver) == estimates


def test_detail_follows_the_zoom(driver, pages):
    _, path = pages("quadtree, high")
    browser.open_page(driver, path)
    script = """
        const [lat, lng] = explorer.frame.place(2 ** 29 + 5, 2 ** 29 + 5);
        explorer.map.setView([lat, lng], arguments[0], { animate: false });
        document.querySelector("#map").focus({ focusVisible: true });
        return document.querySelector("#readout").innerText"""
    depths = [int(re.search(r"depth (\d+)", driver.execute_script(script, zoom))[1]) for zoom in (-2, -1, 0, 1, 2)]
    assert depths == sorted(depths)
    assert depths[0] < depths[-1] == 7


def test_biased_releases_give_the_reason_and_no_interval(driver, pages):
    release, path = pages("flat, truncated")
    browser.open_page(driver, path)
    assert not driver.find_element(By.CSS_SELECTOR, "input[value=uncertainty]").is_enabled()
    drag(driver, (0.3, 0.3), (0.6, 0.6), shift=True)
    result = driver.find_element(By.ID, "result").text
    assert "do not average out" in result
    assert driver.find_element(By.CSS_SELECTOR, "#result .interval dd").text == "none"
    shown = float(driver.find_element(By.CSS_SELECTOR, "#result .estimate dd").text.replace(",", ""))
    assert shown == pytest.approx(release.answer(form_box(driver)), abs=0.0500001)


def test_seeded_releases_say_so_on_top(driver, pages, tmp_path):
    _, path = pages("flat")
    browser.open_page(driver, path)
    banner = driver.find_element(By.CLASS_NAME, "banner")
    assert banner.is_displayed()
    assert "Not private" in banner.text
    sdp.Flat((4, 4)).release([], sdp.Domain(BOUNDS), epsilon=1).explore(tmp_path / "map.html")
    browser.open_page(driver, tmp_path / "map.html")
    assert not driver.find_elements(By.CLASS_NAME, "banner")
    assert "e^ε = 2.719 (rounded up)" in driver.find_element(By.TAG_NAME, "body").text


def test_region_is_outlined_and_its_outside_left_empty(driver, pages, tmp_path):
    domain = sdp.Domain(BOUNDS, region=shapely.box(0, 0, 4, 6))
    sdp.Flat((8, 6)).release([], domain, epsilon=1).explore(tmp_path / "map.html")
    browser.open_page(driver, tmp_path / "map.html")
    script = """
        const [lat, lng] = explorer.frame.place(arguments[0] * 2 ** 30, 2 ** 29);
        explorer.map.setView([lat, lng], 0, { animate: false });
        document.querySelector("#map").focus({ focusVisible: true });
        return document.querySelector("#readout").innerText"""
    assert "Cell" in driver.execute_script(script, 0.2)
    assert driver.execute_script(script, 0.8) == "Outside the map"


def test_boundaries_can_be_switched_off(driver, pages, tmp_path):
    release, _ = pages("flat")
    release.explore(tmp_path / "map.html", boundaries=[REGION, shapely.LineString([(-5, 4), (20, 4)])])
    browser.open_page(driver, tmp_path / "map.html")

    def lines():
        return driver.execute_script(_PANE)

    shown = lines()
    driver.find_element(By.ID, "boundaries").click()
    WebDriverWait(driver, 5).until(lambda _: lines() != shown)
    driver.find_element(By.ID, "boundaries").click()
    WebDriverWait(driver, 5).until(lambda _: lines() == shown)
    assert browser.console(driver) == []


_PANE = "return document.querySelector('.leaflet-overlay-pane canvas').toDataURL()"


def test_nothing_but_the_pages_own_scripts_and_styles_runs(driver, pages):
    """What would get into the page by mistake is refused by its policy."""
    _, path = pages("flat")
    browser.open_page(driver, path)
    browser.console(driver)
    script = """
        const added = document.createElement("div");
        added.innerHTML = '<b id="styled" style="color: rgb(1, 2, 3)">b</b><img src="data:,x" onerror="hit = 1">';
        document.body.append(added);
        const code = document.createElement("script");
        code.textContent = "hit = 2";
        document.body.append(code);
        const sheet = document.createElement("style");
        sheet.textContent = "#styled { font-size: 77px }";
        document.body.append(sheet);"""
    driver.execute_script(script)
    time.sleep(0.3)
    assert driver.execute_script("return typeof hit") == "undefined"
    style = "const s = getComputedStyle(document.getElementById('styled')); return [s.color, s.fontSize]"
    assert "rgb(1, 2, 3)" not in driver.execute_script(style)
    assert "77px" not in driver.execute_script(style)
    refused = " ".join(browser.console(driver))
    for directive in ("script-src", "style-src"):
        assert directive in refused


def test_words_of_others_are_shown_as_words(driver, tmp_path):
    evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    crs = f'LOCAL_CS["{evil}",UNIT["metre",1]]'
    release = sdp.Flat((4, 4)).release([], sdp.Domain(BOUNDS, crs=crs), epsilon=1)
    release.explore(tmp_path / "map.html", title=evil)
    browser.console(driver)
    browser.open_page(driver, tmp_path / "map.html")
    assert driver.find_element(By.TAG_NAME, "h1").text == evil
    assert driver.execute_script("return document.images.length") == 0
    assert browser.console(driver) == []


def test_readout_gets_out_of_the_mouses_way(driver, pages):
    _, path = pages("flat")
    browser.open_page(driver, path)
    area, readout = driver.find_element(By.ID, "map"), driver.find_element(By.ID, "readout")
    ActionChains(driver).move_to_element(area).perform()
    for height in (0.25, 0.47, -0.47, -0.25, 0.47):
        offset = round(-0.45 * area.size["width"]), round(height * area.size["height"])
        ActionChains(driver).move_to_element_with_offset(area, *offset).perform()
        assert readout.text
        mouse, shown = area.rect["y"] + (0.5 + height) * area.size["height"], readout.rect
        assert not shown["y"] <= mouse <= shown["y"] + shown["height"]


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_word_is_broken_and_nothing_is_cut(pages, width):
    """Every word of the page is on one line, and no text is wider than its box."""
    _, path = pages("tailored")
    with browser.chromium((width, 844)) as driver:
        browser.open_page(driver, path)
        driver.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert driver.execute_script(_BROKEN_WORDS) == []


# All words of the page that stand on more than one line.
_BROKEN_WORDS = r"""
const broken = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = texts.nextNode(); node; node = texts.nextNode()) {
  if (node.parentElement.closest("script, style, .hidden")) continue;
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const tops = new Set([...range.getClientRects()].map((rectangle) => Math.round(rectangle.top)));
    if (tops.size > 1) broken.push(word);
  }
}
return broken
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_a_phone_and_answers_to_a_finger(pages, dark):
    """A narrow screen, and a finger instead of a mouse."""
    release, path = pages("quadtree")
    with browser.chromium((360, 740), dark=dark, density=2) as phone:
        phone.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
        browser.open_page(phone, path)
        assert phone.execute_script("return document.documentElement.scrollWidth") <= 360
        colour = phone.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 200) == dark
        phone.execute_script("document.querySelector('#draw').click()")
        place = phone.execute_script(
            "const r = document.querySelector('#map').getBoundingClientRect(); return r.toJSON()"
        )
        ends = [
            (place["x"] + place["width"] * s, place["y"] + place["height"] * t) for s, t in ((0.3, 0.4), (0.7, 0.6))
        ]
        for kind, points in (("touchStart", ends[:1]), ("touchMove", ends[1:]), ("touchEnd", [])):
            touches = [{"x": x, "y": y} for x, y in points]
            phone.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        WebDriverWait(phone, 5).until(lambda d: d.find_elements(By.CSS_SELECTOR, "#result dl"))
        assert_shown(phone, release, form_box(phone))
        assert "records in the box" in phone.find_element(By.ID, "readout").text
        assert browser.console(phone) == []


def test_zones_are_read_by_pointing_by_level_and_by_code(driver, tmp_path):
    release = zone_release_of(zones_of())
    release.explore(tmp_path / "zones.html", title="Tracts")
    browser.console(driver)
    browser.requests(driver)
    browser.open_page(driver, tmp_path / "zones.html")
    area, readout = driver.find_element(By.ID, "map"), driver.find_element(By.ID, "readout")
    painted = pixels(driver)
    ActionChains(driver).move_to_element(area).move_by_offset(3, 2).perform()
    assert "tract A2a" in readout.text
    assert "in county A2, state A" in readout.text
    Select(driver.find_element(By.ID, "level")).select_by_visible_text("state")
    assert pixels(driver) != painted
    ActionChains(driver).move_to_element(area).move_by_offset(4, 3).perform()
    assert "state A" in readout.text
    field = driver.find_element(By.ID, "code")
    field.send_keys("A1b", Keys.ENTER)
    shown = driver.find_element(By.CSS_SELECTOR, "#result .interval dd").text.split(" to ")
    low, high = release.interval("A1b")
    assert [float(each.replace("−", "-")) for each in shown] == pytest.approx([low, high], abs=0.06)
    assert "tract A1b, county A1, state A" in driver.find_element(By.ID, "result").text
    field.clear()
    field.send_keys("nowhere", Keys.ENTER)
    assert "No zone on this page has the code nowhere" in driver.find_element(By.ID, "result").text
    driver.execute_script("document.getElementById('map').focus({ focusVisible: true })")
    ActionChains(driver).send_keys(Keys.ARROW_LEFT).perform()
    WebDriverWait(driver, 5).until(lambda d: readout.get_attribute("aria-live") == "polite")
    assert "records · state" in readout.text
    assert not browser.console(driver)
    assert browser.requests(driver) == [(tmp_path / "zones.html").resolve().as_uri()]


@pytest.mark.parametrize("size", [(1200, 800), (390, 844)], ids=["desktop", "phone"])
def test_tables_show_the_map_that_is_chosen(tmp_path, size):
    release, path = zone_table(), tmp_path / "table.html"
    release.explore(path, title="Thefts by hour")
    with browser.chromium(size) as driver:
        browser.console(driver)
        browser.requests(driver)
        browser.open_page(driver, path)
        time_of, kind = (Select(each) for each in driver.find_elements(By.CSS_SELECTOR, "select.part"))
        assert [option.text for option in kind.options] == ["all categories", "theft", "fraud"]
        driver.find_element(By.ID, "code").send_keys("A1b", Keys.ENTER)
        painted = pixels(driver)
        time_of.select_by_visible_text("12:00")
        kind.select_by_visible_text("fraud")
        assert pixels(driver) != painted
        part = release.at(time="12:00", kind="fraud")
        low, high = part.interval("A1b")
        shown = driver.find_element(By.CSS_SELECTOR, "#result .interval dd").text.split(" to ")
        assert [float(each.replace("−", "-")) for each in shown] == pytest.approx([low, high], abs=0.06)
        Select(driver.find_element(By.ID, "level")).select_by_visible_text("state")
        assert driver.execute_script("return explorer.ask('A').estimate") == pytest.approx(part.answer("A"))
        kind.select_by_visible_text("all categories")
        state = release.at(time="12:00").answer("A")
        assert driver.execute_script("return explorer.ask('A').estimate") == pytest.approx(state)
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert not browser.console(driver)
        assert browser.requests(driver) == [path.resolve().as_uri()]


def zone_table():
    zones = zones_of()
    codes = zones.codes[zones.leaf_nodes]
    rng = np.random.default_rng(6)
    hours = np.datetime64("2024-01-01") + rng.integers(0, 31 * 24, 900).astype("timedelta64[h]")
    places = sdp.Codes(rng.choice(codes, 900).tolist())
    rows = sdp.Rows(places, time=hours, kind=rng.choice(["theft", "fraud"], 900))
    day = sdp.Time("2024-01-01", "2024-02-01", step="6 h", fold="hour of day")
    frame = sdp.Frame(zones, time=day, kind=sdp.Categories(["theft", "fraud"]))
    return sdp.Table().release(rows, frame, epsilon=1)
