"""`import`: external files converted to a grid, or to another part of a scenario, that a scenario can extend."""

from pathlib import Path
from typing import Annotated

import typer

from simgrid_broker.cli.check import reach_of_work
from simgrid_broker.cli.text import count, paragraph
from simgrid_broker.errors import first_three

CRIC_EXAMPLES = """\b
Examples:
  simgrid-broker import cric pandaqueues.json -o scenarios/grid.yaml
  simgrid-broker import cric pandaqueues.json --rses rses.json --closeness sitematrix.json -o scenarios/grid.yaml
  simgrid-broker import cric pandaqueues.json --software tags.json -o scenarios/grid.yaml
  simgrid-broker import cric pandaqueues.json --auto-as-any -o scenarios/grid.yaml
"""
CGSIM_EXAMPLES = """\b
Examples:
  simgrid-broker import cgsim site_info.json site_conn_info.json -o scenarios/cgsim_grid.yaml
  simgrid-broker import cgsim site_info.json site_conn_info.json jobs.csv -o scenarios/cgsim_grid.yaml
"""
SWF_EXAMPLES = """\b
Examples:
  simgrid-broker import swf LCG-2005-1.swf.gz -o scenarios/lcg_partitions.yaml
"""

SHARES_EXAMPLES = """\b
Examples:
  simgrid-broker import shares global_shares.json -o scenarios/shares.yaml
  simgrid-broker import shares global_shares.json --types resource_types.json --slots slots.json -o shares.yaml
"""
GDPCONFIG_EXAMPLES = """\b
Examples:
  simgrid-broker import gdpconfig config.json -o scenarios/gdpconfig.yaml
"""
HARVESTER_EXAMPLES = """\b
Examples:
  simgrid-broker import harvester panda_queueconfig.json --grid scenarios/grid.yaml -o scenarios/limits.yaml
"""

ENDPOINTS_EXAMPLES = """\b
Examples:
  simgrid-broker import endpoints --grid grid.yaml --status ddmendpointstatus.json -o scenarios/status.yaml
  simgrid-broker import endpoints --grid grid.yaml --space rse_usage.json -o scenarios/space.yaml
"""
NETWORK_EXAMPLES = """\b
Examples:
  simgrid-broker import network metrics.json --grid scenarios/grid.yaml -o traffic.yaml
  simgrid-broker import network metrics.json --grid scenarios/grid.yaml --rates -o scenarios/rates.yaml
"""

Output = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File to write, YAML; an "
                                      "existing file is replaced.", show_default=False)]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Convert external files to a grid, or to "
                  "another part of a scenario.")


@app.command(epilog=CRIC_EXAMPLES)
def cric(
    pandaqueues: Annotated[Path, typer.Argument(help="CRIC's PanDA queues, JSON.", show_default=False)],
    output: Output,
    rses: Annotated[Path | None, typer.Option(metavar="FILE", help="DDM endpoints, or their relations to queues, JSON.",
                                              show_default=False)] = None,
    closeness: Annotated[Path | None, typer.Option(metavar="FILE", help="CRIC's site matrix, JSON.",
                                                   show_default=False)] = None,
    software: Annotated[Path | None, typer.Option(metavar="FILE", help="CRIC's software and hardware of queues "
                                                  "(preset=tags), JSON.", show_default=False)] = None,
    auto_as_any: Annotated[bool, typer.Option("--auto-as-any", help="Let queues with releases AUTO that publish no "
                                              "software take tasks whatever release they ask for.")] = False,
) -> None:
    """Convert a CRIC dump to a grid, and list unused entries and assumptions."""
    from simgrid_broker.advice import policies_as_read
    from simgrid_broker.scenario.importers import cric_grid, write_grid
    grid, remarks = cric_grid(pandaqueues, rses, closeness, software, auto_as_any)
    remarks += policies_as_read(grid)
    write_grid(grid, output, remarks)
    show_written(output, remarks, has_work=False)


@app.command(epilog=CGSIM_EXAMPLES)
def cgsim(
    sites: Annotated[Path, typer.Argument(help="CGSim's site file, JSON.", show_default=False)],
    links: Annotated[Path, typer.Argument(help="CGSim's connection file, JSON.", show_default=False)],
    output: Output,
    jobs: Annotated[Path | None, typer.Argument(help="CGSim's job file, CSV.", show_default=False)] = None,
) -> None:
    """Convert CGSim's files to a grid with the jobs as its work, and list unused entries."""
    from simgrid_broker.scenario.importers import read_cgsim, write_grid
    grid, others, remarks = read_cgsim(sites, links, jobs)
    write_grid(grid, output, remarks, others)
    show_written(output, remarks, has_work=jobs is not None)


@app.command(epilog=SWF_EXAMPLES)
def swf(
    trace: Annotated[Path, typer.Argument(help="A trace in the standard workload format, plain or gzip.",
                                          show_default=False)],
    output: Output,
) -> None:
    """Convert the partitions of a trace to a grid with its jobs as work, and list assumptions."""
    from simgrid_broker.scenario.importers import read_swf_grid, write_grid
    grid, others, remarks = read_swf_grid(trace)
    write_grid(grid, output, remarks, others)
    show_written(output, remarks, has_work=True)


