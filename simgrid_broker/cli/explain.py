"""`explain`: why a task was brokered to a queue, and why a queue was not used, in the wording of PanDA's logs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli import shares, users, why_not
from simgrid_broker.cli.loading import recorded_run
from simgrid_broker.cli.text import count, log_line, paragraph
from simgrid_broker.cli.trouble import BadArgument, moment_of
from simgrid_broker.errors import nearest
from simgrid_broker.names import USED
from simgrid_broker.units import MINUTE, format_seconds

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.metrics.job_life import Change
    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker explain results/quickstart/seed-1
  simgrid-broker explain results/quickstart/seed-1 --unplaced
  simgrid-broker explain results/quickstart/seed-1 --share Analysis
  simgrid-broker run scenarios/quickstart.yaml --set 'record.tasks=[3]'
  simgrid-broker explain results/quickstart/seed-1 --task 3
  simgrid-broker explain results/quickstart/seed-1 --task 3 --at 12h --queue T1-DE-01_UCORE
  simgrid-broker explain results/quickstart/seed-1 --job 1234
  simgrid-broker explain results/quickstart/seed-1 --why-not T1-DE-01_UCORE
  simgrid-broker explain results/greedy_user/seed-1 --user greedy-0001
"""
MOST_CHANGES = 30
"""Lines of the life of a task without --all."""
THINGS = {"job_brokerage": "site", "task_brokerage": "nucleus", "analysis_brokerage": "site"}
"""Name of a candidate in PanDA's logs."""


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    task: Annotated[str | None, typer.Option(metavar="ID", help="Task: jeditaskid or name.",
                                             show_default=False)] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Only the first decision at or after this simulated "
                                           "time, for example 12h.", show_default=False)] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Only this PanDA queue, pseudo-queue or nucleus.",
                                              show_default=False)] = None,
    job: Annotated[int | None, typer.Option(metavar="PANDAID", help="Show the life of this job, and the other attempts "
                                            "at its input.", show_default=False)] = None,
    why_not_queue: Annotated[str | None, typer.Option("--why-not", metavar="QUEUE", help="Show which rules refused "
                                                      "this queue or nucleus, when, and how closely; of all tasks "
                                                      "without --task.", show_default=False)] = None,
    share: Annotated[str | None, typer.Option(metavar="NAME", help="Show which rules take how many of the cores that "
                                              "this share, a leaf or a branch, could use.", show_default=False)] = None,
    unplaced: Annotated[bool, typer.Option("--unplaced", help="Show the same for each share with tasks that never got "
                                           "a job, with the tasks.")] = False,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Show why the work of this user waits at the end.",
                                             show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all rules, not only those that matter most; of a "
                                                           "task every decision.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show why brokers chose or refused queues.

    Without options: one line per share. With --task: each decision with recorded candidates (`record.unplaced`,
    `record.tasks`, `record.candidates`), candidate by candidate in the wording of PanDA's logs; about a task of a user
    first why it waits. With --job: the life of a job. With --user: why the user's work waits, in one sentence and in
    detail. The others count all decisions of a share or about a queue.
    """
    recorded = recorded_run(run)
    if job is not None:
        _alone("--job", (("--task", task), ("--at", at), ("--queue", queue), ("--why-not", why_not_queue),
                         ("--share", share), ("--unplaced", unplaced or None), ("--user", user)))
        _about_job(recorded, job, everything, as_json)
        return
    if user is not None:
        _alone("--user", (("--task", task), ("--at", at), ("--queue", queue), ("--why-not", why_not_queue),
                          ("--share", share), ("--unplaced", unplaced or None)))
        why = users.of_user(recorded, user)
        typer.echo(_json(why.to_dict()) if as_json else users.text(why, everything))
        return
    if share is not None or unplaced or (task is None and why_not_queue is None):
        if others := [name for name, given in (("--task", task), ("--at", at), ("--queue", queue),
                                               ("--why-not", why_not_queue)) if given is not None]:
            option = "--share" if share is not None else "--unplaced" if unplaced else None
            raise BadArgument(others[0], dict(zip(("--task", "--at", "--queue", "--why-not"),
                                                  (task, at, queue, why_not_queue), strict=True))[others[0]],
                              f"cannot be combined with {option}" if option else "needs a task (--task ID)")
        _about_shares(recorded, share, unplaced, everything, as_json)
        return
    number = None if task is None else task_number(recorded, task)
    moment = None if at is None else moment_of(at)
    if why_not_queue is not None:
        if at is not None or queue is not None:
            raise BadArgument("--why-not", why_not_queue, "can be combined with --task, --all and --json only")
        answer = why_not.answer(recorded, candidate_names(recorded, "--why-not", why_not_queue), number)
        typer.echo(_json(answer.to_dict()) if as_json else why_not.text(answer, everything))
        return
    assert number is not None
    _about_task(recorded, number, moment, None if queue is None else candidate_names(recorded, "--queue", queue),
                as_json, everything)


def _about_task(run: "Run", task: int, at_s: float | None, names: frozenset[str] | None, as_json: bool,
                everything: bool) -> None:
    """Print the life of a task and the recorded decisions about it; of analysis first why it waits."""
    from simgrid_broker import metrics
    from simgrid_broker.metrics.job_life import task_life
    why, read, changes = users.of_task(run, task), datasets_of(run, task), changes_of(run, task)
    looks = scouts_of(run, task)
    whole, life = at_s is None and names is None, task_life(run, task, everything)
    also = ({"datasets": read} if read else {}) | ({"actions": changes} if changes else {})
    also |= {"scouts": looks} if looks else {}
    also |= {"life": [each._asdict() for each in life]}
    if why is not None and not len(metrics.explain(run, task)):
        missing = why_not.not_recorded(run, task)
        typer.echo(_json(why.to_dict() | {"missing": missing} | also) if as_json else
                   "\n\n".join([users.text(why), told_life(life, everything), *told_input(run, task, read, looks),
                                *told_changes(task, changes), *told_ends(run, task),
                                *told_events(run, task), paragraph(f"Task {task}: {missing}.")]))
        return
    if whole and not as_json and not len(metrics.explain(run, task)):
        typer.echo("\n\n".join([told_life(life, everything), *told_input(run, task, read, looks),
                                *told_changes(task, changes), *told_ends(run, task),
                                *told_events(run, task),
                                paragraph(f"Task {task}: {why_not.not_recorded(run, task)}.")]))
        return
    rows = _decisions_of(run, task, at_s)
    if as_json:
        typer.echo(_json(as_dict(run, task, rows, names) | ({} if why is None else {"why": why.to_dict()}) | also))
        return
    said = [] if why is None or at_s is not None or names is not None else [paragraph(users.sentence(why))]
    first = [told_life(life, everything), *told_input(run, task, read, looks), *told_changes(task, changes),
             *told_ends(run, task), *told_events(run, task)] if whole else []
    typer.echo("\n\n".join([*said, *first, *texts(run, rows, names)]))


def _about_job(run: "Run", job: int, everything: bool, as_json: bool) -> None:
    """Print the life of a job; raises BadArgument for one without a row."""
    from simgrid_broker.metrics.job_life import job_life
    from simgrid_broker.metrics.window import part_of_jobs
    life = job_life(run, job)
    if not life:
        part = part_of_jobs(run)
        raise BadArgument("--job", job, "unknown job" if part == 1 else
                          f"no row: {100 * part:g} % of the jobs have one (record.jobs)")
    typer.echo(_json({"panda_id": job, "life": [each._asdict() for each in life]}) if as_json else
               told_life(life, everything))


def told_life(life: list["Change"], everything: bool) -> str:
    """The life of a task, a line for each change; without `everything` the middle of a long one is left out."""
    lines = [paragraph(f"{format_seconds(each.start_s):>12}  {_until(each)}{each.what}", " " * 14) for each in life]
    if not everything and len(lines) > MOST_CHANGES:
        half = MOST_CHANGES // 2
        lines = [*lines[:half], f"{'...':>12}  {count(len(lines) - 2 * half, 'change')}: --all", *lines[-half:]]
    return "\n".join(lines)


def _until(each: "Change") -> str:
    """The end of a stretch; nothing for a moment."""
    return "" if each.end_s - each.start_s < MINUTE else f"to {format_seconds(each.end_s)}: "


def datasets_of(run: "Run", task: int) -> list[dict]:
    """Datasets of the container that a task reads whole, with their pieces of input; none of another task."""
    rows = run.table("task_datasets")
    rows = rows[(rows.jeditaskid == task) & (rows.type == "input")]
    return rows[["dataset", "n_pieces", "n_used"]].astype({"dataset": str}).to_dict("records")


def told_datasets(task: int, read: list[dict]) -> list[str]:
    """Datasets of a container that a task reads, in one paragraph; none without such datasets."""
    if not read:
        return []
    named = ", ".join(f"{one['dataset']} ({one['n_used']} of {one['n_pieces']})" for one in read)
    return [paragraph(f"Task {task} reads {count(len(read), 'dataset')} of a container, each brokered by itself; jobs "
                      f"were made of these pieces of input: {named}.")]


def told_input(run: "Run", task: int, read: list[dict], looks: list[dict]) -> list[str]:
    """The datasets and the scouts of a task, a paragraph each where it has any."""
    return [*told_datasets(task, read), *told_scouts(run, task, looks)]


def told_ends(run: "Run", task: int) -> list[str]:
    """Attempts of a task that timeout rules and rebrokerage ended, in one paragraph; none without such attempts."""
    from simgrid_broker import metrics
    ends = metrics.ended_by_rules(run, task)
    if not len(ends):
        return []
    by_code = {cause: f" (kill code {code})" for cause, code in kill_codes(run.manifest["edition"]).items()}
    named = [f"{row.jobs} {row.status} for {row.cause}{'' if row.status == 'failed' else by_code.get(row.cause, '')}"
             for row in ends.itertuples()]
    return [paragraph(f"The server ended {count(int(ends.jobs.sum()), 'attempt')} of task {task}: {', '.join(named)}. "
                      "The rules: `simgrid-broker describe timeouts`.")]


def told_events(run: "Run", task: int) -> list[str]:
    """Paragraph about the jobs of event service of a task; none of a task without any."""
    from simgrid_broker import metrics
    rows = metrics.event_service_ends(run, task)
    if not len(rows):
        return []
    ends = "; ".join(kind.replace("_", "-") + ": " + ", ".join(
        f"{one.jobs:,} {one.status}{'/' if one.sub_status else ''}{one.sub_status}" for one in group.itertuples())
        for kind, group in rows.groupby("kind", sort=False))
    return [paragraph(f"Jobs of event service of task {task} processed {count(int(rows.ranges.sum()), 'event range')}, "
                      f"{count(int(rows.events.sum()), 'event')} in all, and gave "
                      f"{count(int(rows.released.sum()), 'range')} back unfinished. Jobs that ended: {ends}.")]


def kill_codes(edition: str) -> dict[str, str]:
    """Kill codes that the rules of an edition give, by cause; none of `documented`, which names none."""
    from simgrid_broker.policy.jobs.rebrokerage import KILL_CODES
    from simgrid_broker.policy.jobs.timeouts import rules
    from simgrid_broker.scenario.gdpconfig import DEFAULTS
    from simgrid_broker.views import Gdpconfig
    found: dict[str, dict[int, None]] = {}
    for rule in rules(Gdpconfig(DEFAULTS), edition):
        if rule.code:
            found.setdefault(rule.cause.word, {})[rule.code] = None
    of_rebrokerage = {cause.word: {code: None} for cause, code in KILL_CODES.items()} if found else {}
    return {cause: " or ".join(map(str, codes)) for cause, codes in (found | of_rebrokerage).items()}


def changes_of(run: "Run", task: int) -> list[dict]:
    """Changes that the retry module made to a task: those of one kind together, with the first and the last value."""
    rows = run.table("task_actions")
    rows = rows[(rows.jeditaskid == task) & (rows.action.astype(str) != "avalanche")].astype(
        {"action": str, "parameter": str})
    together = rows.groupby(["action", "parameter", "of_task"], sort=False)
    return together.agg(times=("time_s", "size"), first_s=("time_s", "min"), before=("before", "first"),
                        after=("after", "last")).reset_index().to_dict("records")


def told_changes(task: int, changes: list[dict]) -> list[str]:
    """The changes in one paragraph; none without any."""
    if not changes:
        return []
    said = [f"{one['action']} for {'the task' if one['of_task'] else 'the input of single jobs'}, "
            f"{_change(one)}, {count(one['times'], 'time')}, first at {format_seconds(one['first_s'])}"
            for one in changes]
    return [paragraph(f"The retry module changed task {task} after failures: {'; '.join(said)}.")]


def scouts_of(run: "Run", task: int) -> list[dict]:
    """The look at the scouts of a task that ended its scouting: when, how many count, and how many had finished."""
    rows = run.table("task_actions")
    rows = rows[(rows.jeditaskid == task) & (rows.action.astype(str) == "avalanche")]
    return [dict(time_s=row.time_s, counted=int(row.before), finished=int(row.after)) for row in rows.itertuples()]


def told_scouts(run: "Run", task: int, looks: list[dict]) -> list[str]:
    """Paragraph about that look; none of a task without scouts, or that still has them."""
    from simgrid_broker.policy.tasks.scouts import TERMS
    what = "pairs of job and status of its files" if TERMS[run.manifest["edition"]].of_made else "scouts"
    return [paragraph(f"{one['finished']} of {one['counted']} {what} of task {task} had finished when they were "
                      f"judged, at {format_seconds(one['time_s'])}; half of them start the avalanche.")
            for one in looks]


def _change(one: dict) -> str:
    """Name and values of a changed parameter; a value that is not known is left out."""
    before, after = (f"{one[name]:.6g}" if one[name] == one[name] else "" for name in ("before", "after"))
    return f"{one['parameter']} {f'{before} to ' if before else ''}{after or 'a new measurement'}"


def _alone(option: str, others: tuple[tuple[str, str | bool | None], ...]) -> None:
    """Raise BadArgument for the first of the other options that was given."""
    for name, value in others:
        if value is not None:
            raise BadArgument(name, value, f"cannot be combined with {option}")


def _about_shares(run: "Run", share: str | None, unplaced: bool, everything: bool, as_json: bool) -> None:
    """Print what brokers left to one share, to the shares with unplaced tasks, or to all in short."""
    answers = shares.answers(run, share, unplaced)
    if as_json:
        typer.echo(_json({"shares": [each.to_dict() for each in answers]}))
    elif share is None and not unplaced:
        typer.echo(shares.overview(run, answers))
    elif not answers:
        typer.echo("Every task that arrived an hour or more before the end got a job." if unplaced else
                   "\n\n".join([*_sentence(run, share), f"No broker decided about {share}."]))
    else:
        typer.echo("\n\n".join([*_sentence(run, share), shares.text(answers, everything or share is not None)]))


def _sentence(run: "Run", share: str | None) -> list[str]:
    """Why a share misses its target, and each short leaf below it, a paragraph each; nothing for all shares, or a run
    without the records.
    """
    from simgrid_broker import metrics
    from simgrid_broker.metrics.chain_words import sentence
    if share is None:
        return []
    below = [each for each in metrics.why(run) if each.is_short and each.share != share
             and each.share in shares.leaves_of(run, "--share", share)]
    return [paragraph(sentence(each)) for each in (*metrics.why(run, share), *below)]


def task_number(run: "Run", task: str) -> int:
    """The jeditaskid of a task given by number or name; raises BadArgument if no task or several match."""
    tasks = run.table("tasks", ["jeditaskid", "name"])
    numbers = [str(number) for number in tasks.jeditaskid]
    if task in numbers:
        return int(task)
    named = tasks.jeditaskid[tasks.name == task]
    if len(named) == 1:
        return int(named.iloc[0])
    if len(named):
        first = ", ".join(map(str, named.head(8))) + (", ..." if len(named) > 8 else "")
        raise BadArgument("--task", task, f"{len(named)} tasks have this name; choose one by number: {first}")
    by_name = dict.fromkeys(tasks.name.dropna().astype(str))
    raise BadArgument("--task", task, f"unknown task; the run has {count(len(numbers), 'task')}",
                      nearest(task, by_name) or nearest(task, numbers))


def candidate_names(run: "Run", option: str, name: str) -> frozenset[str]:
    """The pseudo-queues or the site called `name`; raises BadArgument for an unknown name."""
    from simgrid_broker.metrics import queue_of
    owner = queue_of(run)
    names = frozenset(each for each, queue in owner.items() if name in (each, queue))
    if not names:
        raise BadArgument(option, name, "unknown PanDA queue, pseudo-queue or site of the run",
                          nearest(name, dict.fromkeys((*owner.values(), *owner))))
    return names


def texts(run: "Run", rows: "pd.DataFrame", names: frozenset[str] | None) -> list[str]:
    """Each decision in PanDA's wording: the funnel, then every candidate, refused ones first."""
    from simgrid_broker import metrics
    funnels, factors = metrics.funnels(run, rows), metrics.factors(run, set(rows.decision))
    decisions = []
    for decision, candidates in rows.groupby("decision", sort=False):
        first = candidates.iloc[0]
        lines = [paragraph(_head(first), "    "), count(len(candidates), "candidate")]
        lines += [f"{count(step.left, 'candidate')} passed {_passed(step.panda)}"
                  for step in funnels[funnels.decision == decision].itertuples()]
        rules = metrics.criteria(run, first.kind).set_index("criterion")
        shown = _in_order(_named(candidates, names), list(rules.index))
        shown = shown.assign(reason=metrics.reasons(run, shown))
        mine = factors[factors.decision == decision]
        lines += [_line(run, row, rules, mine[mine.candidate == row.candidate]) for row in shown.itertuples()]
        decisions.append("\n".join([lines[0], *(log_line(f"  {line}", "      ") for line in lines[1:])]))
    return decisions


