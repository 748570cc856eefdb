"""`check`: every problem of a scenario, or its summary."""

from typing import TYPE_CHECKING

import typer

from simgrid_broker.cli.loading import ScenarioFile, Settings, WorkloadFile, loaded
from simgrid_broker.cli.text import count, paragraph
from simgrid_broker.editions import edition_of
from simgrid_broker.errors import first_three

if TYPE_CHECKING:
    from simgrid_broker.reach import Reach
    from simgrid_broker.scenario import Scenario
    from simgrid_broker.scenario.work.tasklist import TaskList

EXAMPLES = """\b
Examples:
  simgrid-broker check scenarios/atlas_day.yaml
  simgrid-broker check scenarios/quickstart.yaml --set grid.synthetic.sites=20
"""


def check(scenario: ScenarioFile, settings: Settings = None, workload: WorkloadFile = None) -> None:
    """Check a scenario without running it.

    Lists every problem, or prints "ok" with a summary of the scenario and remarks.
    """
    from simgrid_broker.scenario.work.synthetic import task_list
    given = loaded(scenario, settings=settings, workload=workload)
    tasks = task_list(given)                            # reads the trace
    work, work_remarks = described_work(given, tasks)
    typer.echo(f"ok: {given.name} ({scenario})")
    for name, text in (("time", described_time(given)), ("grid", described_grid(given)),
                       ("shares", described_shares(given)), ("work", work), ("rules", described_rules(given))):
        typer.echo(paragraph(f"  {name:<8}{text}", " " * 10))
    for place, text in enumerate(described_reach(given, tasks)):
        typer.echo(paragraph(f"  {'' if place else 'reach':<8}{text}", " " * 12))
    from simgrid_broker.advice import remarks, remarks_on_zero_share
    for remark in (*remarks(given), *work_remarks, *remarks_on_zero_share(given)):
        typer.echo(paragraph(f"  note: {remark}", " " * 8))


def described_time(scenario: "Scenario") -> str:
    """Duration and warm-up."""
    from simgrid_broker.units import format_seconds
    text = format_seconds(scenario.duration)
    return text + (f", of which {format_seconds(scenario.warm_up)} are warm-up" if scenario.warm_up else "")


def described_grid(scenario: "Scenario") -> str:
    """Size of the grid."""
    from simgrid_broker.world.queue_tables import pools_of
    grid = scenario.grid
    cores = sum(pool.cores for pool in pools_of(grid)[1])
    nuclei = sum(site.nucleus for site in grid.sites.values())
    return (f"{count(len(grid.sites), 'site')} ({count(nuclei, 'nucleus', 'nuclei')}), "
            f"{count(len(grid.queues), 'PanDA queue')}, {count(cores, 'core')}, {count(len(grid.storages), 'storage')}")


def described_shares(scenario: "Scenario") -> str:
    """The leaves of the share tree with their targets."""
    from simgrid_broker.world.shares import share_tree
    tree = share_tree(scenario.shares_in_use)
    leaves = ", ".join(f"{tree.names[node]} {tree.value[node]:.3g} %" for node in tree.leaves)
    return f"{count(len(tree.leaves), 'leaf', 'leaves')}: {leaves}"


MOST_RULES = 3
"""Rules that are named for each stream: those that take most."""


def reach_of_work(scenario: "Scenario", tasks: "TaskList") -> dict[str, "Reach"]:
    """Reach of each stream of work, and of a trace; none where no broker chooses among all queues."""
    from simgrid_broker.reach import reach_of_streams
    from simgrid_broker.systems.dispatch import dispatcher
    bound = dispatcher(scenario.dispatch).binds_jobs and not scenario.work_queues
    return reach_of_streams(scenario, tasks) if bound else {}


def described_reach(scenario: "Scenario", tasks: "TaskList") -> list[str]:
    """Queues and cores at which each stream of work can run, and the rules that take most of the others."""
    streams: dict[str, list[str]] = {}
    for name, reach in reach_of_work(scenario, tasks).items():
        whole = reach.cores + sum(cores for _, cores in reach.taken)
        taken = ", ".join(f"{label}{_no_tags(scenario, label)} {100 * cores / whole:.0f} %"
                          for label, cores in reach.taken[:MOST_RULES])
        text = f"{count(reach.queues, 'queue')} with {reach.cores:,} of {whole:,} cores" + (
            f"; taken by {taken}" if taken else "")
        streams.setdefault(text, []).append(name)
    return [f"{first_three(names)}: {text}" for text, names in streams.items()]


def _no_tags(scenario: "Scenario", label: str) -> str:
    """Addition to the rule of software where most queues with AUTO publish none."""
    auto = [queue for queue in scenario.grid.queues.values() if "AUTO" in queue.releases]
    silent = sum(not queue.software for queue in auto)
    return f" (no tags of {silent} queues with AUTO)" if label.startswith("-cache") and 2 * silent > len(auto) else ""


def described_work(scenario: "Scenario", tasks: "TaskList") -> tuple[str, tuple[str, ...]]:
    """The work that arrives within the run, and remarks from the importer of a trace."""
    from simgrid_broker.world.build import only_tasks_that_come
    work = scenario.workload
    only_tasks_that_come(scenario, tasks.rows["arrival_s"], tasks.vocabularies["task_names"])
    remarks = (*tasks.remarks, *(remarks_on_intake(scenario, tasks) if work.trace else ()))
    sources = [count(len(work.campaigns), "campaign")] if work.campaigns else []
    sources += [count(len(work.users), "group of users", "groups of users")] if work.users else []
    sources += [str(work.trace.file)] if work.trace else []
    cut, pieces = tasks.split()["n_files"] > 0, tasks.rows["n_jobs"]
    amounts = [count(int(pieces[~cut].sum()), "job")] if not cut.all() or not len(cut) else []
    amounts += [count(int(pieces[cut].sum()), "file or part of a file", "files or parts of files")] if cut.any() else []
    total = f"{count(len(tasks.rows), 'task')} with {' and '.join(amounts)}"
    return f"{' and '.join(sources) or 'none'}: {total}", remarks


def remarks_on_intake(scenario: "Scenario", tasks: "TaskList") -> tuple[str, ...]:
    """Remarks on a trace of which more is submitted than the JobGenerator takes in."""
    from simgrid_broker.agents.jedi.job_generator import intake_remarks
    from simgrid_broker.scenario.gdpconfig import in_force
    from simgrid_broker.views import Gdpconfig
    from simgrid_broker.world.build import build
    return tuple(intake_remarks(build(scenario, tasks), Gdpconfig(in_force(scenario))))


def described_rules(scenario: "Scenario") -> str:
    """Edition, seed, policies other than the default, and gdpconfig values of the scenario."""
    policies = [f"{kind}: {name}" for kind, name in scenario.policies
                if name != type(scenario.policies).model_fields[kind].default]
    keys = [f"{key} = {value}" for key, value in scenario.gdpconfig.items()]
    return "; ".join([f"{edition_of(scenario.edition).name} edition", f"seed {scenario.seed}", *policies, *keys])
