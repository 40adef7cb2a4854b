"""What tests of the curator share: accounts in temporary ledgers, and a source that does not draw."""

from __future__ import annotations

from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.privacy.ledger.cost import NOTHING
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.noise.wide import Wide

DOMAIN = sdp.Domain((0, 0, 8, 8))


def opened(folder: Any, **terms: Any) -> sdp.Account:
    """Open an account in a new ledger; with ε = 2 if nothing else is said."""
    return sdp.Ledger(folder / "privacy.ledger").open("crashes", **({"epsilon": 2} | terms))


def rehearsing(records: Any, seed: int = 1, **terms: Any) -> sdp.Curator:
    """A curator of records in a domain of 8 by 8, with seeded noise."""
    return sdp.Curator.rehearsal(records, terms.pop("domain", DOMAIN), noise=SeededNoise(seed), **terms)


class Mute(SeededNoise):
    """A source whose noise on counts and sums is 0, so that answers show what was measured."""

    def laplace(self, scale: Any, size: Any) -> Any:
        return np.zeros(size, dtype=np.int64)

    gaussian = laplace

    def wide_laplace(self, scale: Any, size: Any) -> Any:
        return Wide.shifted(np.zeros(size, dtype=np.int64))

    wide_gaussian = wide_laplace


def exactly(records: Any, **terms: Any) -> sdp.Curator:
    """A curator whose counts and sums have no noise."""
    return sdp.Curator.rehearsal(records, terms.pop("domain", DOMAIN), noise=Mute(1), **terms)


def nothing_spent(account: sdp.Account) -> bool:
    """Whether an account is as it was opened."""
    return account.spent == NOTHING and len(account.entries) == 1
