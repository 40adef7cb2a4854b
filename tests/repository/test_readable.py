"""The package stays easy to read: short modules and functions, small packages, a test for each, names that exist."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

import pytest

import spatialdp

PACKAGE = Path(spatialdp.__file__).parent
ROOT = PACKAGE.parent
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_MODULE = 500  # lines
LONGEST_FUNCTION = 40  # lines of its body, the docstring apart
MOST_MODULES = 10  # in one package

# Modules without a test file of their own path, and where they are tested instead.
TESTED_ELSEWHERE: dict[str, str] = {}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def body_lengths(path: Path) -> dict[str, int]:
    """Lines of the body of each function, without its docstring."""
    lengths = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lengths[f"{path.name}:{node.lineno} {node.name}"] = body[-1].end_lineno - body[0].lineno + 1 if body else 0
    return lengths


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_are_short(path):
    assert len(path.read_text().splitlines()) <= LONGEST_MODULE
    assert not [name for name, length in body_lengths(path).items() if length > LONGEST_FUNCTION]


def test_half_of_all_functions_have_a_handful_of_lines():
    lengths = [length for path in MODULES for length in body_lengths(path).values()]
    assert statistics.median(lengths) <= 5


def test_packages_are_small():
    folders = {path.parent for path in MODULES}
    sizes = {folder.name: len([p for p in folder.glob("*.py") if p.stem != "__init__"]) for folder in folders}
    assert not {name: size for name, size in sizes.items() if size > MOST_MODULES}


@pytest.mark.parametrize("path", [path for path in MODULES if path.stem not in ("__init__", "_version")], ids=name_of)
def test_each_module_has_a_test_of_its_path(path):
    name = name_of(path)
    folder = (ROOT / "tests" / name).parent
    own = folder / f"test_{path.stem.lstrip('_')}.py"
    elsewhere = TESTED_ELSEWHERE.get(name)
    assert own.exists() or (elsewhere is not None and (ROOT / elsewhere).exists()), own


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


# Turns of phrase that readers had to decode.
RIDDLES = re.compile(
    r"\bcan not\b|\bfor its sake\b|\bhow many-th\b|\bfare no\b|\bgive such as\b|\bis no mechanism\b"
    r"|\bfound out\b|\banswers for (?:privacy|the records|it)\b|\bhave at stake\b|\bhas at stake\b"
    r"|\bcomes? to lie\b|\bsay whose each\b|\bdrawn down\b"
)


@pytest.mark.parametrize(
    "path", [*MODULES, *sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"], ids=lambda path: path.name
)
def test_words_need_no_decoding(path):
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    assert not [f"{path.name}:{number}" for number, line in lines if RIDDLES.search(line)]


@pytest.mark.parametrize("path", ["ARCHITECTURE.md", *sorted(p.name for p in (ROOT / "docs" / "design").glob("*.md"))])
def test_paths_that_the_design_names_exist(path):
    """Such as `space/boxes/walk.py` or `tests/audit/`: relative to the repository, the package or one of its parts."""
    text = (ROOT / path if path == "ARCHITECTURE.md" else ROOT / "docs" / "design" / path).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text))
    places = [ROOT, PACKAGE, *(part for part in PACKAGE.iterdir() if part.is_dir())]
    assert not [name for name in named if not any((place / name).exists() for place in places)]


def test_the_citation_has_the_packages_version():
    (version,) = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version.strip("\"'") == spatialdp.__version__


def test_suite_is_not_empty(request):
    # A broken import must not silently empty the suite.
    collected = request.session.items
    if len({item.path for item in collected}) > 5:
        assert len(collected) > 200
