"""Which names do mechanisms have in results, and which baselines are always added? `labelled` and `with_baselines`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from typing import Any

from spatialdp._support.options import defaults_of
from spatialdp.errors import ParameterError
from spatialdp.evaluation.functions import Function, as_mechanism
from spatialdp.mechanisms import Flat, Mechanism, Uniform
from spatialdp.space.domain import Domain
from spatialdp.wording import either

__all__ = ["Mechanisms", "labelled", "with_baselines"]

BASELINE_SHAPE = (256, 256)

Comparable = Mechanism | Function
Mechanisms = Comparable | Sequence[Comparable] | Mapping[str, Comparable]


def labelled(mechanisms: Mechanisms) -> dict[str, Mechanism]:
    """Return mechanisms by label; functions become mechanisms.

    Without given labels, a label is the name, with parameters if names repeat.

    Examples
    --------
    >>> list(labelled([Flat((8, 8)), Flat((4, 4)), Uniform()]))
    ['flat(shape=(8, 8))', 'flat(shape=(4, 4))', 'uniform']
    """
    if isinstance(mechanisms, Mapping):
        found = {str(label): as_mechanism(each) for label, each in mechanisms.items()}
    else:
        given: Any = [mechanisms] if isinstance(mechanisms, Mechanism) or callable(mechanisms) else mechanisms
        listed = [as_mechanism(each) for each in given]
        names = [mechanism.name for mechanism in listed]
        found = {
            name if names.count(name) == 1 else _described(mechanism): mechanism
            for name, mechanism in zip(names, listed, strict=True)
        }
        if len(found) < len(listed):
            raise ParameterError(
                "a mechanism is given twice; mechanisms need different labels. Leave one out, or give labels: "
                "{label: mechanism, ...}."
            )
    return found


def _described(mechanism: Mechanism) -> str:
    """Return the name of a mechanism and those of its parameters that differ from the defaults."""
    default = defaults_of(mechanism)
    parameters = mechanism.parameters().items()
    differing = [f"{name}={value}" for name, value in parameters if str(value) != str(default.get(name, MISSING))]
    return f"{mechanism.name}({', '.join(differing)})"


def with_baselines(mechanisms: dict[str, Mechanism], domain: Domain) -> dict[str, Mechanism]:
    """Return mechanisms with those that all are compared with: `Uniform` and `Flat`, if they are missing."""
    kinds = {type(mechanism) for mechanism in mechanisms.values()}
    added: dict[str, Mechanism] = {}
    if Uniform not in kinds:
        added["uniform"] = Uniform()
    if Flat not in kinds:
        # The grid of a uniform release serves only to approximate the region, so the baseline does not take it.
        grids = (each.leaf_grid(domain) for each in mechanisms.values() if not isinstance(each, Uniform))
        added["flat"] = Flat(next((grid.shape for grid in grids if grid is not None), BASELINE_SHAPE))
    clash = set(added) & set(mechanisms)
    if clash:
        raise ParameterError(
            f"the label {clash.pop()!r} is the label of a baseline; give your mechanism another label"
            f"{either('', ', as in -m LABEL=NAME:PARAMETER=VALUE')}."
        )
    return mechanisms | added
