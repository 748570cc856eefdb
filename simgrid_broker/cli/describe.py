"""`describe`: keys of a scenario, tables, rules and statuses."""

from typing import Annotated

import typer

from simgrid_broker.cli.text import Section, Topic, paragraph, table
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import nearest

EXAMPLES = """\b
Examples:
  simgrid-broker describe
  simgrid-broker describe scenario
  simgrid-broker describe queues
  simgrid-broker describe rules
  simgrid-broker describe states task
"""


def completed(start: str) -> list[str]:
    """Topics that begin with `start`, for shell completion."""
    from simgrid_broker.cli.reference import topics
    return [name for name in topics() if name.startswith(start)]


def describe(topic: Annotated[str | None, typer.Argument(
        metavar="[TOPIC]", help="A part of a scenario, a table, `rules` or `states`; default: list the topics.",
        autocompletion=completed, show_default=False)] = None, part: Annotated[str | None, typer.Argument(
        metavar="[PART]", help="Of `states`: task, dataset, file or job; default: all.", show_default=False)] = None,
        ) -> None:
    """Describe keys of a scenario, tables, rules and statuses.

    Names, types, units, defaults, sources and meanings, from the definitions that the program uses.
    """
    from simgrid_broker.cli.reference import topics
    by_name = topics()
    if topic is None:
        typer.echo(table(("topic", "where"), [(each.name, each.about) for each in by_name.values()]))
        typer.echo("\nDetails: simgrid-broker describe TOPIC. Keys of gdpconfig: simgrid-broker gdpconfig.")
        return
    if topic not in by_name:
        raise BadArgument(topic, None, "unknown topic; `simgrid-broker describe` lists the topics",
                          nearest(topic, by_name))
    for section in parts_of(by_name[topic], part):
        typer.echo(f"{section.title}\n{paragraph(section.about)}\n")
        typer.echo(table(section.head, section.rows) + "\n")


def parts_of(topic: Topic, part: str | None) -> list[Section]:
    """The sections of a topic, or of one `part`; raises BadArgument for an unknown part."""
    sections = topic.sections()
    names = list(dict.fromkeys(section.key for section in sections if section.key))
    if part is not None and part not in names:
        expected = f"expected {', '.join(names)}" if names else "this topic has no parts"
        raise BadArgument(f"{topic.name} {part}", None, expected, nearest(part, names))
    return [section for section in sections if part in (None, section.key)]
