"""`compare`: two runs in every detail, or groups of runs with the errors of their differences."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import PlotFormats, Settings, Until, loaded, plot_formats
from simgrid_broker.cli.progress import steps
from simgrid_broker.cli.study_options import HERE, Figures, RunOn, grouped_options, seeds_given
from simgrid_broker.cli.text import count, paragraph, table
from simgrid_broker.cli.trouble import BadArgument

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.experiments.compare import Group
    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker compare results/quickstart/seed-1 results/quickstart/seed-1-2
  simgrid-broker compare results/base/seed-1 results/tuned/seed-1 --out results/base-and-tuned --format pdf
  simgrid-broker compare scenarios/saturated_day.yaml scenarios/flat_shares.yaml --seeds 5
  simgrid-broker compare results/minimal/replicate results/tuned/replicate --figure wait_p50
"""
SEEDS = "10"
MOST_SETTINGS = 12
"""Settings that differ and are printed; more are counted."""


@grouped_options
def compare(
    things: Annotated[list[Path], typer.Argument(metavar="RUN|SCENARIO...", help="Folders of runs, folders that hold "
                                                 "runs or a study, or scenario files; the first is the base.",
                                                 show_default=False)],
    seeds: Annotated[str | None, typer.Option(metavar="SEEDS", help="Seeds with which scenarios are run: a number, or "
                                              f"a range such as 5-9; default: {SEEDS}.", show_default=False)] = None,
    until: Until = None,
    settings: Settings = None,
    figures: Figures = None,
    run_on: RunOn = HERE,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the comparison; default: next to the "
                                             "last run.", show_default=False)] = None,
    go_on: Annotated[bool, typer.Option("--yes", help="Do not ask before a scenario beside a run is run.")] = False,
    formats: PlotFormats = "",
) -> None:
    """Compare runs, groups of runs, or scenarios with several seeds.

    Two single runs: settings that differ, differences of all results, overlaid curves. Groups: which differences are
    real, with intervals over the seeds, and how many more seeds would settle the others.
    """
    if len(things) < 2:
        raise BadArgument("RUN|SCENARIO...", str(things[0]), "name at least two runs, folders of runs or scenarios")
    from simgrid_broker.scenario.loading.documents import located
    things = [located(thing) for thing in things]
    with_scenarios = any(thing.is_file() for thing in things)
    if not with_scenarios:
        refuse_unused(seeds, until, settings, run_on)
    if len(things) == 2 and all(is_run(thing) for thing in things):
        compare_two(things[0], things[1], figures, out, plot_formats(formats))
        return
    if formats:
        raise BadArgument("--format", formats, "acts on two single runs; `Study.plot_effect` draws figures of a study")
    if with_scenarios and not go_on:
        ask_before_runs(things, seeds or SEEDS)
    from simgrid_broker.experiments.compare import grouped, write_groups_report
    chosen = tuple(figures or ())
    with run_on.watched() as workers:
        groups, study = grouped(things, seeds_given(seeds or SEEDS), out if with_scenarios else None, workers,
                                lambda file: loaded(file, None, until, settings), chosen)
    folder = study.folder if study is not None else out or default_folder(groups)
    page, rows = write_groups_report(groups, folder, chosen, steps("Writing the report"))
    show_groups(groups, rows, chosen)
    typer.echo(f"\nReport: {page}\nTables: {folder} (differences, means, results as .csv and .parquet)")


def ask_before_runs(things: list[Path], seeds: str) -> None:
    """Ask whether scenarios are to be run that stand beside recorded runs, where a run may have been meant."""
    from simgrid_broker.experiments.study_file import seeds_of
    scenarios = [thing for thing in things if thing.is_file()]
    if len(scenarios) < len(things) and all(thing.exists() for thing in things):
        number = len(seeds_of(seeds_given(seeds))) * len(scenarios)
        typer.confirm(f"{', '.join(map(str, scenarios))}: a scenario, not a run. Run it with {count(number, 'seed')} "
                      "to compare it (--yes does not ask)?", abort=True)


def refuse_unused(seeds: str | None, until: str | None, settings: list[str] | None, run_on: RunOn) -> None:
    """Raise BadArgument for an option that only acts on scenarios."""
    for name, value in (("--seeds", seeds), ("--until", until), ("--set", " ".join(settings or ()) or None),
                        ("--workers", run_on.workers), ("--scheduler", run_on.scheduler),
                        ("--reports", run_on.reports or None)):
        if value is not None:
            raise BadArgument(name, value, "has no effect without a scenario: recorded runs keep seeds and settings")


def is_run(folder: Path) -> bool:
    """True if a path is the folder of one run; `read_run` refuses a folder that does not exist, with runs nearby."""
    from simgrid_broker.experiments.compare import recorded
    from simgrid_broker.records import read_run
    if folder.is_file():
        return False
    if not folder.is_dir():
        read_run(folder)
    groups = recorded(folder)
    return len(groups) == 1 and len(groups[0][1]) == 1


