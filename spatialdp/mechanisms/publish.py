"""How is a map published without choosing a method? By `publish`: an adaptive tree, with everything else by default.

It must not choose by looking at the records: what it chooses is public.
"""

from __future__ import annotations

from typing import Any

from spatialdp.mechanisms.adaptive.adaptive_tree import Adaptive
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.ledger.account import Spender
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.unit import Person
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
    person: Person | None = None,
    noise: Noise | None = None,
    account: Spender | None = None,
) -> Release:
    """Publish points under differential privacy by the method that is best for most data: `Adaptive`.

    Parameters
    ----------
    points, domain, epsilon, neighbours, person, noise, account
        As for `Adaptive.release`.
    delta : optional
        If it is not 0, noise is Gaussian.

    Returns
    -------
    Release

    Privacy
    -------
    That of `Adaptive`: the release is (ε, δ)-private for records that are added, removed or replaced or, with `person`,
    for whole persons. The method and its grid are chosen without looking at the records.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> homes = [[0.2, 0.3]] * 40 + [[0.7, 0.8]] * 60
    >>> sdp.publish(homes, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    <Release of ... cells: ε = 1 (add-remove one record), adaptive, spatialdp ...>
    >>> visits = sdp.Points([0.2, 0.2, 0.7], [0.3, 0.3, 0.8], person=["ann", "ann", "bob"])
    >>> sdp.publish(visits, sdp.Domain((0, 0, 1, 1)), epsilon=1, person=sdp.Person(shares=True))
    <Release of ... cells: ε = 1 (add-remove one person, one share each), adaptive, spatialdp ...>
    """
    law = Law.GAUSSIAN if exact(delta, "delta") else Law.DISCRETE_LAPLACE
    mechanism = Adaptive(law=law)
    terms = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, "person": person}
    return mechanism.release(points, domain, noise=noise, account=account, **terms)  # type: ignore[arg-type]
