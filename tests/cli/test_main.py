"""The group of commands: help, exit codes, failures and real processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.mechanisms import PreparedRelease
from tests.helpers.commands import command, refused, run


def test_every_command_has_help_with_an_example():
    listed = run("--help").stdout
    assert "Exit codes" in listed
    assert "_SPATIALDP_COMPLETE" in listed
    for name in main.list_commands(None):
        shown = run(name, "--help").stdout
        assert f"spatialdp {name}" in shown.partition("Options:")[0].partition("\n")[2], name


@pytest.mark.parametrize("name", [None, *main.list_commands(None)])
def test_examples_in_the_help_can_be_pasted(name):
    """Each stands in lines of its own, as in the docstring, and not in a paragraph."""
    shown = run(*([] if name is None else [name]), "--help").stdout
    source = (main if name is None else main.get_command(None, name)).callback.__doc__
    lines = [line.strip() for line in source.splitlines()]
    examples = [line for line in lines if line.startswith("spatialdp ")]
    assert examples or name == "traffic"
    assert {line.strip() for line in shown.splitlines()} >= set(examples)
    assert r"\b" not in shown
    assert "\n  POINTS\n" not in shown.partition("Options:")[2]


def test_help_needs_nothing_but_click():
    heavy = ("numpy", "pyarrow", "geopandas", "shapely", "pandas", "matplotlib", "scipy", "pyproj")
    code = (
        "import sys\nfrom spatialdp.cli import main\n"
        f"try: main(['--help'])\nexcept SystemExit: print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_defects_are_reported_without_what_they_held(monkeypatch, released):
    def fail(*_):
        raise KeyError("secret 73519284")

    monkeypatch.setattr("spatialdp.outputs.files.geoparquet.load", fail)
    told = run("info", released, code=1).stderr
    assert "unexpected KeyError at info.py" in told
    assert "secret" not in told


@pytest.mark.parametrize("name", ["", *main.list_commands(None)])
def test_examples_in_the_help_keep_their_lines(name):
    shown = CliRunner().invoke(main, [*name.split(), "--help"]).output
    assert "\\b" not in shown
    if "Examples:\n" in shown:
        assert "\n    spatialdp " in shown.split("Examples:\n")[1]


RUN = "from spatialdp.cli import main; main(prog_name='spatialdp')"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("Unable to allocate 8 bytes for 123456 records"), "there is not enough memory"),
        (RuntimeError("record 0.123456, 0.5"), "unexpected RuntimeError"),
    ],
)
def test_failures_on_the_way_are_told_without_their_own_words(place, monkeypatch, error, message):
    """These may quote records, or how many there are."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(PreparedRelease, "release", fail)
    told = refused(command(), code=1)
    assert message in told
    assert "123456" not in told


def test_releases_that_are_none_are_refused(place):
    (place / "text.parquet").write_text("no release")
    for words in (["query", "--bbox=0,0,1,1"], ["map", "-omap.png"], ["info"]):
        name, *options = words
        assert "is not a file" in refused([name, "none.parquet", *options])
        assert "not a readable release" in refused([name, "text.parquet", *options])


def start(words, code=RUN, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )


def test_a_full_disk_leaves_nothing_and_the_old_file(place):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    for old in (None, b"old"):
        if old is not None:
            (place / "out.parquet").write_bytes(old)
        before = sorted(os.listdir())
        process = start([*command(), "--force"], preexec_fn=small_files)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "Error: " in stderr
        assert "Traceback" not in stderr
        assert sorted(os.listdir()) == before
        assert old is None or (place / "out.parquet").read_bytes() == old


KILLED = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
def slow(handle):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = slow
from spatialdp.cli import main
main(prog_name="spatialdp")
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
@pytest.mark.parametrize("old", [None, b"old"], ids=["nothing before", "old file"])
def test_killed_while_writing_leaves_nothing_or_the_old_file(place, old):
    if old is not None:
        (place / "out.parquet").write_bytes(old)
    process = start([*command(), "--force"], KILLED)
    assert process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert sorted(os.listdir()) == [*([] if old is None else ["out.parquet"]), "points.gpkg"]
    assert old is None or (place / "out.parquet").read_bytes() == old


def test_interrupted_while_writing_leaves_nothing(place):
    process = start(command(), KILLED)
    assert process.stdout.readline() == "writing\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Aborted" in stderr
    assert os.listdir() == ["points.gpkg"]


def test_exit_codes_of_the_process(place):
    for words, code in ((command(), 0), (command(), 2), (["--nonsense"], 2), (["--version"], 0)):
        process = start(words)
        process.communicate(timeout=60)
        assert process.returncode == code
    assert sdp.load("out.parquet").privacy.private


@pytest.mark.usefixtures("place")
def test_defects_claim_nothing_about_files_that_were_written_before(monkeypatch):
    def fail(*_, **__):
        raise KeyError

    monkeypatch.setattr("spatialdp.cli.commands.evaluate._figures", fail)
    options = ("--bounds=0,0,1,1", "--crs=EPSG:4326", "-m", "quadtree:height=2", "--epsilons=1", "--trials=1", "-q")
    told = run("evaluate", "points.gpkg", *options, code=1).stderr
    assert "unexpected KeyError" in told
    assert os.listdir("out") == ["errors.csv"]
    assert "Nothing was written" not in told
    assert "No file is left half-written" in told


@pytest.mark.parametrize("typed", ["releese", "epsilonfor", "recomend", "quary"])
def test_similar_commands_are_suggested(typed):
    close = {"releese": "release", "epsilonfor": "epsilon-for", "recomend": "recommend", "quary": "query"}[typed]
    assert f"Did you mean '{close}'?" in run(typed, code=2).stderr


def test_other_words_get_no_suggestion():
    told = run("xyz", code=2).stderr
    assert "No such command 'xyz'" in told
    assert "Did you mean" not in told