def compare_two(base: Path, changed: Path, figures: list[str] | None, out: Path | None, formats: Sequence[str] = ()
                ) -> None:
    """Compare two single runs in tables and curves."""
    from simgrid_broker.experiments.compare import recorded
    from simgrid_broker.report import write_comparison
    from simgrid_broker.report.comparison import first_jobs_table, scenario_note, setting_differences
    if figures:
        raise BadArgument("--figure", figures[0], "has no effect on two single runs, whose figures are all compared")
    run_a, run_b = (recorded(folder)[0][1][0] for folder in (base, changed))
    folder = out or run_b.folder.parent / f"{_label(run_b)}-against-{_label(run_a)}"
    page = write_comparison(run_a, run_b, folder, steps("Comparing"), formats)
    typer.echo(f"A: {run_a.folder}\nB: {run_b.folder}\n")
    if note := scenario_note(run_a, run_b):
        typer.echo(paragraph(f"note: {note}") + "\n")
    show_settings(setting_differences(run_a, run_b))
    typer.echo(differences(run_a, run_b))
    typer.echo("\n" + shares_text(run_a, run_b))
    first = first_jobs_table(run_a, run_b, 3)
    typer.echo("\nJobs that differ first:" if len(first) else "\nNo job differs.")
    for row in first.itertuples():
        typer.echo(paragraph(f"{row.Job}: {row.State} {row.A} in A, {row.B} in B; {row.Cause}"))
    typer.echo(f"\nReport: {page}")


def show_settings(settings: "pd.DataFrame") -> None:
    """Print the settings that differ, at most MOST_SETTINGS."""
    if not len(settings):
        return
    shown = settings.head(MOST_SETTINGS)
    typer.echo(table(("setting", *settings.columns[1:]), [tuple(map(str, row)) for row in shown.to_numpy()]))
    if len(settings) > len(shown):
        typer.echo(f"{len(settings) - len(shown)} more settings differ.")
    typer.echo("")


def shares_text(run_a: "Run", run_b: "Run") -> str:
    """Target and delivered power of every share of two runs side by side, as a table."""
    from simgrid_broker import metrics
    from simgrid_broker.report.words import number
    rows = metrics.difference(*(metrics.share_compliance(run).drop(columns="node") for run in (run_a, run_b)))
    target = rows[rows.metric == "target"].set_index("share")
    cells = [("  " * (row.level - 1) + row.share, *map(number, (
        target.base[row.share], target.changed[row.share], row.base, row.changed, row.difference)))
        for row in rows[(rows.metric == "delivered") & (rows.level > 0)].itertuples()]
    return table(("share", "target % A", "B", "delivered % A", "B", "B - A"), cells, numbers=range(1, 6))


def differences(run_a: "Run", run_b: "Run") -> str:
    """The summaries of two runs side by side, as a table."""
    from simgrid_broker import metrics
    from simgrid_broker.report.words import SUMMARY_LABELS, number
    rows = metrics.difference(metrics.summary(run_a), metrics.summary(run_b))
    return table(("figure", "A", "B", "B - A", "unit"),
                 [(SUMMARY_LABELS[row.metric], number(row.base), number(row.changed), number(row.difference), row.unit)
                  for row in rows.itertuples()], numbers=(1, 2, 3))


def show_groups(groups: "list[Group]", rows: "pd.DataFrame", figures: tuple[str, ...] = ()) -> None:
    """Print the groups, what to know about them, settings that differ, and the differences with their intervals."""
    from simgrid_broker.experiments.compare import remarks_on, setting_table
    for k, group in enumerate(groups):
        typer.echo(f"{'base' if k == 0 else f'{k:4}'}: {group.name}, {len(group.runs)} runs")
    for remark in remarks_on(groups, rows, figures):
        typer.echo(paragraph(f"note: {remark}"))
    typer.echo("")
    show_settings(setting_table(groups))
    typer.echo(difference_text(rows))


def difference_text(rows: "pd.DataFrame") -> str:
    """Differences with their intervals as a table."""
    from simgrid_broker.report.words import number
    several = rows.group.nunique() > 1
    head = (*(("group",) if several else ()), "figure", "base", "value", "difference", "95 % low", "high", "real",
            "seeds needed", "unit")
    lines = [(*((row["group"],) if several else ()), row["figure"],
              *(number(row[name]) for name in ("base", "changed", "difference", "low", "high")),
              "yes" if row["is_real"] else "no", number(row["seeds_needed"]), row["unit"])
             for row in rows.to_dict("records")]
    first = 2 if several else 1
    return table(head, lines, numbers=(*range(first, first + 5), first + 6))


def default_folder(groups: "list[Group]") -> Path:
    """Next to the last group, named by the groups."""
    from simgrid_broker.experiments.study import folder_name
    last = groups[-1].runs[0].folder.parent
    return last.parent / folder_name("-against-".join(group.name for group in reversed(groups)))


def _label(run: "Run") -> str:
    """Scenario and run as part of a folder name."""
    return run.name.replace("/", "-")
