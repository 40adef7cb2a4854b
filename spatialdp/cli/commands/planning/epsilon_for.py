"""Which ε does a given accuracy need? `spatialdp epsilon-for` finds the least one before a record is read.

The command has no argument for points, and must never get one.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.commands.planning.recommend import boxes_option, read_queries, records_option
from spatialdp.cli.options.domain import domain_options
from spatialdp.cli.options.method import MethodCommand
from spatialdp.cli.options.terms import delta_option, neighbours_option, person_option

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism
    from spatialdp.privacy.unit import Person
    from spatialdp.space.domain import Domain

__all__ = ["command"]


@click.command("epsilon-for", cls=MethodCommand)
@domain_options
@click.option("--error", type=float, required=True, help="Root-mean-square error that is acceptable, in counts.")
@records_option
@boxes_option
@delta_option
@neighbours_option
@person_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(
    domain: Domain,
    error: float,
    records: float | None,
    boxes: Path | None,
    delta: Fraction,
    neighbours: str,
    person: Person | None,
    mechanism: Mechanism,
    as_json: bool,
) -> None:
    r"""Find the least ε for an accuracy. No points are read.

    Without --records, the error is that of the noise; the error from records that are not evenly spread within cells is
    added to it and depends on the records. With --records, a public guess of their number, both errors are predicted
    together, as on typical maps; adaptive trees need it. ε is rounded up to three digits.

    \b
    Examples:
      spatialdp epsilon-for --bounds 0,0,100,100 --method adaptive --records 100000 --error 100
      spatialdp epsilon-for --bounds 0,0,100,100 --method quadtree --height 7 --error 100
      spatialdp epsilon-for --bounds 0,0,9,6 --method flat --shape 90,60 --error 20 --boxes boxes.csv --json
    """
    from spatialdp._support.json_values import with_exact
    from spatialdp.cli.parameters import INPUTS, options_of
    from spatialdp.planning.epsilon_for import epsilon_for
    from spatialdp.planning.typical_map import NOISE_ALONE, assumption

    queries, words = read_queries(boxes)
    terms: dict[str, Any] = {"records": records, "delta": delta, "neighbours": neighbours, "person": person}
    epsilon = Fraction(repr(epsilon_for(mechanism, domain, queries, error=error, **terms)))
    assumed = NOISE_ALONE if records is None else assumption(records, person)
    facts = {
        "mechanism": mechanism.name,
        "parameters": mechanism.parameters(),
        "queries": words,
        "error": error,
        "records": records,
        "assumed": assumed,
        **with_exact({"epsilon": epsilon, "delta": delta}),
        "neighbours": neighbours,
        "person": None if person is None else person.to_json(),
    }
    rows = {
        "options": options_of(mechanism, click.get_current_context().meta.get(INPUTS, [None])[-1]),
        "error": f"at most {error:,g} (root mean square{', from noise' if records is None else ''}), for {words}",
        **({} if person is None else {"person": person.in_short()}),
        **({} if records is None else {"assumed": assumed}),
        "ε": f"{float(epsilon):g}",
    }
    text = "\n".join(f"{name:9} {value}" for name, value in rows.items())
    click.echo(json.dumps(facts, indent=2, ensure_ascii=False) if as_json else text)
