"""Who may import whom. The tables below are the whole rule.

Imports go down: a part may import parts of the lines above its own in `LINES` (which lists the lowest line first), and
parts on one line do not know each other. Records are seen by an allow-list of parts; whoever is not named there is
blind, and because imports only go down, cannot reach records through others either. Imports for type checkers do not
count.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import spatialdp

PACKAGE = Path(spatialdp.__file__).parent

# For each package, its parts from the lowest line up.
LINES: dict[str, list[set[str]]] = {
    "spatialdp": [
        {"wording", "_version"},
        {"errors"},
        {"_support"},
        {"trees", "privacy"},
        {"space"},
        {"records", "transforms", "workload"},
        {"strategies", "estimates", "datasets"},
        {"structures"},
        {"release"},
        {"zone_release", "table_release", "running_release", "flows", "clusters"},
        {"networks", "trajectories"},
        {"mechanisms", "outputs"},
        {"planning"},
        {"evaluation", "curator", "contrast"},
        {"cli"},
    ],
    "spatialdp.privacy": [
        {"budget", "neighbours", "odds"},
        {"accounting", "chosen"},
        {"unit", "receipt"},
        {"noise"},
        {"statement"},
        {"ledger"},
        {"payment", "certified"},
    ],
    "spatialdp.mechanisms": [
        {"plan", "bound_choice"},
        {"prepared"},
        {"base"},
        {"recipe", "level_budgets", "stopping"},
        {"tree_mechanism"},
        {"fixed", "adaptive", "running"},
        {"combined"},
        {"publish"},
    ],
    "spatialdp.planning": [{"queries", "typical_map"}, {"recommend", "epsilon_for"}],
    "spatialdp.contrast": [
        {"mark"},
        {"identifiers"},
        {"taxonomies"},
        {"checks"},
        {"groups"},
        {"mondrian", "incognito"},
        {"attacks"},
        {"study"},
        {"comparison"},
        {"figures"},
    ],
    "spatialdp.outputs": [{"zones", "tables"}, {"files", "maps"}, {"explorer", "certificate"}],
}
SEE_RECORDS = {"records", "datasets", "mechanisms", "evaluation", "curator", "contrast", "cli"}
HOLD_RECORDS = {"records", "datasets"}
# A façade may import upwards, into this part, inside its methods.
FACADES = {
    (f"spatialdp.{release}", "spatialdp.outputs")
    for release in ("release", "zone_release", "table_release", "running_release", "flows", "trajectories", "networks")
}
# Releases of every kind share the method that writes their certificate.
FACADES |= {("spatialdp.privacy.certified", "spatialdp.outputs")}
# A ledger reads the statements of releases that are given to `Ledger.check` as files; nothing else of privacy may.
FACADES |= {("spatialdp.privacy.ledger.ledger", "spatialdp.outputs")}
# Modules that re-export: they gather what lies below or beside them.
GATHERING = {"spatialdp", "spatialdp.mechanisms", "spatialdp.contrast", "spatialdp.cli"}
DRAWS_BITS = "spatialdp.privacy.noise.source"
SPEAKS = "spatialdp.cli"
# How many times a module warns. The one warning is about public boxes and polygons outside the public domain.
WARNINGS = {"spatialdp.space.questions": 1}


@dataclass(frozen=True)
class Import:
    """One module that another one imports; `inside` a function or not."""

    importer: str
    imported: str
    inside: bool


def module_name(path: Path, root: Path = PACKAGE) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(importer: str, source: str) -> Iterator[Import]:
    """All imports of the package's own modules that run, wherever they stand."""
    for node, inside in _statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (Import(importer, name, inside) for name in names if name.split(".")[0] == "spatialdp")


