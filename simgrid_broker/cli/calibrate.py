"""`calibrate`: queues and sites of a scenario fitted to PanDA job records."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import ScenarioFile, Settings, loaded
from simgrid_broker.cli.progress import steps
from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.cli.trouble import BadArgument

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.experiments.calibrate import Calibration

EXAMPLES = """\b
Examples:
  simgrid-broker calibrate scenarios/grid.yaml jobs.json
  simgrid-broker calibrate scenarios/grid.yaml jobs.parquet --held-out 30% --column computingsite=site --out fit
"""
MOST_ROWS = 15
"""Sites, and shares, that the terminal shows."""


def calibrate(
    scenario: ScenarioFile,
    records: Annotated[Path, typer.Argument(metavar="RECORDS", help="PanDA job records: JSON of the monitor or of the "
                                            "index, CSV or Parquet.", show_default=False)],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results; default: "
                                             "results/<scenario>/calibration.", show_default=False)] = None,
    held_out: Annotated[str, typer.Option(metavar="PART", help="Part of the jobs, the last ones, that is not "
                                          "fitted, but predicted; 0 = none.")] = "20%",
    columns: Annotated[list[str] | None, typer.Option("--column", metavar="NAME=COLUMN", help="Column of the records "
                                                      "that holds a field of PanDA; repeatable.",
                                                      show_default=False)] = None,
    settings: Settings = None,
) -> None:
    """Fit queues and sites of a scenario to job records, and test the fit on jobs that were held out.

    Writes a part of a scenario with the fitted values, a scenario that uses it, tables, and a report with the errors
    of predicted wall times before and after.
    """
    from simgrid_broker.experiments.calibrate import calibrate as fitted
    from simgrid_broker.experiments.calibration_report import FRAGMENT, RUNNABLE, write_calibration
    from simgrid_broker.experiments.study import folder_name
    part, names = part_given(held_out), columns_given(columns or ())
    given = loaded(scenario, None, None, settings)
    result = fitted(given, records, part, names)
    folder = out or Path("results") / folder_name(given.name) / "calibration"
    page = write_calibration(result, scenario, records, folder, part, steps("Writing the report"))
    show(result)
    typer.echo(f"\nReport: {page}\nFitted values: {folder / FRAGMENT}\n"
               f"Tables: {folder} (parameters, errors, waits, others: .csv and .parquet)")
    if result.is_better:
        more = "".join(f" --set {quote(one)}" for one in settings or ())
        typer.echo(f"Run it: simgrid-broker run {folder / RUNNABLE}{more}")


def part_given(text: str) -> float:
    """Part of the jobs that is held out; raises BadArgument."""
    from simgrid_broker.units import fraction
    try:
        part = float(fraction(text))
    except (TypeError, ValueError) as error:
        raise BadArgument("--held-out", text, str(error)) from None
    if not 0 <= part < 1:
        raise BadArgument("--held-out", text, "expected 0 to less than 100 %")
    return part


def columns_given(texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Names of columns by field; raises BadArgument."""
    from simgrid_broker.errors import nearest
    from simgrid_broker.schema.jobs import FIELDS
    by_name = {}
    for text in texts:
        name, _, column = (part.strip() for part in text.partition("="))
        if not name or not column:
            raise BadArgument("--column", text, "write NAME=COLUMN, for example computingsite=site")
        if name not in FIELDS:
            raise BadArgument("--column", text, "expected a field of PanDA's job records", nearest(name, FIELDS))
        by_name[name] = column
    return by_name


def show(result: "Calibration") -> None:
    """Print remarks, fitted values of queues, errors before and after by site and by share, and what predicts best."""
    from simgrid_broker.experiments.calibrate import left_as_they_were
    from simgrid_broker.experiments.calibration_report import by_dimension
    for remark in (*result.remarks, *left_as_they_were(result.parameters)):
        typer.echo(paragraph(f"note: {remark}"))
    typer.echo("\n" + values_text(result.parameters))
    for by in ("all", "site", "share"):
        rows = by_dimension(result, by)
        if len(rows):
            typer.echo("\n" + errors_text(rows, by))
    for sentence in result.verdicts:
        typer.echo("\n" + paragraph(sentence))
    if not len(result.errors):
        typer.echo("\nNo job with a known work was held out, so there are no errors to show.")


def values_text(parameters: "pd.DataFrame") -> str:
    """Power, factor of efficiency and overhead of the queues with most jobs as a table."""
    rows = parameters[parameters.noun == "queue"]
    of = {name: part.set_index("parameter") for name, part in rows.groupby("name", sort=False)}
    most = sorted(of, key=lambda name: -of[name].jobs["corepower"])
    lines = [(name, str(of[name].jobs["corepower"]), f"{of[name].before['corepower']:.4g}",
              f"{of[name].after['corepower']:.4g}", _interval(of[name], "corepower"),
              f"{of[name].after['cpu_efficiency']:.3f}", f"{of[name].after['payload_overhead']:.0f} s")
             for name in most[:MOST_ROWS]]
    more = len(most) - len(lines)
    return table(("queue", "jobs", "corepower", "fitted", "95 %", "efficiency", "overhead"), lines,
                 numbers=(1, 2, 3, 4, 5, 6)) + (f"\n{more} more are in parameters.csv." if more > 0 else "")


def _interval(rows: "pd.DataFrame", parameter: str) -> str:
    low, high = rows.low[parameter], rows.high[parameter]
    return f"{low:.3g} to {high:.3g}" if low == low else "-"


def errors_text(rows: "pd.DataFrame", by: str) -> str:
    """Median errors of predicted wall times by one dimension: before, after the fit, and by medians of earlier jobs."""
    from simgrid_broker.experiments.calibration_jobs import BEFORE, WHEN
    from simgrid_broker.metrics import wide
    from simgrid_broker.report.words import number
    figures = {when: part.set_index(by) for when, part in wide(rows).groupby("when", sort=False)}
    before = figures[BEFORE]
    shown = [figures[when].off_p50 for when in WHEN]
    lines = [(name, number(before.jobs[name]), *(f"{off[name]:.1f}" for off in shown))
             for name in before.index[:MOST_ROWS]]
    head = (by, "jobs", "before", "after", "task", "group", "site, %")
    more = len(before) - len(lines)
    return table(head, lines, numbers=range(1, len(head))) + (f"\n{more} more are in errors.csv." if more > 0 else "")
