"""`import`: external files converted to a grid that a scenario can extend."""

from pathlib import Path
from typing import Annotated

import typer

from simgrid_broker.cli.text import paragraph

CRIC_EXAMPLES = """\b
Examples:
  simgrid-broker import cric pandaqueues.json -o scenarios/grid.yaml
  simgrid-broker import cric pandaqueues.json --rses rses.json --closeness sitematrix.json -o scenarios/grid.yaml
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

Output = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Grid file to write, YAML; an "
                                      "existing file is replaced.", show_default=False)]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Convert external files to a grid.")


@app.command(epilog=CRIC_EXAMPLES)
def cric(
    pandaqueues: Annotated[Path, typer.Argument(help="CRIC's PanDA queues, JSON.", show_default=False)],
    output: Output,
    rses: Annotated[Path | None, typer.Option(metavar="FILE", help="DDM endpoints, or their relations to queues, JSON.",
                                              show_default=False)] = None,
    closeness: Annotated[Path | None, typer.Option(metavar="FILE", help="CRIC's site matrix, JSON.",
                                                   show_default=False)] = None,
) -> None:
    """Convert a CRIC dump to a grid, and list unused entries and assumptions."""
    from simgrid_broker.scenario.importers import read_cric, write_grid
    grid, remarks = read_cric(pandaqueues, rses, closeness)
    write_grid(grid, output, remarks)
    show_written(output, remarks)


@app.command(epilog=CGSIM_EXAMPLES)
def cgsim(
    sites: Annotated[Path, typer.Argument(help="CGSim's site file, JSON.", show_default=False)],
    links: Annotated[Path, typer.Argument(help="CGSim's connection file, JSON.", show_default=False)],
    output: Output,
    jobs: Annotated[Path | None, typer.Argument(help="CGSim's job file, CSV.", show_default=False)] = None,
) -> None:
    """Convert CGSim's files to a grid with the jobs as its work, and list unused entries."""
    from simgrid_broker.scenario.importers import read_cgsim, small_storages, write_grid
    grid, trace, remarks = read_cgsim(sites, links, jobs)
    work = {} if trace is None else {"workload": {"trace": {"file": str(trace.resolve()), "format": "cgsim"}}}
    write_grid(grid, output, remarks, small_storages(grid) | work)
    show_written(output, remarks)


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
    show_written(output, remarks)


def show_written(output: Path, remarks: list[str]) -> None:
    """Print the remarks and the path of the written grid."""
    for remark in remarks:
        typer.echo(paragraph(f"- {remark}", "  "))
    typer.echo(f"\nWritten: {output}. Run it as it is, or use it in a scenario with `extends: {output.name}`.")