def as_dict(run: "Run", task: int, rows: "pd.DataFrame", names: frozenset[str] | None) -> dict:
    """The content of `texts` as a dictionary."""
    from simgrid_broker import metrics
    funnels, factors = metrics.funnels(run, rows), metrics.factors(run, set(rows.decision))
    decisions = []
    for decision, candidates in rows.groupby("decision", sort=False):
        steps, mine = funnels[funnels.decision == decision], factors[factors.decision == decision]
        multipliers = {name: dict(zip(each.factor, each.multiplier, strict=True))
                       for name, each in mine.groupby("candidate")}
        columns = ["candidate", "queue", "tag", "criterion", "order", "weight", "value", "limit", "distance",
                   "nearness", "reason"]
        named = _named(candidates, names)
        decisions.append(candidates.iloc[0][["decision", "time_s", "kind", "share", "n_jobs"]].to_dict() | {
            "funnel": steps[["panda", "tags", "criteria", "refused", "left"]].to_dict("records"),
            "candidates": [row | {"factors": multipliers.get(row["candidate"], {})}
                           for row in named.assign(reason=metrics.reasons(run, named))[columns].to_dict("records")]})
    return {"jeditaskid": task, "decisions": decisions}


def _named(candidates: "pd.DataFrame", names: frozenset[str] | None) -> "pd.DataFrame":
    return candidates if names is None else candidates[candidates.candidate.isin(names)]


