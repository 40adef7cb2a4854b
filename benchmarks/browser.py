"""How do tests, benchmarks and scripts open the explorer's page? In a headless Chromium.

This needs the extra `browser`; `make browser` installs everything.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


def missing() -> str | None:
    """Return a message about a missing program or package; None if a page can be opened."""
    try:
        import selenium  # noqa: F401 - only to see whether it is installed
    except ImportError:
        return "the Python package selenium is missing; run make browser"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is missing; run make browser"
    return None


@contextmanager
def chromium(size: tuple[int, int] = (1200, 800), *, dark: bool = False, density: float = 1) -> Iterator[Any]:
    """Start a browser with a new profile and a window of this size; it logs its console and its requests."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": size[0], "height": size[1], "deviceScaleFactor": density, "mobile": size[0] < 600},
            )
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            driver.get("about:blank")
            requests(driver)  # empties the log of requests of the start page
            yield driver
        finally:
            driver.quit()


def open_page(driver: Any, path: Path) -> None:
    """Open a page and wait until its map is painted."""
    from selenium.webdriver.support.wait import WebDriverWait

    driver.get(path.resolve().as_uri())
    WebDriverWait(driver, 30, poll_frequency=0.02).until(
        lambda d: d.execute_script("return document.documentElement.dataset.ready === 'true'")
    )


def console(driver: Any) -> list[str]:
    """Return the messages that the page wrote to the console, errors included."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: Any) -> list[str]:
    """Return the addresses that the page requested; the first one is its own."""
    messages = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
