"""`describe`: what everything with a name is.

What lives here: the command. What does not: the reference itself (`reference`).
"""

from typing import Annotated

import typer

from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import Problem, nearest

EXAMPLES = """\b
Examples:
  simgrid-broker describe
  simgrid-broker describe scenario
  simgrid-broker describe queues
  simgrid-broker describe rules
"""


def completed(start: str) -> list[str]:
    """Topics that begin with `start`, for the shell."""
    from simgrid_broker.cli.reference import topics
    return [name for name in topics() if name.startswith(start)]


def describe(topic: Annotated[str | None, typer.Argument(
        metavar="[TOPIC]", help="A part of a scenario, a table, or `rules`; default: list what there is.",
        autocompletion=completed, show_default=False)] = None) -> None:
    """Describe keys of a scenario, tables and rules.

    Names, types, units, defaults, sources and meanings, as the program itself has them.
    """
    from simgrid_broker.cli.reference import topics
    known = topics()
    if topic is None:
        typer.echo(table(("topic", "where"), [(each.name, each.about) for each in known.values()]))
        typer.echo("\nsimgrid-broker describe TOPIC tells more; simgrid-broker gdpconfig lists the keys of gdpconfig.")
        return
    if topic not in known:
        raise BadArgument([Problem(None, None, topic, None, "there is no such topic; `simgrid-broker describe` lists "
                                   "them", nearest(topic, known))])
    for section in known[topic].sections():
        typer.echo(f"{section.title}\n{paragraph(section.about)}\n")
        typer.echo(table(section.head, section.rows) + "\n")
