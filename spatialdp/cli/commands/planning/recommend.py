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
    from spatialdp.planning import Recommendation
    from spatialdp.space.domain import Domain

__all__ = ["boxes_option", "command", "read_queries"]

boxes_option = click.option(
    "--boxes",
    type=click.Path(path_type=Path),
    help="File of the boxes that matter: CSV or Parquet with the columns xmin, ymin, xmax and ymax. By default any box "
    "of the domain matters.",
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
    default="256,256",
    show_default=True,
    help="Number of columns and rows that the release should have.",
)
@boxes_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(domain: Domain, terms: TermsOptions, shape: tuple[float, float], boxes: Path | None, as_json: bool) -> None:
    r"""Rank methods by their expected error. No points are read.

    The best method comes first. The error is that of the noise; the error of records that are not evenly spread within
    cells comes on top and depends on the records. Methods whose cells depend on the records, such as kd-trees, are not
    ranked. With --delta, Gaussian noise is considered as well.

    \b
    Examples:
      spatialdp recommend --bounds 0,0,100,100 --epsilon 0.5 --shape 128,128
      spatialdp recommend --region county.geojson --epsilon 1 --boxes boxes.csv --json
    """
    from spatialdp.planning import recommend

    sides = [int(side) if side.is_integer() else side for side in shape]  # fractions are refused
    queries, words = read_queries(boxes)
    ranked = recommend(domain, workload=queries, shape=sides, **terms.options)  # type: ignore[arg-type]
    if as_json:
        click.echo(json.dumps(_json(ranked, terms, words, boxes), indent=2, ensure_ascii=False))
    else:
        click.echo(_table(ranked, terms, words, boxes))


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
        **with_exact("epsilon", terms.epsilon),
        **with_exact("delta", terms.delta),
        "neighbours": terms.neighbours,
        "queries": words,
        "recommendations": recommendations,
    }


def _table(ranked: list[Recommendation], terms: TermsOptions, words: str, boxes: Path | None) -> str:
    errors = [f"{each.error:,.4g}" for each in ranked]
    width = max(map(len, ("error", *errors)))
    lines = [f"{error:>{width}}  {_options(each, terms, boxes)}" for error, each in zip(errors, ranked, strict=True)]
    head = f"Root-mean-square error from noise in the count of {words}:"
    return "\n".join([head, "", f"{'error':>{width}}  options of the release", *lines])
