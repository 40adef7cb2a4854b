"""Which price brings in most? The exponential mechanism among prices, and what else one could do for the same ε.

Everybody has bid what a good is worth to them, and whoever bid at least the price pays the price. The best single price
depends on the bids, and may give one of them away. McSherry and Talwar drew it by the exponential mechanism, with the
revenue of a price as its score. Revenue is the price times a count, so `Curator.choose` draws it: the region of a price
is where all bids of at least that price are, and its weight is the price.

The table compares, by the revenue relative to that of the best price: the draw of the paper's theorem (scores that may
move both ways, exponential mechanism), the same with the rule for scores that move one way, permute-and-flip with that
rule (the default), and the best price according to a noisy histogram of the bids, which answers other questions, too.
Bids are made up, from a log-normal law between 1 and 1000, and all of them have a place on a line of prices. Prices are
1, 2, ..., 1000. Noise has seeds; nothing here is private.

Run it as ``python scripts/pricing.py --output figures``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import spatialdp as sdp
from spatialdp._support.arrays import Floats
from spatialdp._support.tables import markdown
from spatialdp.privacy.noise.selection import exponential

HIGHEST = 1000
PRICES = np.arange(1, HIGHEST + 1)
DOMAIN = sdp.Domain((0, 0, HIGHEST + 1, 1))


def made_up_bids(number: int, seed: int) -> Floats:
    """Return bids between 1 and 1000, most of them low."""
    bids = np.random.default_rng(seed).lognormal(4, 1, number)
    return np.clip(np.round(bids), 1, HIGHEST)


def revenues(bids: Floats) -> Floats:
    """Return what each price brings in.

    Examples
    --------
    >>> revenues(np.array([2.0, 2.0, 5.0]))[:6].tolist()
    [3.0, 6.0, 3.0, 4.0, 5.0, 0.0]
    """
    return np.asarray(PRICES * (bids[:, None] >= PRICES).sum(axis=0), dtype=np.float64)


def regions() -> Floats:
    """Return, for each price, the box in which bids of at least that price are."""
    low, ones = PRICES - 0.5, np.ones(HIGHEST)
    return np.stack([low, 0 * ones, (HIGHEST + 1) * ones, ones], axis=1)


def ways(bids: Floats, epsilon: Fraction) -> dict[str, Callable[[int], int]]:
    """Return, by name, functions that find a price with the noise of a seed."""
    places, boxes = np.column_stack([bids, np.full(bids.size, 0.5)]), regions()
    scores = revenues(bids).astype(int).tolist()

    def curator(seed: int) -> sdp.Curator:
        return sdp.Curator.rehearsal(places, DOMAIN, noise=sdp.SeededNoise(seed))

    def general(seed: int) -> int:
        return int(PRICES[exponential(scores, epsilon, Fraction(HIGHEST), sdp.SeededNoise(seed))])

    def chosen(selection: str) -> Callable[[int], int]:
        return lambda seed: int(
            PRICES[curator(seed).choose(boxes, PRICES, epsilon=epsilon, selection=selection).values]
        )

    def from_histogram(seed: int) -> int:
        release = sdp.Hierarchy((1024, 1)).release(
            places, sdp.Domain((0, 0, 1024, 1)), epsilon=epsilon, noise=sdp.SeededNoise(seed)
        )
        tops = boxes.copy()
        tops[:, 2] = 1024
        tops[:, 0] = PRICES
        return int(PRICES[np.argmax(PRICES * release.answer(tops))])

    return {
        "exponential mechanism, two-way rule": general,
        "exponential mechanism, one-way rule": chosen("exponential"),
        "`choose` (permute-and-flip)": chosen("permute-and-flip"),
        "noisy histogram": from_histogram,
    }


def rows_of(numbers: list[int], epsilons: list[Fraction], trials: int) -> Iterator[list[str]]:
    """The lines of the table."""
    for number in numbers:
        for epsilon in epsilons:
            shares: dict[str, list[float]] = {}
            for trial in range(trials):
                bids = made_up_bids(number, trial)
                revenue = revenues(bids)
                for way, find in ways(bids, epsilon).items():
                    shares.setdefault(way, []).append(revenue[find(trial) - 1] / revenue.max())
            means = [f"{100 * np.mean(each):.1f} %" for each in shares.values()]
            yield [f"{number:,}", f"{float(epsilon):g}", *means]


def main() -> None:
    """Find the prices, and write `pricing.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--bids", default="1000,10000")
    parser.add_argument("--epsilons", default="0.01,0.1,1")
    parser.add_argument("--trials", type=int, default=50)
    settings = parser.parse_args()
    numbers = [int(each) for each in settings.bids.split(",")]
    epsilons = [Fraction(each) for each in settings.epsilons.split(",")]
    header = ["bids", "ε", *ways(np.ones(1), Fraction(1))]
    table = markdown([header, *rows_of(numbers, epsilons, settings.trials)])
    note = (
        f"Revenue of the price that was found, relative to that of the best price; means of {settings.trials} runs, "
        "each with bids of its own. Seeded noise, not private."
    )
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "pricing.md").write_text(f"{table}\n\n{note}\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
