"""Every method that is marked as overriding has a method to override, and its base class says what it does."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import spatialdp
from spatialdp._support.override import override

PACKAGE = Path(spatialdp.__file__).parent


def marked_methods():
    """(module, class, method) of every method with the mark, found in the source."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(("spatialdp", *path.relative_to(PACKAGE).with_suffix("").parts))
        for kind in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)):
            for method in (node for node in kind.body if isinstance(node, ast.FunctionDef)):
                if any(isinstance(mark, ast.Name) and mark.id == "override" for mark in method.decorator_list):
                    yield module, kind.name, method.name


def described(base, method):
    return (inspect.getdoc(vars(base)[method]) or "").strip() if method in vars(base) else ""


@pytest.mark.parametrize(("module", "name", "method"), list(marked_methods()))
def test_marked_methods_override_something_that_is_described(module, name, method):
    kind = getattr(importlib.import_module(module), name)
    assert any(described(base, method) for base in kind.__mro__[1:])


def test_there_are_marked_methods():
    assert next(marked_methods(), None) is not None


def test_the_mark_changes_nothing():
    def method():
        return 1

    assert override(method) is method
