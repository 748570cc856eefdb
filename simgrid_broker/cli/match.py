"""`match`: what DIRAC's matcher answers to a resource, without a simulation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simgrid_broker.cli.broker import shown
from simgrid_broker.cli.text import count, paragraph, table

if TYPE_CHECKING:
    from simgrid_broker.systems.dirac.match.match import Matching, QueueAnswer, RequestAnswer

EXAMPLES = """\b
Examples:
  simgrid-broker match scenarios/dirac_snapshot.yaml scenarios/dirac_resource.json
  simgrid-broker match scenarios/dirac_snapshot.yaml scenarios/dirac_resource.json --draws 10000 --json
  simgrid-broker match scenarios/dirac_snapshot.yaml scenarios/dirac_resource.json --edition documented
  simgrid-broker match scenarios/dirac_snapshot.yaml scenarios/dirac_pilots.json --report
"""

MOST_NAMED = 20
"""Maximum number of task queues and jobs named without --all."""


def match(
    snapshot: Annotated[Path, typer.Argument(metavar="SNAPSHOT", show_default=False, help="Waiting jobs, groups, users "
                                             "and options, YAML or JSON.")],
    resource: Annotated[Path, typer.Argument(metavar="RESOURCE", show_default=False, help="Match request, or a list of "
                                             "them, JSON or YAML.")],
    draws: Annotated[int, typer.Option(min=0, metavar="N", help="Draw N jobs for each request.")] = 0,
    edition: Annotated[Literal["documented", "deployed"] | None, typer.Option(
        help="Matching of the page of 2009 or of the current code, instead of the snapshot's (default: deployed).",
        show_default=False)] = None,
    report: Annotated[bool | None, typer.Option("--report/--request", help="Whether requests are reports of pilots, "
                                                "which DIRAC's Matcher translates first, instead of the snapshot's "
                                                "raw_resource.", show_default=False)] = None,
    settings: Annotated[list[str] | None, typer.Option(
        "--set", metavar="KEY=VALUE", help="Set one value of the snapshot by its dotted key, for example "
        "groups.user.job_share=300; repeatable.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Name all task queues and jobs, not only the first "
                                             f"{MOST_NAMED}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: every task queue with its identity, priority and "
                                          "probability, or the first condition that it fails.")] = False,
) -> None:
    """Show which of DIRAC's task queues match a resource, why others do not, and how probable each is.

    A task queue is named by its smallest job id. docs/match.md describes snapshot, request and JSON.
    """
    from simgrid_broker.systems.dirac.input.snapshot import load_dirac_snapshot
    from simgrid_broker.systems.dirac.match.match import inputs
    from simgrid_broker.systems.dirac.match.match import match as decide
    given, requests = inputs(lambda: load_dirac_snapshot(snapshot, settings or ()), resource)
    answer = decide(given, requests, draws, edition, report)
    if as_json:
        typer.echo(json.dumps(answer.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    for remark in answer.remarks:
        typer.echo(paragraph(f"note: {remark}"), err=True)
    typer.echo("\n\n".join(texts(answer, None if everything else MOST_NAMED)))


def texts(answer: "Matching", most: int | None) -> list[str]:
    """Everything that is printed, in paragraphs."""
    jobs = sum(queue.jobs for queue, _ in answer.queues)
    found = [paragraph(f"DIRAC matching, {answer.edition} edition; {answer.snapshot}: {count(jobs, 'job')} in "
                       f"{count(len(answer.queues), 'task queue')}")]
    if answer.refused:
        found.append(table(("refused job", "because"), [(str(job), why) for job, why in answer.refused.items()],
                           numbers=(0,)))
    for number, each in enumerate(answer.requests, start=1):
        found.append(paragraph(f"Request {number}: {asked(each)}"))
        if each.error:
            found.append(paragraph(f"error ({each.error['type']}): {each.error['text']}"))
            continue
        found += [matching_table(each, answer.draws, most), jobs_table(each, answer.draws, most),
                  refused_table(each, most)]
    return [text for text in found if text]


def asked(answer: "RequestAnswer") -> str:
    """A request on one line."""
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in answer.request.items())


def matching_table(answer: "RequestAnswer", draws: int, most: int | None) -> str:
    """The task queues that match, most probable first."""
    rows = [(str(queue.name), str(queue.jobs), shown(queue.priority), f"{100 * queue.probability:.4g} %",
             *([f"{100 * (queue.drawn or 0) / draws:.4g} %"] if draws else []), identity(queue))
            for queue in answer.matching[:most]]
    if not rows:
        return "No task queue matches."
    head = ("task queue", "jobs", "priority", "probability", *(["drawn"] if draws else []), "requirements")
    return _with_rest(table(head, rows, numbers=range(1, len(head) - 1)), len(answer.matching) - len(rows))


def jobs_table(answer: "RequestAnswer", draws: int, most: int | None) -> str:
    """The jobs that can be drawn, ranges of equal ones together, and the probability of none."""
    drawn = answer.drawn or {}
    rows = []
    for jobs, chance in ranges(answer.jobs):
        name = str(jobs[0]) if len(jobs) == 1 else f"{jobs[0]} to {jobs[-1]}"
        times = sum(drawn.get(job, 0) for job in jobs)
        rows.append((name, f"{100 * chance:.4g} %", f"{100 * len(jobs) * chance:.4g} %", times))
    rows += [(name, "", f"{100 * chance:.4g} %", drawn.get(name, 0)) for name, chance in answer.outcomes.items()]
    shown_rows = [(name, each, together, *([f"{100 * times / draws:.4g} %"] if draws else []))
                  for name, each, together, times in rows[:most]]
    head = ("job", "probability of each", "together", *(["drawn"] if draws else []))
    return _with_rest(table(head, shown_rows, numbers=range(1, len(head))), len(rows) - len(shown_rows))


def ranges(chances: Mapping[int, float]) -> list[tuple[list[int], float]]:
    """Jobs with consecutive ids and one probability, with it, most probable first."""
    found: list[tuple[list[int], float]] = []
    for job in sorted(chances):
        if found and found[-1][0][-1] == job - 1 and found[-1][1] == chances[job]:
            found[-1][0].append(job)
        else:
            found.append(([job], chances[job]))
    return sorted(found, key=lambda each: (-len(each[0]) * each[1], each[0][0]))


def refused_table(answer: "RequestAnswer", most: int | None) -> str:
    """The task queues that do not match, with the first condition that each fails."""
    refused = [queue for queue in answer.queues if queue.failed is not None]
    rows = [(queue.failed["condition"], str(queue.name), queue.failed["reason"]) for queue in refused[:most]
            if queue.failed is not None]
    head = ("fails", "task queue", "because")
    return _with_rest(table(head, rows), len(refused) - len(rows)) if rows else ""


def identity(queue: "QueueAnswer") -> str:
    """Requirements of a task queue on one line."""
    return "; ".join(f"{name} {', '.join(value) if isinstance(value, list) else value}"
                     for name, value in queue.identity.items())


def _with_rest(text: str, left: int) -> str:
    return text + (f"\nand {left} more (--all names them)" if left else "")
