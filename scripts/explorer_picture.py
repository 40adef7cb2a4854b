"""What does the explorer's page look like? A screenshot of both views, with the answer to one box.

The page shows a quadtree of highway junctions. The script needs Chromium; `make browser` installs it.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))

import spatialdp as sdp
from benchmarks import browser
from spatialdp import datasets
from spatialdp._support.atomic import write_all

SIZE = (1120, 700)
GAP = 24


def main() -> int:
    """Open the page, ask about a box, and write a screenshot of each view."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    folder = parser.parse_args().output
    if reason := browser.missing():
        print(reason, file=sys.stderr)
        return 1
    region = sdp.Domain.around(datasets.contiguous_us(), crs="EPSG:4326")
    release = sdp.Quadtree(height=8).release(datasets.us_highway_junctions(), region, epsilon=1)
    with tempfile.TemporaryDirectory() as pages:
        page = Path(pages) / "map.html"
        release.explore(page, title="Highway junctions of the contiguous United States")
        pictures = [_picture(page, dark=False, view="estimate"), _picture(page, dark=True, view="uncertainty")]
    sheet = Image.new("RGB", (2 * SIZE[0] + GAP, SIZE[1]), "white")
    for place, picture in enumerate(pictures):
        sheet.paste(picture, (place * (SIZE[0] + GAP), 0))
    palette = sheet.quantize(256, dither=Image.Dither.NONE)
    target = folder / "explorer.png"
    png = io.BytesIO()
    palette.save(png, format="png", optimize=True)
    write_all({target: png.getvalue()}, overwrite=True)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")
    return 0


def _picture(page: Path, *, dark: bool, view: str) -> Image.Image:
    with browser.chromium(SIZE, dark=dark) as driver:
        browser.open_page(driver, page)
        _ask(driver, {"xmin": -88.8, "ymin": 36.9, "xmax": -75.1, "ymax": 45.0})
        driver.execute_script(f"document.querySelector('input[value={view}]').click()")
        return Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")


def _ask(driver: Any, box: dict[str, float]) -> None:
    for side, value in box.items():
        driver.execute_script("document.getElementById(arguments[0]).value = arguments[1]", side, value)
    driver.execute_script("document.querySelector('#box button').click()")


if __name__ == "__main__":
    sys.exit(main())
