"""`export`: results of a run in the formats of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from simgrid_broker.cli.text import paragraph

RECORDS_EXAMPLES = """\b
Examples:
  simgrid-broker export records results/quickstart/seed-1
  simgrid-broker export records results/quickstart/seed-1 -o jobs.parquet
  simgrid-broker calibrate scenarios/quickstart.yaml results/quickstart/seed-1/panda_jobs.csv
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Write results of a run in formats of others.")


@app.callback()
def group() -> None:
    """Write results of a run in formats of others."""


@app.command(epilog=RECORDS_EXAMPLES)
def records(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", show_default=False, help=(
        "File to write, .csv or .parquet; default: panda_jobs.csv in RUN."))] = None,
) -> None:
    """Write the jobs of a run as PanDA job records, which calibrate and a recorded workload read.

    A record is an attempt of a job; its work is the true one, HS06 s, which real records do not have.
    """
    from simgrid_broker.records import read_run
    from simgrid_broker.records.panda_records import CUT_AT_START, missing_in, write_panda_records
    path, given = output or run / "panda_jobs.csv", read_run(run)
    table = write_panda_records(given, path)
    typer.echo(f"{len(table)} jobs: {path}")
    cut = [CUT_AT_START] if given.manifest["scenario"]["start"] == "filled" else []
    for sentence in (*missing_in(table), *cut):
        typer.echo(paragraph(f"missing: {sentence}"))