def _statements(block: ast.AST, inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All statements of a block but those for types, and whether they stand in a function."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not _is_for_types(node):
            within = inside or isinstance(node, ast.FunctionDef)
            yield node, within
            yield from _statements(node, within)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def line_of(package: str, part: str) -> int | None:
    return next((number for number, line in enumerate(LINES[package]) if part in line), None)


def violations(imports: list[Import]) -> list[str]:
    """Every import that breaks a table, in words."""
    found = []
    for each in imports:
        for package in LINES:
            importer, imported = (_part(package, name) for name in (each.importer, each.imported))
            if importer is None or imported is None or importer == imported or each.importer in GATHERING:
                continue
            allowed = {(name, f"{package}.{imported}") for name in (f"{package}.{importer}", each.importer)}
            facade = allowed & FACADES and each.inside
            if not facade and not (line_of(package, imported) or 0) < (line_of(package, importer) or 0):
                found.append(f"{each.importer} imports {each.imported}, which is not below it")
        importer, imported = (_part("spatialdp", name) for name in (each.importer, each.imported))
        if imported in HOLD_RECORDS and importer not in SEE_RECORDS and each.importer not in GATHERING:
            found.append(f"{each.importer} imports {each.imported} but may not see records")
    return found


def _part(package: str, module: str) -> str | None:
    """The part of a package that a module belongs to; None if it lies outside."""
    if not module.startswith(f"{package}."):
        return None
    return module.removeprefix(f"{package}.").split(".")[0]


@cache
def all_imports() -> list[Import]:
    return [each for name, path in MODULES.items() for each in imports_of(name, path.read_text())]


@pytest.mark.parametrize("package", LINES)
def test_every_part_of_a_package_has_its_line(package):
    folder = MODULES[package].parent
    parts = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert parts - {"__init__"} == set().union(*LINES[package])


def test_imports_go_down_and_blind_parts_see_no_records():
    assert not violations(all_imports())


def test_nobody_imports_anothers_private_names():
    private = [f"{each.importer}: {each.imported}" for each in all_imports() if each.imported.split(".")[-1][:1] == "_"]
    assert [name for name in private if not name.endswith(("__version__", "_version"))] == []


@pytest.mark.parametrize(
    ("importer", "source", "complaint"),
    [
        ("spatialdp.space.boxes.tree", "from spatialdp.release import Release", "not below it"),
        ("spatialdp.records.points", "from spatialdp.transforms.axis import AxisWeights", "not below it"),
        ("spatialdp.trees.shape", "from spatialdp.space.boxes.tree import Tree", "not below it"),
        ("spatialdp.privacy.budget", "import spatialdp.privacy.statement", "not below it"),
        ("spatialdp.mechanisms.fixed.flat", "from spatialdp.mechanisms.adaptive import lines", "not below it"),
        ("spatialdp.outputs.maps.plot", "def f():\n    from spatialdp.outputs.explorer import page", "not below it"),
        ("spatialdp.release", "from spatialdp.outputs.maps.plot import plot", "not below it"),
        ("spatialdp.privacy.ledger.ledger", "from spatialdp.outputs.files.geoparquet import load", "not below it"),
        ("spatialdp.privacy.ledger.books", "def f():\n    from spatialdp.outputs.files import save", "not below it"),
        ("spatialdp.outputs.files.save", "from spatialdp.contrast.groups import Groups", "not below it"),
        ("spatialdp.evaluation.trials", "def f():\n    from spatialdp import contrast", "not below it"),
        ("spatialdp.outputs.files.save", "from spatialdp.records.points import Points", "may not see records"),
        ("spatialdp.release", "def f():\n    from spatialdp.records import truth", "may not see records"),
        ("spatialdp.planning", "from spatialdp import datasets", "may not see records"),
        ("spatialdp.something_new", "from spatialdp.records import points", "may not see records"),
    ],
)
def test_planted_violations_are_caught(importer, source, complaint):
    assert any(complaint in words for words in violations(list(imports_of(importer, source))))


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("spatialdp.release", "def f():\n    from spatialdp.outputs.maps.plot import plot"),
        ("spatialdp.space.boxes.tree", "if TYPE_CHECKING:\n    from spatialdp.release import Release"),
        ("spatialdp.evaluation.trials", "from spatialdp.records.truth import Counter"),
    ],
)
def test_what_is_allowed_is_not_complained_of(importer, source):
    assert not violations(list(imports_of(importer, source)))


def test_a_part_without_a_line_is_noticed():
    assert line_of("spatialdp", "something_new") is None


BITS = {"random", "secrets", "numpy.random", "os.urandom", "uuid"}


