"""Which methods are there, and which parameters do they have? `spatialdp methods` lists them.

Names, summaries and parameters come from the registry and the docstrings of the mechanisms.
"""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("methods")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    r"""List the methods, or show the parameters of one method.

    \b
    Examples:
      spatialdp methods
      spatialdp methods quadtree
    """
    from spatialdp.cli.parameters import find_method, methods, parameters_of, summary

    formatter = click.HelpFormatter(max_width=100)
    if name is None:
        formatter.write_dl([(each, summary(method)) for each, method in methods().items()])
    else:
        method = find_method(name)
        formatter.write_text(summary(method))
        formatter.write_paragraph()
        rows = [parameter.option().get_help_record(click.Context(command)) for parameter in parameters_of(method)]
        formatter.write_dl([row for row in rows if row is not None])
    click.echo(formatter.getvalue(), nl=False)
