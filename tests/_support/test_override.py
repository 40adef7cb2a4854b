"""Every method that is marked as overriding has a method to override, and its base class says what it does."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

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
    """Whether a class has the method and says what it does, or comes from a library, which has its own pages."""
    if method not in vars(base):
        return False
    return not base.__module__.startswith("spatialdp") or bool((inspect.getdoc(vars(base)[method]) or "").strip())


def test_marked_methods_override_something_that_is_described():
    marked = list(marked_methods())
    assert marked
    kinds = {(module, name): getattr(importlib.import_module(module), name) for module, name, _ in marked}
    assert not [
        f"{module}.{name}.{method}"
        for module, name, method in marked
        if not any(described(base, method) for base in kinds[module, name].__mro__[1:])
    ]


def test_the_mark_changes_nothing():
    def method():
        return 1

    assert override(method) is method
