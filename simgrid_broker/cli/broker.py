"""`broker`: one broker decision on a snapshot of a grid, without a simulation."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker import editions
from simgrid_broker.cli.loading import Settings
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
"""Maximum number of refused candidates named per rule without --all."""
TITLES = {"task_brokerage": "Task brokerage", "job_brokerage": "Job brokerage",
          "analysis_brokerage": "Analysis brokerage"}


def broker(
    snapshot: SnapshotFile,
    task: Annotated[str | None, typer.Option(metavar="ID", help="jeditaskid of the task; may be omitted for one task.",
                                             show_default=False)] = None,
    edition: Annotated[editions.Name | None, typer.Option(
        help="Edition of the rules, instead of the snapshot's.", show_default=False)] = None,
    settings: Settings = None,
    strict: Annotated[bool | None, typer.Option(
        "--strict/--lenient", help="Refuse names of nothing, contradictions and numbers out of range, or read them as "
        "PanDA does, with remarks. Default: as the snapshot says; --strict unless a run wrote it.",
        show_default=False)] = None,
    everyone: Annotated[bool, typer.Option("--all", help="Name all refused candidates, not only the first "
                                           f"{MOST_NAMED} of each rule.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: every candidate with rule, figures, weight, "
                                          "factors, order and probability.")] = False,
) -> None:
    """Make one broker decision for a task of a snapshot, without a simulation.

    Prints the number of candidates after each rule, the used candidates, best first, and the refused ones by rule.
    """
    from simgrid_broker.dry_run import broker as decide
    given = loaded_snapshot(snapshot, edition, settings, strict)
    answer = decide(given, task)
    show_remarks(given)
    if as_json:
        typer.echo(json.dumps(answer.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    typer.echo(paragraph(heading(answer)))
    for text in (funnel_table(answer), kept_table(answer), refused_table(answer, None if everyone else MOST_NAMED)):
        if text:
            typer.echo("\n" + text)


def show_remarks(snapshot: "Snapshot") -> None:
    """Print to stderr which keys nothing reads, or nothing in the edition of the snapshot."""
    from simgrid_broker.advice import remarks
    for remark in remarks(snapshot):
        typer.echo(paragraph(f"note: {remark}"), err=True)


def loaded_snapshot(file: Path, edition: str | None, settings, strict: bool | None = None) -> "Snapshot":
    """The snapshot in a file with the settings of the command line; raises SnapshotError, also for unknown policies."""
    from simgrid_broker.advice import malformed_architectures_of, unknown_plugins
    from simgrid_broker.scenario import load_snapshot
    overrides = [*(settings or ()), *(f"{key}={value}" for key, value in dict(
        edition=edition, strict=None if strict is None else str(strict).lower()).items() if value is not None)]
    snapshot = load_snapshot(file, overrides)
    streams = [(f"tasks.{number}.architecture", task.architecture) for number, task in snapshot.tasks.items()]
    if problems := [*unknown_plugins(snapshot), *malformed_architectures_of(snapshot, streams)]:
        raise SnapshotError(problems)
    return snapshot


def heading(answer: "Decision") -> str:
    """Task, edition, share, priority, nucleus, jobs, snapshot and time."""
    task = answer.task
    about = [f"{answer.edition} edition", f"share {task.gshare}", f"priority {task.currentpriority}"]
    about += [] if answer.nucleus is None else [f"nucleus {answer.nucleus}"]
    about += [] if answer.n_jobs is None else [count(answer.n_jobs, "job")]
    return (f"{TITLES[answer.brokerage]} of task {task.jeditaskid} ({answer.name}), {', '.join(about)}; "
            f"{answer.snapshot}, {format_seconds(answer.time_s)}")


def funnel_table(answer: "Decision") -> str:
    """Number of candidates refused and left by each rule; empty if the attempt ended before any was looked at."""
    if not answer.candidates:
        return ""
    rows = [("", "", str(len(answer.candidates)))]
    rows += [(step.label, str(step.refused), str(step.left)) for step in answer.funnel]
    return table(("rule", "refused", "left"), rows, numbers=(1, 2))


def kept_table(answer: "Decision") -> str:
    """The used candidates, best first."""
    rows = [(str(each.order), each.name, shown(each.weight), f"{100 * each.probability:.1f} %", shown(each.queued),
             shown(each.cap), factors(each)) for each in answer.kept]
    if not rows:
        return "No candidate is left." if answer.candidates else f"The attempt ended: {answer.error}."
    head = ("order", "candidate", "weight", "probability", "queued", "cap", "factors other than 1")
    kept = [k for k in range(len(head)) if k not in (4, 5) or any(row[k] for row in rows)]
    return table([head[k] for k in kept], [[row[k] for k in kept] for row in rows], numbers=range(2, len(kept) - 1))


def refused_table(answer: "Decision", most: int | None = None) -> str:
    """The refused candidates by rule and reason, up to `most` of each rule."""
    rows = []
    for step in answer.funnel:
        refused = [each for each in answer.candidates if (each.tag, each.criterion) == (step.tag, step.criterion)]
        named = refused if most is None or len(refused) <= most + 1 else refused[:most]
        reasons: dict[str, list[str]] = {}
        for each in named:
            reasons.setdefault(each.reason, []).append(each.name)
        rows += [(step.label if not k else "", why, ", ".join(names)) for k, (why, names) in enumerate(reasons.items())]
        if len(refused) > len(named):                                   # the remark is as long as a name
            rows.append(("", "", f"and {len(refused) - len(named)} more (--all names them)"))
    return table(("refused by", "because of", "candidates"), rows) if rows else ""


def factors(candidate: "Candidate") -> str:
    """The factors of a weight other than 1."""
    return ", ".join(f"{name} {shown(number)}" for name, number in candidate.factors.items() if number != 1)


def shown(number: float | None) -> str:
    """A number with four digits, whole from 1000 to 1e9; empty for None."""
    if number is None:
        return ""
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e9 else f"{number:.4g}"