def _decisions_of(run: "Run", task: int, at_s: float | None) -> "pd.DataFrame":
    """The candidates of a task's decisions; raises BadArgument if none were recorded."""
    from simgrid_broker import metrics
    rows = metrics.explain(run, task)
    if not len(rows):
        raise BadArgument("--task", task, why_not.not_recorded(run, task))
    if at_s is None:
        return rows
    later = rows[rows.time_s >= at_s]
    if not len(later):
        raise BadArgument("--at", format_seconds(at_s), "the last recorded decision of the task was at "
                          + format_seconds(rows.time_s.max()))
    return later[later.decision == later.decision.iloc[0]]


def _head(row) -> str:
    kind = row.kind.replace("_", " ")
    made = f": {count(row.n_jobs, 'job')} placed" if row.kind != "task_brokerage" else ""
    return (f"{kind} of jeditaskid={row.jeditaskid} gshare={row.share} at {format_seconds(row.time_s)} "
            f"(decision {row.decision}){made}")


def _in_order(rows: "pd.DataFrame", criteria: list[str]) -> "pd.DataFrame":
    """Refused candidates in the order of the rules, then used candidates, best first."""
    place = rows.criterion.map({name: number for number, name in enumerate(criteria)}).fillna(len(criteria))
    return rows.assign(place=place).sort_values(["place", "order"], kind="stable")


