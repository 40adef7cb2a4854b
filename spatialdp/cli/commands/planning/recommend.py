"""Which method has the least error to expect? `spatialdp recommend` ranks methods before a record is read.

The command has no argument for points, and must never get one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.domain import domain_options
from spatialdp.cli.options.terms import TermsOptions, terms_options
from spatialdp.cli.options.values import Numbers

if TYPE_CHECKING:
    from spatialdp.planning.recommend import Recommendation
    from spatialdp.space.domain import Domain

__all__ = ["boxes_option", "command", "read_queries", "records_option"]

boxes_option = click.option(
    "--boxes",
    type=click.Path(path_type=Path),
    help="File of the boxes that matter: CSV or Parquet with the columns xmin, ymin, xmax and ymax. By default any box "
    "of the domain matters.",
)

records_option = click.option(
    "--records",
    type=float,
    help="Public guess of the number of records, such as 100000; with --person, of what is counted. It must not come "
    "from the records. A wrong guess costs accuracy, never privacy.",
)
NOT_RANKED = (
    "The adaptive tree, which `spatialdp release` uses by default, is not ranked: its error depends on the\n"
    "number of records. Give --records NUMBER, a public guess, to rank it too, and to get the best size of cells."
)


def read_queries(boxes: Path | None) -> tuple[Any, str]:
    """Return the boxes in a file and words for them; without a file, None, which stands for any box."""
    if boxes is None:
        return None, "any box of the domain"
    from spatialdp.space.public_files import read_boxes

    queries = read_boxes(boxes)
    return queries, f"the {len(queries):,} boxes in {boxes}"


@click.command("recommend")
@domain_options
@terms_options
@click.option(
    "--shape",
    type=Numbers("NX", "NY"),
    help="Number of columns and rows that the release should have.  [default: 256,256; with --records, the best for "
    "each method]",
)
@records_option
@boxes_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(
    domain: Domain,
    terms: TermsOptions,
    shape: tuple[float, float] | None,
    records: float | None,
    boxes: Path | None,
    as_json: bool,
) -> None:
    r"""Rank methods by their expected error. No points are read.

    The best method comes first. Without --records, the error is that of the noise; the error from records that are not
    evenly spread within cells is added to it and depends on the records. With --records, a public guess of their
    number, both errors are predicted together, as on typical maps, and the adaptive tree is ranked too. Kd-trees are
    not ranked. With --delta, Gaussian noise is considered as well.

    \b
    Examples:
      spatialdp recommend --bounds 0,0,100,100 --epsilon 0.5 --records 100000
      spatialdp recommend --bounds 0,0,100,100 --epsilon 0.5 --shape 128,128
      spatialdp recommend --region county.geojson --epsilon 1 --boxes boxes.csv --json
    """
    from spatialdp.planning.recommend import recommend

    sides = shape and [int(side) if side.is_integer() else side for side in shape]  # fractions are refused
    queries, words = read_queries(boxes)
    ranked = recommend(domain, workload=queries, shape=sides, records=records, **terms.options)  # type: ignore[arg-type]
    if as_json:
        facts = _json(ranked, terms, words, boxes)
        click.echo(json.dumps({**facts, "records": records}, indent=2, ensure_ascii=False))
    else:
        counted = "" if terms.person is None else f"{terms.person.counted} in "
        head = f"Root-mean-square error {'from noise ' if records is None else ''}in the count of {counted}{words}"
        end = NOT_RANKED if records is None else f"Assumed: {ranked[0].assumed}."
        click.echo(f"{head}:\n\n{_table(ranked, terms, boxes)}\n\n{end}")


def _options(recommendation: Recommendation, terms: TermsOptions, boxes: Path | None) -> str:
    """Return the options of a release as recommended; only Gaussian noise takes the δ."""
    from spatialdp.cli.parameters import options_of

    return f"{options_of(recommendation.mechanism, boxes)} {terms.typed(recommendation.mechanism.law)}"


def _json(ranked: list[Recommendation], terms: TermsOptions, words: str, boxes: Path | None) -> dict[str, Any]:
    from spatialdp._support.json_values import with_exact

    recommendations = [
        {
            "mechanism": each.mechanism.name,
            "parameters": each.mechanism.parameters(),
            "error": each.error,
            "options": _options(each, terms, boxes),
        }
        for each in ranked
    ]
    return {
        **with_exact({"epsilon": terms.epsilon, "delta": terms.delta}),
        "neighbours": terms.neighbours,
        "person": None if terms.person is None else terms.person.to_json(),
        "queries": words,
        "assumed": ranked[0].assumed,
        "recommendations": recommendations,
    }


def _table(ranked: list[Recommendation], terms: TermsOptions, boxes: Path | None) -> str:
    errors = [f"{each.error:,.4g}" for each in ranked]
    width = max(map(len, ("error", *errors)))
    lines = [f"{error:>{width}}  {_options(each, terms, boxes)}" for error, each in zip(errors, ranked, strict=True)]
    return "\n".join([f"{'error':>{width}}  options of the release", *lines])