@app.command(epilog=SHARES_EXAMPLES)
def shares(
    table: Annotated[Path, typer.Argument(help="PanDA's global shares, JSON: rows of the table, or a printed tree.",
                                          show_default=False)],
    output: Output,
    types: Annotated[Path | None, typer.Option(metavar="FILE", help="Rows of PanDA's resource types, JSON.",
                                               show_default=False)] = None,
    slots: Annotated[Path | None, typer.Option(metavar="FILE", help="Rows of Harvester's slots, JSON.",
                                               show_default=False)] = None,
) -> None:
    """Convert global shares, resource types and slots to a part of a scenario, and list unused entries."""
    from simgrid_broker.scenario.importers import read_shares
    show_part(output, *read_shares(table, types, slots))


@app.command(epilog=GDPCONFIG_EXAMPLES)
def gdpconfig(
    table: Annotated[Path, typer.Argument(help="Rows of PanDA's table config, JSON.", show_default=False)],
    output: Output,
) -> None:
    """Convert gdpconfig to a part of a scenario, and list unused keys."""
    from simgrid_broker.scenario.importers import read_gdpconfig
    show_part(output, *read_gdpconfig(table))


@app.command(epilog=HARVESTER_EXAMPLES)
def harvester(
    config: Annotated[Path, typer.Argument(help="Harvester's queue configuration, JSON.", show_default=False)],
    output: Output,
    grid: Annotated[Path, typer.Option(metavar="FILE", help="Scenario, or grid written by `import`, with the queues.",
                                       show_default=False)],
) -> None:
    """Convert Harvester's limits to options of the queues of a grid, and list unused settings."""
    from simgrid_broker.scenario import load_scenario
    from simgrid_broker.scenario.importers import read_harvester
    show_part(output, *read_harvester(config, load_scenario(grid).grid.queues))


@app.command(epilog=ENDPOINTS_EXAMPLES)
def endpoints(
    grid: Annotated[Path, typer.Option(metavar="FILE", help="Scenario, or grid written by `import`, with the storages.",
                                       show_default=False)],
    output: Output,
    status: Annotated[Path | None, typer.Option(metavar="FILE", help="CRIC's status of DDM endpoints, JSON.",
                                                show_default=False)] = None,
    space: Annotated[Path | None, typer.Option(metavar="FILE", help="Rucio's usage of RSEs, JSON.",
                                               show_default=False)] = None,
) -> None:
    """Convert status and space of DDM endpoints to a part of a scenario, and list unused entries."""
    if status is None and space is None:
        raise typer.BadParameter("--status or --space is needed: there is nothing to convert", param_hint="'--status'")
    from simgrid_broker.scenario import load_scenario
    from simgrid_broker.scenario.importers import read_endpoints
    show_part(output, *read_endpoints(load_scenario(grid).grid.storages, status, space))


@app.command(epilog=NETWORK_EXAMPLES)
def network(
    metrics: Annotated[Path, typer.Argument(help="Metrics of the Network Weather Service, JSON.", show_default=False)],
    grid: Annotated[Path, typer.Option(metavar="FILE", help="Scenario, or grid written by `import`, with the sites.",
                                       show_default=False)],
    output: Output,
    rates: Annotated[bool, typer.Option("--rates", help="Write a part of a scenario instead, in which files move at "
                                                        "the throughput of their links.")] = False,
) -> None:
    """Convert network metrics to what a snapshot knows of links, or to rates of files, and list unused entries."""
    from simgrid_broker.scenario import load_scenario
    from simgrid_broker.scenario.importers import read_network_metrics
    part, remarks = read_network_metrics(metrics, load_scenario(grid).grid.sites, rates)
    show_part(output, part, remarks, "scenario" if rates else "snapshot")


def show_part(output: Path, part: dict, remarks: list[str], of: str = "scenario") -> None:
    """Write a part of a scenario, or snapshot; print the remarks and the path."""
    from simgrid_broker.scenario.importers import write_part
    write_part(part, output, remarks, of)
    for remark in remarks:
        typer.echo(paragraph(f"- {remark}", "  "))
    typer.echo(f"\nWritten: {output}. Use it in a {of} with `extends: [..., {output.name}]`.")


def show_written(output: Path, remarks: list[str], has_work: bool) -> None:
    """Print the remarks and the path of the written grid; for one with work, whether queues take it, and whether the
    file passes the checks of a run."""
    for remark in remarks:
        typer.echo(paragraph(f"- {remark}", "  "))
    runs = how_it_runs(output) if has_work else "It has no work; use"
    typer.echo(f"\nWritten: {output}. {runs} it in a scenario with `extends: {output.name}`.")


def how_it_runs(path: Path) -> str:
    """Beginning of a sentence on whether a scenario with work makes jobs as it is: whether it passes the checks, and
    queues take the work."""
    from simgrid_broker.errors import ScenarioError
    from simgrid_broker.scenario import load_scenario
    from simgrid_broker.scenario.work.synthetic import task_list
    try:
        scenario = load_scenario(path)
        reached = reach_of_work(scenario, task_list(scenario))
    except ScenarioError as error:
        return f"It does not run as it is (`check {path}`: {count(len(error.problems), 'problem')}); use"
    stuck = [f"{name} ({', '.join(label for label, _ in reach.taken[:3])})" for name, reach in reached.items()
             if not reach.queues]
    if not stuck:
        return "Run it as it is, or use"
    some = "no jobs" if len(stuck) == len(reached) else "jobs of other work only"
    return f"As it is, it makes {some}: no queue takes those of {first_three(stuck)}. Use"
