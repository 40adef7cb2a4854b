"""Documentation that tells the truth: blocks run and print what is shown, links lead somewhere, names have examples.

`SPATIALDP_WRITE_DOCS=1 pytest tests/repository/test_docs.py` writes what the blocks print into the pages; look at
the difference.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import io
import os
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp._support.tables import markdown
from spatialdp.cli import main
from spatialdp.mechanisms import MECHANISMS

mpl.use("Agg")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Besides what is run: output, and what Sphinx reads.
QUIET = {"text", "{toctree}", "{eval-rst}", "{include}", "{note}", "{warning}"}
OTHER_COMMANDS = {"make", "pip", "python", "pytest"}  # for people to run; not run here
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def id_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- code ------------------------------------------------------------------------------------------


def run_python(code: str, page: Path, names: dict[str, object]) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(code, str(page), "exec", dont_inherit=True), names)
    plt.close("all")
    return shown.getvalue()


def run_console(block: str) -> str:
    """The block again, with what its commands print now."""
    lines = []
    for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE):
        lines.append(f"$ {command}\n")
        name, *words = shlex.split(command.replace("\\\n", " "))
        if name in OTHER_COMMANDS:
            continue
        assert name == "spatialdp", command
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"{command}\n{result.output}"
        lines.append(result.stdout)
    return "".join(lines)


def alike(shown: str, found: str) -> bool:
    """The same but for the last digits of numbers, which may differ from one machine to another."""
    ours, theirs = (list(map(float, NUMBER.findall(text))) for text in (shown, found))
    return NUMBER.sub("#", shown) == NUMBER.sub("#", found) and ours == pytest.approx(theirs, rel=1e-9)


def run_page(page: Path) -> str:
    """The page as it would be if its blocks printed what they print now."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        between, (language, body) = text[end : fence.start()], fence.groups()
        found = body
        if language == "text" and printed is not None and not between.strip():
            found, printed = printed, None
        elif language == "python":
            assert not printed, f"{page.name}: a block prints {printed!r}, and a text block should show it"
            printed = run_python(body, page, names)
        elif language == "console":
            found = run_console(body)
        elif language == "sh":
            assert set(re.findall(r"^(\S+)", body, re.MULTILINE)) <= OTHER_COMMANDS, f"{page.name}: use console"
        else:
            assert language in QUIET, f"{page.name}: who runs {language}?"
        parts += [between, f"```{language}\n{body if alike(body, found) else found}```"]
        end = fence.end()
    assert not printed, f"{page.name}: a block prints {printed!r}, and a text block should show it"
    return "".join([*parts, text[end:]])


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_code_blocks_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(ROOT / "datasets", tmp_path / "datasets")
    found = run_page(page)
    if os.environ.get("SPATIALDP_WRITE_DOCS"):
        page.write_text(found, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == found


def test_blocks_that_lie_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert run_page(page).count("\n2\n") == 1
    page.write_text("```python\nprint(1 + 1)\n```\n\nNo output is shown.\n")
    with pytest.raises(AssertionError, match="a text block should show it"):
        run_page(page)
    page.write_text("```ruby\nputs 1\n```\n")
    with pytest.raises(AssertionError, match="who runs ruby"):
        run_page(page)
    page.write_text("```console\n$ spatialdp nonsense\n```\n")
    with pytest.raises(AssertionError, match="nonsense"):
        run_page(page)


# --- links and figures -----------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Headings as links name them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md")), ROOT / "datasets" / "README.md"], ids=id_of)
def test_links_lead_somewhere(page):
    assert not broken_links(page)


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One two\n\n[a](#one-two) [b](#three) [c](page.md#one-two) [d](gone.md) ![e](gone.png)\n")
    assert broken_links(page) == ["#three", "gone.md", "gone.png"]


def test_every_figure_is_shown_and_small():
    shown = "".join(page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "README.md"])
    for figure in sorted((ROOT / "figures").glob("*.png")):
        assert f"figures/{figure.name}" in shown, f"{figure.name} is shown nowhere"
        assert figure.stat().st_size < 300_000, figure.name


def test_every_mechanism_has_a_page_with_a_picture():
    for name in MECHANISMS:
        text = (DOCS / "mechanisms" / f"{name}.md").read_text(encoding="utf-8")
        assert f"figures/mechanism_{name}.png" in text
        for heading in ("Parameters", "Privacy", "Cost", "When to use it", "Measured"):
            assert f"\n## {heading}" in text, f"{name}: {heading}"


def _three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.10g}"


