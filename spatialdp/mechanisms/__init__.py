"""Mechanisms, one file each, and the registry that the command line and the evaluator read."""

from spatialdp.mechanisms.base import Mechanism, Plan
from spatialdp.mechanisms.flat import Flat

__all__ = ["MECHANISMS", "Flat", "Mechanism", "Plan"]

MECHANISMS: dict[str, type[Mechanism]] = {mechanism.name: mechanism for mechanism in (Flat,)}