def random_bits(source: str) -> list[int]:
    """Lines that draw random bits, or could."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
        named = isinstance(node, ast.Attribute) and node.attr in {"random", "urandom", "default_rng"}
        named |= isinstance(node, ast.Name) and node.id in {"urandom", "default_rng"}
        if named or BITS & set(names):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("name", MODULES)
def test_only_one_module_draws_random_bits(name):
    if name != DRAWS_BITS:
        text = MODULES[name].read_text()
        assert not random_bits(text)
        assert "urandom" not in text
        assert "default_rng" not in text


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from os import urandom",
        "numpy.random.default_rng(1)",
        "import secrets",
        "uuid4 = 1\nimport uuid",
    ],
)
def test_planted_random_bits_are_caught(source):
    assert random_bits(source)


LOUD = {"print", "warn", "debug", "info", "warning", "critical", "exception"}


def loud_calls(source: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in LOUD
    ]


@pytest.mark.parametrize("name", MODULES)
def test_only_the_command_line_speaks(name):
    """What is printed, warned of or logged elsewhere would have to be argued about, line by line."""
    if not name.startswith(SPEAKS):
        assert len(loud_calls(MODULES[name].read_text())) == WARNINGS.get(name, 0)


def test_planted_words_are_caught():
    assert loud_calls("import warnings\nwarnings.warn('3 records')")


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("spatialdp.records")])
def test_errors_about_records_bring_no_other_error_along(name):
    """A reader's error quotes records; one raised while it is handled has it in its context, even `from None`."""
    tree = ast.parse(MODULES[name].read_text())
    raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    assert not [node.lineno for node in raised if node.cause is not None and ast.unparse(node.cause) != "None"]
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    handled = [node for handler in handlers for node in ast.walk(handler) if isinstance(node, ast.Raise)]
    assert not [node.lineno for node in handled]


@pytest.mark.parametrize("name", MODULES)
def test_only_one_module_writes_files(name):
    if name != "spatialdp._support.atomic":
        writes = [
            node.lineno
            for node in ast.walk(ast.parse(MODULES[name].read_text()))
            if isinstance(node, ast.Attribute)
            and node.attr in {"write_bytes", "write_text"}
            and ast.unparse(node.value) != "formatter"  # click's, which writes help
        ]
        assert not writes


ENGINES = {"ibis", "duckdb", "psycopg", "pyspark", "sqlglot"}
# Who imports them: what reads tables of records, and where a ledger may be kept.
IMPORTS_ENGINES = {"spatialdp.records.engines": ENGINES, "spatialdp.privacy.ledger.stores.postgres": {"psycopg"}}


def engine_imports(source: str) -> list[tuple[str, bool]]:
    """The engines that a module imports, and whether it does so inside a function."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    found = []
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [(name.split(".")[0], id(node) in inside) for name in names if name.split(".")[0] in ENGINES]
    return found


@pytest.mark.parametrize("name", MODULES)
def test_engines_are_imported_where_they_may_be_and_when_they_are_used(name):
    found = engine_imports(MODULES[name].read_text())
    allowed = set().union(*(engines for importer, engines in IMPORTS_ENGINES.items() if name.startswith(importer)))
    assert {engine for engine, _ in found} <= allowed
    assert all(inside for _, inside in found)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import ibis", [("ibis", False)]),
        ("from duckdb.typing import DOUBLE", [("duckdb", False)]),
        ("def f():\n    from ibis.expr import operations", [("ibis", True)]),
        ("import numpy", []),
    ],
)
def test_planted_imports_of_engines_are_caught(source, found):
    assert engine_imports(source) == found


HEAVY = (
    "matplotlib",
    "geopandas",
    "shapely",
    "pandas",
    "pyarrow",
    "pyproj",
    "scipy",
    "click",
    "tqdm",
    "ibis",
    "duckdb",
)


def loaded_by(statement: str, modules: tuple[str, ...]) -> str:
    code = f"import sys\n{statement}\nprint([name for name in {modules} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_is_light():
    assert loaded_by("import spatialdp", ("numpy", *HEAVY)) == "[]"


def test_names_bring_in_numpy_and_nothing_else_that_is_heavy():
    assert loaded_by("from spatialdp import *", HEAVY) == "[]"
