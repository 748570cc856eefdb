"""`coverage`: which rules, causes of ends, incidents and agents a run has used, and why the others never acted."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from simgrid_broker.cli.loading import recorded_run
from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.names import DecisionKind

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker coverage results/minimal/seed-1
  simgrid-broker coverage results/minimal/seed-1 --all
"""
OF_AGENTS = ("acted: cycles after which a task, job, worker, transfer, replica, priority or the order of shares had "
             "changed; agents that only count or load what others read change none")
OF_FACTORS = ("asked: decisions with two candidates or more, of those whose candidates are recorded "
              "(record.candidates); changed: those in which the order would be another without the factor; alone: "
              "those whose first candidate would be")
NOTE = ("asked: candidates that no rule before it had refused; refused: those that it was the first to refuse; alone: "
        "decisions in which it kept a task from the cores of a batch system, or from a site")


def coverage(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help="Also list every rule that never refused anything, and every "
                                                      "cause that ended no attempt, with what kept it from that.",
                                             )] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the rules of the brokers, the causes of ends, the incidents and the agents that a run has used.

    A change of a rule that never refused anything in a scenario cannot be seen there.
    """
    from simgrid_broker.metrics.coverage import (
        agents_used,
        ends_used,
        event_ends_used,
        factors_used,
        incidents_used,
        rules_used,
    )
    recorded = recorded_run(run)
    rules, ends, agents = rules_used(recorded), ends_used(recorded), agents_used(recorded)
    of_events, incidents, others = event_ends_used(recorded), incidents_used(recorded), of_other_editions(recorded)
    if as_json:
        typer.echo(json.dumps({"rules": rules.to_dict("records"),
                               "factors": factors_used(recorded).to_dict("records"), "ends": ends.to_dict("records"),
                               "event_service": of_events.to_dict("records"), "agents": _records(agents),
                               "other_editions": others, "incidents": incidents.to_dict("records")}, indent=1,
                              ensure_ascii=False))
        return
    typer.echo("\n\n".join([*(_broker(rows, str(kind), others[str(kind)] if every else None)
                              for kind, rows in rules.groupby("kind", sort=False)),
                            paragraph(NOTE), *_factors(factors_used(recorded)), _ends(ends, every),
                            *_of_events(of_events), _incidents(incidents), *_agents(agents)]))


def _broker(rows: "pd.DataFrame", kind: str, others: dict[str, str] | None) -> str:
    """The rules of one broker; others: those of other editions, None = only what refused something."""
    acted, silent = rows[rows.refused > 0], rows[rows.refused == 0]
    lines = [f"{kind.replace('_', ' ')}: {len(acted)} of {len(rows)} rules refused candidates"]
    if len(acted):
        cells = [(row.rule, *(f"{number:,}" for number in (row.asked, row.refused, row.alone)))
                 for row in acted.itertuples()]
        lines.append(table(("rule", "asked", "refused", "alone"), cells, numbers=(1, 2, 3)))
    reasons = [] if others is None else [*zip(silent.rule, silent.why_not, strict=True), *others.items()]
    if reasons:
        lines.append(table(("never refused", "because"), reasons))
    return "\n".join(lines)


def _factors(factors: "pd.DataFrame") -> list[str]:
    """Factors of the weights with the decisions whose order they changed; nothing without recorded candidates."""
    cells = [(_words(row.kind), row.factor, f"{row.asked:,}", f"{row.changed:,}", f"{row.alone:,}")
             for row in factors.itertuples() if row.asked]
    if not cells:
        return []
    return ["\n".join([table(("broker", "factor", "asked", "changed", "alone"), cells, numbers=(2, 3, 4)),
                       paragraph(OF_FACTORS)])]


def of_other_editions(run: "Run") -> dict[str, dict[str, str]]:
    """Rules that the edition of a run does not have, by broker: label, and the editions that have it, in words."""
    from simgrid_broker.cli.describe import broker_rules
    from simgrid_broker.policy.rule import Criterion
    known = {kind: {rule["criterion"] for rule in rules} for kind, rules in run.manifest.get("criteria", {}).items()}
    found: dict[str, dict[str, str]] = {kind: {} for kind in DecisionKind.words()}
    for broker, function, editions in broker_rules():
        kind, rule = broker.replace(" ", "_"), function.rule
        if isinstance(rule, Criterion) and rule.name not in known.get(kind, {rule.name}):
            found[kind][f"{rule.tag} ({rule.name})"] = f"a rule of {' and '.join(editions)} only"
    return found


def _of_events(ends: "pd.DataFrame") -> list[str]:
    """Ends of consumers of event service, with those that never happened; nothing of a run without."""
    happened, never = ends[ends.jobs > 0], ends.end[ends.jobs == 0]
    if ends.empty:
        return []
    cells = [(row.end, f"{row.jobs:,}") for row in happened.itertuples()]
    return [table(("consumers ended by", "number"), cells, numbers=(1,)),
            paragraph(f"Consumers never ended by: {', '.join(never)}")]


def _ends(ends: "pd.DataFrame", every: bool) -> str:
    """Causes of ends, with those that never happened, and with `every` what kept them from it."""
    happened, never = ends[ends.attempts > 0], ends[ends.attempts == 0]
    cells = [(_words(row.cause), f"{row.attempts:,}") for row in happened.itertuples()]
    lines = [table(("attempts ended by", "number"), cells, numbers=(1,))] if cells else []
    if every and len(never):
        return "\n\n".join([*lines, table(("never ended by", "because"), [
            (_words(row.cause), row.why_not) for row in never.itertuples()])])
    return "\n".join([*lines, paragraph(f"Never: {', '.join(map(_words, never.cause))}")])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _incidents(incidents: "pd.DataFrame") -> str:
    """Kinds of incidents of the scenario, and those that it does not have."""
    from simgrid_broker.scenario.model import Incident
    kinds = get_args(Incident.model_fields["what"].annotation)
    never = ", ".join(_words(kind) for kind in kinds if kind not in set(incidents.incident))
    cells = [(_words(row.incident), *map(str, (row.planned, row.began, row.ended))) for row in incidents.itertuples()]
    lines = [table(("incidents", "planned", "began", "ended"), cells, numbers=(1, 2, 3))] if cells else []
    return "\n".join([*lines, paragraph(f"No incident: {never}")])


def _agents(agents: "pd.DataFrame") -> list[str]:
    """Agents with their cycles, and those that work without a period."""
    counted, others = agents[agents.asked.notna()], agents.agent[agents.asked.isna()]
    cells = [(row.agent, f"{row.asked:,.0f}", f"{row.acted:,.0f}") for row in counted.itertuples()]
    lines = [table(("agents", "cycles", "acted"), cells, numbers=(1, 2)), paragraph(OF_AGENTS)] if cells else []
    return ["\n".join([*lines, paragraph(f"Agents without cycles here: {', '.join(others)}")])]


def _records(rows: "pd.DataFrame") -> list[dict]:
    """Rows as JSON-compatible types; NaN is null."""
    return rows.astype(object).where(rows.notna(), None).to_dict("records")
