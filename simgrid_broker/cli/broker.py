"""`broker`: one decision of a broker on a snapshot of a grid, without a simulation.

What lives here: the command and its tables. What does not: the decision (dry_run).
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simgrid_broker.cli.loading import Settings, malformed_architectures_of, unknown_plugins
from simgrid_broker.cli.text import count, paragraph, table
from simgrid_broker.errors import SnapshotError
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    from simgrid_broker.dry_run import Candidate, Decision
    from simgrid_broker.scenario import Snapshot

EXAMPLES = """\b
Examples:
  simgrid-broker broker scenarios/snapshot.yaml --task 102
  simgrid-broker broker scenarios/snapshot.yaml --task 102 --edition deployed --json
  simgrid-broker broker scenarios/snapshot.yaml --task 101 --set gdpconfig.DISK_THRESHOLD=800
  simgrid-broker broker results/quickstart/seed-1/snapshots/t=43200.yaml --task 17 --set grid.queues.X.status=online
"""

SnapshotFile = Annotated[Path, typer.Argument(metavar="SNAPSHOT", help="Snapshot file, YAML or JSON.",
                                              show_default=False)]
MOST_NAMED = 20
"""Candidates that are named beside the rule that refused them, unless all are asked for."""
TITLES = {"task_brokerage": "Task brokerage", "job_brokerage": "Job brokerage"}


def broker(
    snapshot: SnapshotFile,
    task: Annotated[str | None, typer.Option(metavar="ID", help="jeditaskid of the task; needed if there are several.",
                                             show_default=False)] = None,
    edition: Annotated[Literal["documented", "deployed"] | None, typer.Option(
        help="Edition of the rules, instead of the snapshot's.", show_default=False)] = None,
    settings: Settings = None,
    everyone: Annotated[bool, typer.Option("--all", help="Name all candidates that a rule refused, not only the first "
                                           f"{MOST_NAMED}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON: every candidate with rule, "
                                          "figures, weight, factors, order and probability.")] = False,
) -> None:
    """Ask a broker about one task of a snapshot, without a simulation.

    Prints the funnel, then the candidates that are used, best first, then those that were refused, by rule.
    """
    from simgrid_broker.dry_run import broker as asked
    answer = asked(loaded_snapshot(snapshot, edition, settings), task)
    if as_json:
        typer.echo(json.dumps(answer.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    typer.echo(paragraph(heading(answer)))
    for text in (funnel_table(answer), kept_table(answer), refused_table(answer, None if everyone else MOST_NAMED)):
        if text:
            typer.echo("\n" + text)


def loaded_snapshot(file: Path, edition: str | None, settings) -> "Snapshot":
    """The snapshot in a file with what the command line sets; raises SnapshotError, for unknown policies too."""
    from simgrid_broker.scenario import load_snapshot
    overrides = [*(settings or ()), *([] if edition is None else [f"edition={edition}"])]
    snapshot = load_snapshot(file, overrides)
    streams = [(f"tasks.{number}.architecture", task.architecture) for number, task in snapshot.tasks.items()]
    if problems := [*unknown_plugins(snapshot), *malformed_architectures_of(snapshot, streams)]:
        raise SnapshotError(problems)
    return snapshot


def heading(answer: "Decision") -> str:
    """What was asked."""
    task = answer.task
    about = [f"{answer.edition} edition", f"share {task.gshare}", f"priority {task.currentpriority}"]
    about += [] if answer.nucleus is None else [f"nucleus {answer.nucleus}"]
    about += [] if answer.n_jobs is None else [count(answer.n_jobs, "job")]
    return (f"{TITLES[answer.brokerage]} of task {task.jeditaskid} ({answer.name}), {', '.join(about)}; "
            f"{answer.snapshot}, {format_seconds(answer.time_s)}")


def funnel_table(answer: "Decision") -> str:
    """How many candidates each rule left."""
    rows = [("", "", str(len(answer.candidates)))]
    rows += [(step.tag, str(step.refused), str(step.left)) for step in answer.funnel]
    return table(("rule", "refused", "left"), rows, numbers=(1, 2))


def kept_table(answer: "Decision") -> str:
    """The candidates that are used, best first."""
    rows = [(str(each.order), each.name, shown(each.weight), f"{100 * each.probability:.1f} %", shown(each.queued),
             shown(each.cap), factors(each)) for each in answer.kept]
    if not rows:
        return "No candidate is left."
    head = ("order", "candidate", "weight", "probability", "queued", "cap", "factors other than 1")
    gone = [k for k in (4, 5) if not any(row[k] for row in rows)]
    kept = [k for k in range(len(head)) if k not in gone]
    return table([head[k] for k in kept], [[row[k] for k in kept] for row in rows], numbers=range(2, len(kept) - 1))


def refused_table(answer: "Decision", most: int | None = None) -> str:
    """The candidates that were refused, rule by rule, with the figures that were compared; of each rule `most`."""
    rows = []
    for step in answer.funnel:
        named = [name_and_figures(each) for each in answer.candidates if each.tag == step.tag]
        if most is not None and len(named) > most + 1:                  # the words take the room of a name
            named = [*named[:most], f"and {len(named) - most} others (--all names them)"]
        rows.append((step.tag, ", ".join(named)))
    return table(("refused by", "candidates (value against limit)"), rows) if rows else ""


def name_and_figures(candidate: "Candidate") -> str:
    """A candidate with what a rule compared."""
    if candidate.value is None:
        return candidate.name
    limit = "" if candidate.limit is None else f" against {shown(candidate.limit)}"
    return f"{candidate.name} ({shown(candidate.value)}{limit})"


def factors(candidate: "Candidate") -> str:
    """The factors of a weight that change it."""
    return ", ".join(f"{name} {shown(number)}" for name, number in candidate.factors.items() if number != 1)


def shown(number: float | None) -> str:
    """A number with four digits, whole from a thousand to a billion, or nothing."""
    if number is None:
        return ""
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e9 else f"{number:.4g}"