def errors_of(rows: str, **wanted: str) -> str:
    """A table of measured errors: a row for each value of one column of the file, a column for each workload."""
    with (ROOT / "figures" / "mechanisms.csv").open() as file:
        found = [row for row in csv.DictReader(file) if all(row[name] == value for name, value in wanted.items())]
    loads = list(dict.fromkeys(row["workload"] for row in found))
    errors = {(row[rows], row["workload"]): _three_digits(float(row["rmse"])) for row in found}
    names = dict.fromkeys(row[rows] for row in found)
    head = "ε" if rows == "epsilon" else ", ".join(f"ε = {value}" for value in wanted.values())
    return markdown([[head, *loads], *([name, *(errors[name, load] for load in loads)] for name in names)])


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_measured_errors_are_those_of_the_run(epsilon):
    assert errors_of("mechanism", epsilon=epsilon) in (DOCS / "mechanisms" / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))
def test_measured_errors_of_each_mechanism_are_those_of_the_run(kind):
    page = DOCS / "mechanisms" / f"{kind.name}.md"
    assert errors_of("epsilon", mechanism=kind.__name__) in page.read_text(encoding="utf-8")


# --- docstrings ------------------------------------------------------------------------------------


def public_things():
    """Classes and functions that users meet, with their names."""
    for name in sdp._HOMES:
        thing = getattr(sdp, name)
        members = (
            [(f"{name}.{each}", getattr(thing, each)) for each in thing.__all__] if inspect.ismodule(thing) else []
        )
        for label, found in members or [(name, thing)]:
            if inspect.isclass(found) or inspect.isfunction(found):
                yield label, found
            if inspect.isclass(found):
                methods = inspect.getmembers(found, lambda part: inspect.isfunction(part) or inspect.ismethod(part))
                yield from ((f"{label}.{each}", part) for each, part in methods if not each.startswith("_"))


THINGS = dict(public_things())


def sections(thing: object) -> list[str]:
    return re.findall(r"^(\w[\w ]*)\n-{3,}$", inspect.getdoc(thing) or "", re.MULTILINE)


@pytest.mark.parametrize("name", THINGS)
def test_public_names_have_an_example_that_runs(name):
    assert "Examples" in sections(THINGS[name])
    assert ">>> " in inspect.getdoc(THINGS[name])  # pytest runs it with the doctests


HANDED_RECORDS = ["Points", "read_points", "evaluate", "evaluate_subsamples"]
SAYS_WHY_NOT = ["Release", "Privacy", "SystemNoise", "SeededNoise", "recommend", "epsilon_for", "SpatialDPError"]


@pytest.mark.parametrize(
    "name", [kind.__name__ for kind in MECHANISMS.values()] + ["Flat.release", *HANDED_RECORDS, *SAYS_WHY_NOT]
)
def test_what_touches_records_or_noise_has_a_privacy_section(name):
    assert "Privacy" in sections(THINGS[name])


def test_every_public_name_is_in_the_reference():
    reference = (DOCS / "api.md").read_text(encoding="utf-8")
    for name in sdp._HOMES:
        assert re.search(rf":: spatialdp\.{name}$", reference, re.MULTILINE), name


def test_sizes_at_which_mechanisms_change_places_are_those_of_the_figure():
    """Flat noise, then the hierarchy, then the tailored strategy, then a tree that counts the whole domain."""
    with (ROOT / "figures" / "expected_error.csv").open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    shares = [row.pop("share of the area") for row in rows]
    best = [min(row, key=row.get).split(",")[0] for row in rows]
    flat, tailored = (
        [share for share, name in zip(shares, best, strict=True) if name == kind] for kind in ("Flat", "Tailored")
    )
    after_flat = min(share for share in shares if share > max(flat))
    text = " ".join((DOCS / "experiments.md").read_text(encoding="utf-8").split())
    assert f"up to {max(flat) * 256**2:.0f} cells ({100 * max(flat):.2g} % of the area)" in text
    assert f"no longer for {after_flat * 256**2:.0f} cells ({100 * after_flat:.2g} %)" in text
    assert f"From {100 * min(tailored):.2g} % up to {100 * max(tailored):.2g} %, the largest share below" in text
    assert max(tailored) == max(share for share in shares if share < 1)
    assert best[-1] == "Quadtree"
