"""How does a figure get into a file? As PNG, SVG or PDF, completely or not at all.

Equal figures must give equal bytes: the files hold no date and no random names. PNG files have a palette of 256
colours, which makes them a third as large without a visible difference.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["save_figure"]

_LETTERS_DPI = {".svg": 72, ".pdf": 72}  # resolution at which these formats measure letters
_VECTOR_DPI = 200  # least resolution of images inside an SVG or PDF, in dots per inch


def save_figure(figure: Figure, path: Path, *, dpi: int = 100, overwrite: bool = True, private: bool = False) -> None:
    """Write a figure as SVG or PDF if the name ends in .svg or .pdf, else as PNG with a palette of 256 colours.

    Equal figures give equal bytes. With `private`, nobody but its owner may read the file: for figures that are
    computed from records.
    """
    from spatialdp._support.atomic import write_all

    picture = io.BytesIO()
    engine, own_dpi = figure.get_layout_engine(), figure.dpi
    if engine is not None:  # run the layout once, here: savefig would draw the whole figure twice to find it
        figure.set_dpi(_LETTERS_DPI.get(path.suffix.lower(), dpi))  # letters are not equally wide at every resolution
        engine.execute(figure)
        figure.set_dpi(own_dpi)
        figure.set_layout_engine("none")
    try:
        {".svg": _write_svg, ".pdf": _write_pdf}.get(path.suffix.lower(), _write_png)(figure, picture, dpi)
    finally:
        figure.set_layout_engine(engine)
    write_all({path: picture.getvalue()}, overwrite=overwrite, private=private)


def _write_svg(figure: Figure, picture: io.BytesIO, dpi: int) -> None:
    import matplotlib

    # Without a salt, matplotlib puts random names into the file.
    with matplotlib.rc_context({"svg.hashsalt": "spatialdp"}):
        figure.savefig(picture, format="svg", dpi=max(dpi, _VECTOR_DPI), metadata={"Date": None})


def _write_pdf(figure: Figure, picture: io.BytesIO, dpi: int) -> None:
    import matplotlib

    # Fonts of type 42 keep words that can be searched and copied.
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(picture, format="pdf", dpi=max(dpi, _VECTOR_DPI), metadata={"CreationDate": None})


def _write_png(figure: Figure, picture: io.BytesIO, dpi: int) -> None:
    from PIL import Image

    pixels = io.BytesIO()
    figure.savefig(pixels, format="rgba", dpi=dpi)
    width, height = figure.get_size_inches() * dpi
    full = Image.frombuffer("RGBA", (int(width), int(height)), pixels.getvalue()).convert("RGB")
    palette = full.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette.save(picture, format="png", dpi=(dpi, dpi))
