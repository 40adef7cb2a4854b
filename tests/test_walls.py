"""The walls of the house: who may import whom, who may draw random bits, what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import spatialdp

PACKAGE = Path(spatialdp.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Rooms that publish, and so must not be able to reach a record.
BLIND = [
    *("_support", "space", "privacy", "trees", "transforms", "strategies", "estimates", "structures", "release"),
    *("outputs", "workload"),
]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_blind_rooms_do_not_import_records(path):
    if name_of(path).split(".")[0] in BLIND:
        seen = [n for n in imports_of(path) if n.startswith(("spatialdp.records", "spatialdp.datasets"))]
        assert not seen


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_noise_room_draws_random_bits(path):
    if name_of(path) == "privacy.noise.source":
        return
    text = path.read_text()
    assert not imports_of(path) & {"random", "secrets", "numpy.random", "os.urandom", "uuid"}
    assert "urandom" not in text
    assert "default_rng" not in text
    for node in ast.walk(ast.parse(text)):
        assert not (isinstance(node, ast.Attribute) and node.attr == "random"), f"{path.name}:{node.lineno}"


def test_import_is_light():
    heavy = ("numpy", "matplotlib", "geopandas", "shapely", "pandas", "pyarrow", "pyproj", "scipy", "click", "tqdm")
    code = f"import sys, spatialdp; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_names_bring_in_numpy_and_nothing_else_that_is_heavy():
    heavy = ("matplotlib", "geopandas", "shapely", "pandas", "pyarrow", "pyproj", "scipy", "click", "tqdm")
    code = f"import sys\nfrom spatialdp import *\nprint([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_names_for_type_checkers_are_the_names_there_are():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert {alias.asname for node in block.body for alias in node.names} == set(spatialdp._HOMES)
    assert set(dir(spatialdp)) == set(spatialdp.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = spatialdp.nonsense


def test_public_names_are_there_and_documented():
    for name in spatialdp.__all__:
        thing = getattr(spatialdp, name)
        assert name.startswith("__") or (thing.__doc__ or "").strip(), name


def test_functions_and_modules_stay_readable():
    for path in MODULES:
        assert len(path.read_text().splitlines()) <= 500, path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert length <= 60, f"{path.name}:{node.name}"


def test_suite_is_not_empty(request):
    # A broken import must not silently empty the suite.
    collected = request.session.items
    if len({item.path for item in collected}) > 5:
        assert len(collected) > 200


LOUD = {"print", "warn", "debug", "info", "warning", "critical", "exception"}


def test_only_the_command_line_speaks():
    """What is printed, warned of or logged elsewhere would have to be argued about, line by line."""
    loud = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if "cli" not in path.relative_to(PACKAGE).parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in LOUD
    ]
    assert not loud


@pytest.mark.parametrize("path", sorted((PACKAGE / "records").glob("*.py")), ids=lambda path: path.stem)
def test_errors_about_records_bring_no_other_error_along(path):
    """A reader's error quotes records; raised while it is handled, ours would carry it in its context."""
    tree = ast.parse(path.read_text())
    raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    assert not [node.lineno for node in raised if node.cause is not None and ast.unparse(node.cause) != "None"]
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    handled = [node for handler in handlers for node in ast.walk(handler) if isinstance(node, ast.Raise)]
    assert not [node.lineno for node in handled if isinstance(node.exc, ast.Call) and node.cause is None]