def _line(run: "Run", row, rules: "pd.DataFrame", factors: "pd.DataFrame") -> str:
    from simgrid_broker.metrics.chain_words import in_effect
    thing = f"{THINGS[row.kind]}={row.candidate}"
    if row.tag != USED:
        rule = rules.loc[row.criterion]
        because = f": {row.reason}" if row.reason else ""
        named = (in_effect(run, key.replace("<gshare>", row.share), rule.unit, row.limit) for key in rule["keys"])
        keys = f" keys={', '.join(named)}" if len(rule["keys"]) else ""
        return f"skip {thing} due to {_reason(rule.panda)}{because} criteria={rule.label}{keys}"
    product = ", ".join(f"{factor.factor}={factor.multiplier:.4g}" for factor in factors.itertuples())
    return f"use {thing} with weight={row.weight:.4g}" + (f" ({product})" if product else "") + f" criteria={row.tag}"


def _passed(panda: str) -> str:
    """PanDA's name of a step as it follows "passed" in the logs."""
    return panda.replace("skip queues with ", "check for ", 1)


def _reason(panda: str) -> str:
    """PanDA's name of a step as it follows "due to" in the logs."""
    for words in ("selection for ", "skip queues with "):
        panda = panda.removeprefix(words)
    return panda


def _json(value: dict) -> str:
    """JSON text; figures that are NaN or infinite are null."""
    return json.dumps(_plain(value), indent=1, ensure_ascii=False)


def _plain(value):
    """`value` as JSON-compatible types."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not abs(value) < float("inf") else value
