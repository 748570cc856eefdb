"""`links`: the busiest links and doors of a run, and who sent how much to whom."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import recorded_run
from simgrid_broker.cli.text import GAP, count, paragraph, table, terminal_width

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker links results/atlas_day/seed-1
  simgrid-broker links results/atlas_day/seed-1 --matrix
  simgrid-broker links results/atlas_day/seed-1 --all --json
"""
MOST_LINKS, MOST_DOORS, MOST_SITES = 20, 10, 20
"""Links and doors shown without --all; most sites of the matrix."""
ARROW = " \N{RIGHTWARDS ARROW} "
CORNER, OTHERS = " from, to", "others ("


def links(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help=f"All links and doors, not only the {MOST_LINKS} and "
                                                      f"{MOST_DOORS} busiest.")] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="TB and MB/s from site to site instead, for as many of "
                                                          "the busiest sites as fit the terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: links, doors, direct reading and the "
                                               "matrix.")] = False,
) -> None:
    """List the busiest links of a run: bytes, rates, failures, waits and queues, and how full its doors were.

    Figures are of the window of the run. Doors are those of sites, endpoints and backbones that have a capacity.
    """
    recorded = recorded_run(run)
    if as_json:
        typer.echo(_as_json(recorded, every))
    elif matrix:
        typer.echo(_matrix(recorded))
    else:
        typer.echo("\n\n".join(filter(None, (_links(recorded, every), _readers(recorded, every),
                                              _doors(recorded, every)))))


def links_of(run: "Run") -> "pd.DataFrame":
    """Links with traffic, busiest first: the figures of `link_use`, with the waits of their transfers."""
    from simgrid_broker import metrics
    waits = metrics.wide(metrics.link_waits(run), "wait", "took")
    return metrics.wide(metrics.link_use(run)).merge(waits, how="left", on=["source", "destination"])


def _as_json(run: "Run", every: bool) -> str:
    from simgrid_broker import metrics
    tables = {"links": links_of(run).head(None if every else MOST_LINKS),
              "doors": metrics.wide(metrics.door_use(run)).head(None if every else MOST_DOORS),
              "direct_reading": metrics.wide(metrics.direct_reading(run)).head(None if every else MOST_LINKS),
              "matrix": metrics.wide(metrics.site_matrix(run, MOST_SITES))}
    plain = {name: rows.astype(object).where(rows.notna(), None).to_dict("records") for name, rows in tables.items()}
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)


def _links(run: "Run", every: bool) -> str:
    """The table of links."""
    rows = links_of(run)
    if not len(rows):
        return "Nothing moved between sites in the window of this run."
    shown = rows if every else rows.head(MOST_LINKS)
    cells = [(row.source + ARROW + row.destination, _short(row.moved), f"{row.files:,.0f}", _short(1000 * row.rate),
              _short(1000 * row.peak_rate), f"{row.utilisation:.0f}", _short(row.failed), _short(row.wait),
              _short(row.took), f"{row.queued_files:,.0f}") for row in shown.itertuples()]
    head = ("link", "TB", "files", "MB/s", "peak", "busy", "failed", "wait", "took", "queue")
    left = "" if len(shown) == len(rows) else f" {count(len(rows) - len(shown), 'more link')}: --all."
    return table(head, cells, numbers=range(1, len(head))) + "\n" + paragraph(
        "busy: % of the time in which bytes moved; failed: % of attempts at files; wait, took: min from the request to "
        f"the first byte and to the end, mean of transfers; queue: most files that waited or moved.{left}")


def _readers(run: "Run", every: bool) -> str:
    """The table of what running jobs read from other sites; empty if none did."""
    from simgrid_broker import metrics
    rows = metrics.wide(metrics.direct_reading(run))
    if not len(rows):
        return ""
    shown = rows if every else rows.head(MOST_LINKS)
    cells = [(row.source + ARROW + row.destination, f"{row.jobs:,.0f}", f"{row.cut:,.0f}", _short(row.read),
              _short(row.rate), _short(row.took)) for row in shown.itertuples()]
    head = ("direct_reading", "jobs", "cut", "TB", "MB/s", "took")
    left = "" if len(shown) == len(rows) else f" {count(len(rows) - len(shown), 'more link')}: --all."
    return table(head, cells, numbers=range(1, len(head))) + "\n" + paragraph(
        "Input that running jobs read over these links, without a transfer; cut: jobs that ended before they had read "
        f"all; MB/s: of one job, mean; took: min, median.{left}")


def _doors(run: "Run", every: bool) -> str:
    """The table of doors."""
    from simgrid_broker import metrics
    rows = metrics.wide(metrics.door_use(run))
    if not len(rows):
        return "No site, endpoint or backbone has a capacity that links share."
    shown = rows if every else rows.head(MOST_DOORS)
    cells = [(row.door, row.kind, _short(row.capacity), _short(row.rate), _short(row.peak_rate), f"{row.use:.0f}",
              f"{row.peak_use:.0f}", f"{row.queued_files:,.0f}") for row in shown.itertuples()]
    head = ("door", "kind", "Gb/s", "mean", "peak", "use", "at peak", "queue")
    left = "" if len(shown) == len(rows) else f" {count(len(rows) - len(shown), 'more door')}: --all."
    return table(head, cells, numbers=range(2, len(head))) + "\n" + paragraph(
        f"use: % of the capacity, mean and in the busiest sample, with the bytes of failed attempts.{left}")


def _matrix(run: "Run") -> str:
    """TB, and MB/s, from the sites of the rows to those of the columns, as many as the terminal is wide."""
    from simgrid_broker import metrics
    names = _sites(metrics.site_matrix(run, MOST_SITES))
    if not names:
        return "Nothing moved between sites in the window of this run."
    widest = [max(map(len, group), default=0) + len(GAP) for group in (
        [name for name in names if not name.startswith(OTHERS)], [f"MB/s{CORNER}", f"{OTHERS}100)"])]
    most = max(1, (terminal_width() - 2 * widest[1]) // widest[0])
    matrix = metrics.wide(metrics.site_matrix(run, min(MOST_SITES, most)))
    return "\n\n".join((_square(matrix, "moved", "TB"), _square(matrix, "rate", "MB/s"), paragraph(
        "The sites with most traffic, the busiest first; a dash: nothing moved. Rates are means over the window.")))


def _square(matrix: "pd.DataFrame", metric: str, unit: str) -> str:
    """One metric of a matrix of sites as a table."""
    sites = _sites(matrix)
    values = dict(zip(zip(matrix.source, matrix.destination, strict=True), matrix[metric], strict=True))
    cells = [(source, *(_short(values.get((source, destination), float("nan"))) for destination in sites))
             for source in sites]
    return table((f"{unit}{CORNER}", *sites), cells, numbers=range(1, len(sites) + 1))


def _sites(matrix: "pd.DataFrame") -> list[str]:
    """Sites of a matrix, the busiest first, the others together at the end."""
    names = dict.fromkeys([*matrix.source, *matrix.destination])
    return sorted(names, key=lambda name: name.startswith(OTHERS))


def _short(value: float) -> str:
    """A number with three digits at most, a dash if it is not known."""
    return "–" if value != value else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
