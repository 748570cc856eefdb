"""`coverage`: which rules, causes of ends and agents a run has used, and why the others never acted."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import recorded_run
from simgrid_broker.cli.text import paragraph, table

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """\b
Examples:
  simgrid-broker coverage results/minimal/seed-1
  simgrid-broker coverage results/minimal/seed-1 --all
"""
NOTE = ("refused: candidates that the rule was the first to refuse; alone: decisions in which it kept a task from the "
        "cores of a batch system, or from a site")


def coverage(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help="Also list every rule that never refused anything, with what "
                                                      "kept it from that.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the rules of the brokers, the causes of ends and the agents that a run has used.

    A change of a rule that never refused anything in a scenario cannot be seen there.
    """
    from simgrid_broker.metrics.coverage import agents_used, ends_used, event_ends_used, rules_used
    recorded = recorded_run(run)
    rules, ends, agents = rules_used(recorded), ends_used(recorded), agents_used(recorded)
    of_events = event_ends_used(recorded)
    if as_json:
        typer.echo(json.dumps({"rules": rules.to_dict("records"), "ends": ends.to_dict("records"),
                               "event_service": of_events.to_dict("records"), "agents": list(agents)}, indent=1,
                              ensure_ascii=False))
        return
    typer.echo("\n\n".join([*(_broker(rows, str(kind), every) for kind, rows in rules.groupby("kind", sort=False)),
                            paragraph(NOTE), _ends(ends), *_of_events(of_events),
                            paragraph(f"Agents: {', '.join(agents)}")]))


def _broker(rows: "pd.DataFrame", kind: str, every: bool) -> str:
    """The rules of one broker."""
    acted, silent = rows[rows.refused > 0], rows[rows.refused == 0]
    lines = [f"{kind.replace('_', ' ')}: {len(acted)} of {len(rows)} rules refused candidates"]
    if len(acted):
        cells = [(row.rule, f"{row.refused:,}", f"{row.alone:,}") for row in acted.itertuples()]
        lines.append(table(("rule", "refused", "alone"), cells, numbers=(1, 2)))
    if every and len(silent):
        lines.append(table(("never refused", "because"), [(row.rule, row.why_not) for row in silent.itertuples()]))
    return "\n".join(lines)


def _of_events(ends: "pd.DataFrame") -> list[str]:
    """Ends of consumers of event service, with those that never happened; nothing of a run without."""
    happened, never = ends[ends.jobs > 0], ends.end[ends.jobs == 0]
    if ends.empty:
        return []
    cells = [(row.end, f"{row.jobs:,}") for row in happened.itertuples()]
    return [table(("consumers ended by", "number"), cells, numbers=(1,)),
            paragraph(f"Consumers never ended by: {', '.join(never)}")]


def _ends(ends: "pd.DataFrame") -> str:
    """Causes of ends, with those that never happened."""
    happened = ends[ends.attempts > 0]
    never = ", ".join(ends.cause[ends.attempts == 0].str.replace("_", " "))
    cells = [(row.cause.replace("_", " "), f"{row.attempts:,}") for row in happened.itertuples()]
    lines = [table(("attempts ended by", "number"), cells, numbers=(1,))] if cells else []
    return "\n".join([*lines, paragraph(f"Never: {never}")])
