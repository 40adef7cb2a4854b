"""How is a map published without choosing a method? By `publish`: an adaptive tree, with everything else by default.

It must not choose by looking at the records: what it chooses is public.
"""

from __future__ import annotations

from typing import Any

from spatialdp.mechanisms.adaptive.adaptive_tree import Adaptive
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise
from spatialdp.release import Release
from spatialdp.space.domain import Domain

__all__ = ["publish"]


def publish(
    points: Any,
    domain: Domain,
    epsilon: Number,
    *,
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
    noise: Noise | None = None,
) -> Release:
    """Publish points under differential privacy by the method that is best for most data: `Adaptive`.

    Parameters
    ----------
    points, domain, epsilon, neighbours, noise
        As for `Adaptive.release`.
    delta : optional
        If it is not 0, noise is Gaussian.

    Returns
    -------
    Release

    Privacy
    -------
    That of `Adaptive`: the release is (ε, δ)-private for records that are added, removed or replaced. The method and
    its grid are chosen without looking at the records.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> homes = [[0.2, 0.3]] * 40 + [[0.7, 0.8]] * 60
    >>> sdp.publish(homes, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    <Release of ... cells: ε = 1 (add-remove one record), adaptive, spatialdp ...>
    """
    law = Law.GAUSSIAN if exact(delta, "delta") else Law.DISCRETE_LAPLACE
    mechanism = Adaptive(law=law)
    return mechanism.release(points, domain, epsilon=epsilon, delta=delta, neighbours=neighbours, noise=noise)
