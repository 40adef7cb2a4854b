"""How does Leaflet, the map library of the explorer's page, get into the package? Fetch it and strip it.

The script needs npm, which checks the archive against the registry's digest. It leaves out pictures (the page has no
markers and no layers control), the style rules that use them, and the link to the source map, so that the page loads
nothing from the network.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "1.9.4"
TARGET = Path(__file__).parent.parent / "spatialdp" / "outputs" / "explorer" / "assets" / "leaflet"


def main() -> int:
    """Fetch Leaflet, remove links to other files, and write it into the package."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"leaflet@{VERSION}"], cwd=folder, check=True)
        with tarfile.open(Path(folder) / f"leaflet-{VERSION}.tgz") as archive:
            files = {
                name: _text(archive, f"package/{name}") for name in ("LICENSE", "dist/leaflet.js", "dist/leaflet.css")
            }
    TARGET.mkdir(exist_ok=True)
    script = re.sub(r"//# sourceMappingURL=\S+\s*$", "", files["dist/leaflet.js"])
    style = re.sub(r"[^{}]*\{[^{}]*url\((?!#)[^{}]*\}", "", files["dist/leaflet.css"])
    for name, text in (("LICENSE", files["LICENSE"]), ("leaflet.js", script), ("leaflet.css", style)):
        (TARGET / name).write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n")
    print(f"Leaflet {VERSION} is in {TARGET}")
    return 0


def _text(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    assert file is not None
    return file.read().decode()


if __name__ == "__main__":
    sys.exit(main())
