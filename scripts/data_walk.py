"""Through how many modules do data go? Count how often calls change module or package in two commands.

    python -m scripts.data_walk            # counts for `spatialdp release` and for `spatialdp query`
    python -m scripts.data_walk --list     # every module that is entered, in order

The script releases a quadtree with the command line and then queries one box, both in this process, and traces every
call of a Python function of spatialdp. If a call is in another module than the call before it, a module is entered; if
it is in another package (such as ``spatialdp.records``, or a module directly in ``spatialdp``), a package is entered.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import spatialdp
from spatialdp.cli import main as command_line

PACKAGE = Path(spatialdp.__file__).parent
ROOT = PACKAGE.parent


def main() -> None:
    """Trace both commands and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print every module that is entered, in order")
    print_modules = parser.parse_args().list
    boundary = ROOT / "datasets" / "boundaries" / "hamilton_county_tn_chattanooga.geojson"
    with tempfile.TemporaryDirectory() as folder:
        saved = f"{folder}/release.parquet"
        records = [str(ROOT / "datasets" / "roads_chattanooga.parquet"), "--x", "lon", "--y", "lat"]
        public = ["--region", str(boundary), "--method", "quadtree", "--height", "6", "--epsilon", "1"]
        commands = ["release", *records, *public, "-o", saved], ["query", saved, "--bbox", "-85.3,35,-85.2,35.1"]
        for arguments in commands:
            modules = [name for name, _ in groupby(entered(arguments))]
            packages = [name for name, _ in groupby(package_of(name) for name in modules)]
            print(f"spatialdp {arguments[0]}: {len(modules)} modules and {len(packages)} packages are entered")
            if print_modules:
                print("  " + " → ".join(modules))


def entered(arguments: list[str]) -> list[str]:
    """Return the module of every call that a command makes within spatialdp, in order."""
    names: list[str] = []
    importing = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        # Calls that run while a module is imported do not handle data, so they do not count.
        nonlocal importing
        if frame.f_code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing:
            path = Path(frame.f_code.co_filename)
            if PACKAGE in path.parents:
                names.append(".".join(path.relative_to(PACKAGE).with_suffix("").parts))

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        traced(profile, lambda: command_line(arguments))
    return names


def traced(profile: Callable[..., None], call: Callable[[], Any]) -> None:
    """Run a command with a profile function; commands end by raising SystemExit."""
    sys.setprofile(profile)
    try:
        call()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)


def package_of(module: str) -> str:
    """Return the package directly below spatialdp, or the module if it is in no such package."""
    return module.split(".")[0]


if __name__ == "__main__":
    main()
