"""The style shared by all plots, their margins, and their conversion to SVG and to files for print, which leaves
Matplotlib's settings as they were.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Final, Literal, cast

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation

from simgrid_broker.report.blocks import Mark, Marks
from simgrid_broker.report.drawing.axes import Panel
from simgrid_broker.report.drawing.svg import MOVES, SCALE, Vector
from simgrid_broker.report.drawing.text_widths import POINTS, fitted, height, widest, width
from simgrid_broker.report.words import FAINT, GRID, HEAT, INK
from simgrid_broker.units import DAY, HOUR, MINUTE

LEFT, RIGHT, BOTTOM, TOP = 0.8, 0.2, 0.48, 0.16
"""Smallest margins: room for seven digits and an axis label at the left, for two lines of text below, inches."""
LABEL, TICK, SIDE, MARK = 9.0, 8.0, 7.5, 6.5
"""Sizes of axis labels, of ticks, of texts beside the axes, and of incidents, points."""
LONGEST = 2.6
"""Largest width of a name beside the axes, inches."""
LONGEST_MARK = 3.2
"""Largest width of the text of an incident, inches."""
SETTINGS: Final[dict[Any, Any]] = {"text.parse_math": False, "pdf.fonttype": 42}
"""Settings of Matplotlib within pictures: dollar signs in names are no formulas, and texts of a PDF are TrueType, as
publishers ask.
"""
RESOLUTION = 150
"""Dots per inch of a picture of pixels."""
MOST_MARKS = 8
THIN = 0.05
"""Height of a line of incidents without names, inches."""
LEAST_DISTANCE = 0.05
"""Part of the time axis below which two incidents have one label."""


def svg(draw, table, size: tuple[float, float], panels: tuple[int, int] = (1, 1), name: str = "plot",
        about: str = "") -> str:
    """SVG of what `draw(table, axes)` draws; size: inches; `axes` is an array if there are several panels.

    name: unique on a page; about: text alternative.
    """
    with _settings():
        figure, axes = sheet(size, panels)
        draw(table, axes)
        return vector(figure, name, about)


def for_file(draw, table, size: tuple[float, float], panels: tuple[int, int] = (1, 1), kind: str = "png") -> bytes:
    """PNG or PDF of what `draw(table, axes)` draws, on white; size: inches; the same picture gives the same bytes."""
    with _settings():
        figure, axes = sheet(size, panels)
        draw(table, axes)
        return _content(figure, kind)


def _content(figure: Figure, kind: str, **layout) -> bytes:
    """A figure as a file of a kind, without the time at which it was written."""
    content = BytesIO()
    figure.savefig(content, format=kind, dpi=RESOLUTION, facecolor="white",
                   metadata={"CreationDate": None} if kind == "pdf" else None, **layout)
    return content.getvalue()


def vector(figure: Figure, name: str, about: str) -> str:
    """SVG of a figure; artists with a label are elements of that name, axes of time say where their ends are."""
    renderer = Vector(name, *(POINTS * inches for inches in figure.get_size_inches()))
    for axes in figure.axes:
        legend = axes.get_legend()
        for text in legend.get_texts() if legend is not None else ():
            text.set_gid(text.get_text())
        for artist in (*axes.lines, *axes.collections, *axes.texts):
            artist.set_gid(artist.get_gid() or _name(artist, axes))
        if gid := axes.get_gid():
            unit, *heights = gid.split()
            axes.set_gid(" ".join([_ends(axes, float(unit), renderer), *(heights or map(_short, axes.get_ylim()))]))
    figure.draw(renderer)
    return renderer.svg(about)


def _name(artist: Artist, axes: Axes) -> str | None:
    """The label of an artist; without one, on an axis of time, that it moves with time."""
    label = str(artist.get_label())
    if not label.startswith("_"):
        return label
    is_moving = axes.get_gid() and not isinstance(artist, Text) and artist.get_transform() is not axes.transAxes
    return MOVES if is_moving else None


def _ends(axes: Axes, unit: float, renderer: Vector) -> str:
    """Sides of axes in units of the picture (left, right, bottom, top), then the times there, s."""
    (x0, y0), (x1, y1) = renderer.flip.transform(axes.bbox)
    return " ".join(map(_short, (x0, x1, y0, y1, *(unit * at for at in axes.get_xlim()))))


def _short(value: float) -> str:
    return f"{value:.6g}"


@contextmanager
def _settings() -> Iterator[None]:
    """Within, SETTINGS hold; Matplotlib's `rc_context` would copy all others too."""
    kept = {name: rcParams[name] for name in SETTINGS}
    rcParams.update(SETTINGS)
    try:
        yield
    finally:
        rcParams.update(kept)


def sheet(size: tuple[float, float], panels: tuple[int, int] = (1, 1)) -> tuple[Figure, Axes | np.ndarray]:
    """An empty figure with the smallest margins, and its axes."""
    across, down = size
    figure = Figure(figsize=size, dpi=POINTS, facecolor="none")
    figure.subplots_adjust(LEFT / across, BOTTOM / down, 1 - RIGHT / across, 1 - TOP / down)
    return figure, figure.subplots(*panels, subplot_kw={"axes_class": Panel})


class Shown(Figure):
    """A figure that a notebook shows without a backend of its own."""

    def _repr_png_(self) -> bytes:
        return _content(self, "png", bbox_inches="tight")


def for_print(draw, table, size: tuple[float, float], path=None) -> Figure:
    """Figure that `draw(table, axes)` draws on Matplotlib's own axes; written to a path, .pdf and .svg as vectors."""
    with _settings():
        across, down = size
        figure = Shown(figsize=size, facecolor="white")
        figure.subplots_adjust(LEFT / across, BOTTOM / down, 1 - RIGHT / across, 1 - TOP / down)
        draw(table, figure.subplots())
        if path is not None:
            figure.savefig(path, bbox_inches="tight")
    return figure


def widen(axes: Axes, left: float = 0.0, right: float = 0.0, bottom: float = 0.0, top: float = 0.0) -> None:
    """Widen the margins of the figure to at least these, inches."""
    figure = _figure(axes)
    across, down = figure.get_size_inches()
    now = figure.subplotpars
    figure.subplots_adjust(left=max(now.left, left / across), right=min(now.right, 1 - right / across),
                           bottom=max(now.bottom, bottom / down), top=min(now.top, 1 - top / down))


def gaps(axes: np.ndarray, across: float = 0.0, down: float = 0.0) -> None:
    """Set the gaps between the columns and between the rows of panels, inches; margins must be set."""
    first = axes.flat[0]
    figure, (n_rows, n_columns) = _figure(first), first.get_gridspec().get_geometry()
    now, (wide, high) = figure.subplotpars, figure.get_size_inches()
    of_width = across * n_columns / ((now.right - now.left) * wide - across * (n_columns - 1))
    of_height = down * n_rows / ((now.top - now.bottom) * high - down * (n_rows - 1))
    figure.subplots_adjust(wspace=of_width, hspace=of_height)


def extent(axes: Axes) -> tuple[float, float]:
    """Width and height of the axes, inches."""
    box, (across, down) = axes.get_position(), _figure(axes).get_size_inches()
    return box.width * across, box.height * down


def _figure(axes: Axes) -> Figure:
    return cast(Figure, axes.figure)


def dress(axes: Axes, xlabel: str = "", ylabel: str = "", grid: Literal["x", "y", "both", ""] = "y") -> Axes:
    """Set axis labels, a light grid and no frame."""
    axes.set_xlabel(xlabel, color=INK, fontsize=LABEL)
    axes.set_ylabel(ylabel, color=INK, fontsize=LABEL)
    axes.tick_params(labelsize=TICK, colors=INK, length=3)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(True, axis=grid, color=GRID, linewidth=0.7)
    return axes


def small_panels(axes: np.ndarray, names: Sequence[str], ylabel: str, room: tuple[float, float, float],
                 title: float = 8.5) -> Iterator[tuple[Axes, str, bool]]:
    """The panels of a grid with the names as titles, and whether each is the last of its column; the others are hidden.

    room: above the panels, between columns and between rows, inches; title: size, points.
    """
    panels, n_columns = np.atleast_1d(axes).ravel(), np.atleast_2d(axes).shape[1]
    widen(panels[0], top=room[0])
    gaps(panels, *room[1:])
    for panel in panels[len(names):]:
        panel.set_visible(False)
    for k, (panel, name) in enumerate(zip(panels, names, strict=False)):
        is_last = k >= len(names) - n_columns
        dress(panel)
        panel.set_title(fitted(name, title, extent(panel)[0]), fontsize=title, color=INK, loc="left", pad=3, y=1)
        panel.set_ylabel(ylabel if k % n_columns == 0 else "", fontsize=8)
        panel.tick_params(labelsize=7, labelbottom=is_last)
        yield panel, name, is_last


def blocks(axes: Axes, left, bottom, widths, heights, **look) -> None:
    """Draw rectangles of one look as one artist; axes limits stay as they are."""
    left, bottom, widths, heights = np.broadcast_arrays(*(np.asarray(values, float)
                                                          for values in (left, bottom, widths, heights)))
    right, top = left + widths, bottom + heights
    corners = np.stack([np.stack([left, right, right, left], -1), np.stack([bottom, bottom, top, top], -1)], -1)
    axes.add_collection(PolyCollection(list(corners.reshape(-1, 4, 2)), **look), autolim=False)


def cells(axes: Axes, opacity: np.ndarray) -> None:
    """Draw a map of cells, (n_rows, n_columns), the first row at the top; opacity: from 0 to 1, NaN for no cell."""
    n_rows, n_columns = opacity.shape
    rows, columns = np.nonzero(np.isfinite(opacity))
    blocks(axes, columns - 0.5, rows - 0.5, 1.0, 1.0, linewidth=0,
           facecolor=[to_rgba(HEAT, part) for part in opacity[rows, columns].tolist()])
    axes.set_xlim(-0.5, n_columns - 0.5)
    axes.set_ylim(n_rows - 0.5, -0.5)


def rows_axis(axes: Axes, names: Sequence[str]) -> None:
    """Label one row per name, the first at the bottom; the axis spans at least three rows to keep bars thin."""
    shown = [fitted(str(name), TICK, LONGEST) for name in names]
    axes.set_yticks(range(len(names)), shown)
    axes.set_ylim(min(-0.7, len(names) - 3.7), len(names) - 0.3)
    label = height(1, LABEL) if axes.get_ylabel() else 0.0
    widen(axes, left=widest(shown, TICK) + label + 0.14)


def amount_axis(axes: Axes, most: float, room: float = 0.0) -> None:
    """Set a horizontal axis of amounts from 0 to `most`, with `room` inches for a text behind the longest bar."""
    wide = extent(axes)[0]
    axes.set_xlim(0, (1.05 * most if not room else most / (1 - min(room / wide, 0.6))) or 1.0)
    n_ticks = max(int(wide / (width(f"{most:,.0f}", TICK) + 0.25)), 1)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=min(n_ticks, 9), steps=[1, 2, 5, 10]))
    thousands(axes.xaxis)


def value_axis(axes: Axes, values, least: float = 0.0) -> None:
    """Set a vertical axis that starts at 0, or at the data if they would fill less than half of it.

    least: smallest span, below which differences are of no interest.
    """
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    room = max(0.05 * (high - low), (least - (high - low)) / 2) or 0.05 * abs(high) or 1.0
    axes.set_ylim(0 if 0 <= low <= high / 2 else low - room, high + room)
    thousands(axes.yaxis)


def thousands(axis) -> None:
    """Format the tick labels of an axis with thousands separators."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))


def time_unit(end_s: float) -> tuple[float, str]:
    """Unit for a time axis that ends at `end_s`: length in s, and name."""
    for limit, unit, name in ((3 * MINUTE, 1.0, "s"), (3 * HOUR, MINUTE, "min"), (4 * DAY, HOUR, "h")):
        if end_s <= limit:
            return unit, name
    return DAY, "days"


def time_axis(axes: Axes, end_s: float, marks: Marks, label: bool = True, most_ticks: int = 12) -> float:
    """Set up the time axis from the start of the marks to `end_s`, with incidents; returns the length of its unit, s.

    The margins at both sides must be set, so that the labels of incidents find their places.
    """
    unit, name = time_unit(end_s)
    span = max(end_s - marks.start_s, 1e-9)
    axes.set_xlim(marks.start_s / unit, (marks.start_s + span) / unit)
    of_day = name == "h" and span > 0.5 * most_ticks * HOUR
    axes.xaxis.set_major_locator(MaxNLocator(most_ticks, steps=[1, 2, 3, 6, 10] if of_day else [1, 2, 5, 10]))
    if label:
        axes.set_xlabel(f"simulated time ({name})", color=INK, fontsize=LABEL)
    axes.set_gid(str(unit))
    inside = [mark for mark in marks.incidents if mark.at_s <= end_s and mark.until_s >= marks.start_s]
    for at in dict.fromkeys(at for mark in inside for at in mark[:2] if marks.start_s <= at <= end_s):
        axes.axvline(at / unit, color=FAINT, linewidth=0.8, linestyle=":", zorder=3)
    if label and inside:
        _lane(axes, [Mark((max(at, marks.start_s) - marks.start_s) / span, (min(until, end_s) - marks.start_s) / span,
                          name) for at, until, name in inside])
    return unit


def _lane(axes: Axes, marks: Sequence[Mark]) -> None:
    """Draw incidents below the axes, from begin to end in parts of its width, and write their names if they are few.

    A line holds what does not overlap; of incidents that begin close to each other the first is named.
    """
    across, groups = extent(axes)[0], apart(marks, LEAST_DISTANCE)
    is_named = len(groups) <= MOST_MARKS
    rows = [(fitted(text, MARK, LONGEST_MARK) if is_named else "", [mark for mark in group if mark.until_s > mark.at_s],
             group[0].at_s * across) for group, text in groups]
    rows = [(text, long, min(start, max(across - width(text, MARK), 0))) for text, long, start in rows if text or long]
    levels = in_lines([(start, max([start + width(text, MARK) + 0.1, *(across * mark.until_s for mark in long)]))
                       for text, long, start in rows])
    line = height(1, MARK) if is_named else THIN
    widen(axes, bottom=BOTTOM + line * (max(levels, default=-1) + 1))
    for (text, long, start), level in zip(rows, levels, strict=True):
        below = POINTS * (BOTTOM + level * line)
        axes.annotate(text, (start / across, 0), (0, -below - 1.5), xycoords="axes fraction", va="top", gid=SCALE,
                      textcoords="offset points", fontsize=MARK, color=FAINT, annotation_clip=False)
        for mark in long:
            _span(axes, mark, below)


def _span(axes: Axes, mark: Mark, below: float) -> None:
    """Draw the time of an incident as a bar so many points below the axes, over its name."""
    lowered = axes.transAxes + ScaledTranslation(0, -below / POINTS, _figure(axes).dpi_scale_trans)
    bar, = axes.plot(mark[:2], [0, 0], transform=lowered, color=FAINT, linewidth=1.6, alpha=0.6, clip_on=False)
    bar.set_gid(mark.name)


def in_lines(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Line of each span, from 0 up, such that the spans of a line do not overlap."""
    lines: list[list[tuple[float, float]]] = []
    chosen = []
    for start, end in spans:
        free = (k for k, line in enumerate(lines) if all(end <= first or start >= last for first, last in line))
        level = next(free, len(lines))
        if level == len(lines):
            lines.append([])
        lines[level].append((start, end))
        chosen.append(level)
    return chosen


def apart(marks: Sequence[Mark], distance: float) -> list[tuple[list[Mark], str]]:
    """Marks, in order of time, in groups that begin closer than `distance` to their first, each with its text."""
    groups: list[list[Mark]] = []
    for mark in marks:
        if groups and mark.at_s - groups[-1][0].at_s < distance:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return [(group, group[0].name + (f" and {len(group) - 1} more" if len(group) > 1 else "")) for group in groups]


def room_beside(axes: Axes, names: Sequence[str], beyond: float = 0.0) -> None:
    """Widen the right margin for the names that `label_beside` writes."""
    named = widest([fitted(str(name), SIDE, LONGEST) for name in names], SIDE)
    widen(axes, right=named + _figure(axes).get_figwidth() * (beyond + 0.03) + 0.05)


def label_beside(axes: Axes, heights: Mapping[str, float], colours: Mapping[str, str], beyond: float = 0.0) -> None:
    """Write each name to the right of the axes at its height (data coordinates), without overlap.

    beyond: distance from the axes, part of their width.
    """
    low, high = axes.get_ylim()
    names = sorted(heights, key=lambda name: heights[name])
    wanted = np.clip([(heights[name] - low) / (high - low) for name in names], 0, 1)
    gap = min(height(1, SIDE) / extent(axes)[1], 1 / max(len(names), 1))
    spots = spread(wanted, gap)
    leads = [[(1 + beyond, target), (1.025 + beyond, spot)] for spot, target in zip(spots, wanted, strict=True)]
    axes.add_collection(LineCollection(leads, colors=[colours[name] for name in names], linewidth=1.6, zorder=2,
                                       transform=axes.transAxes, clip_on=False), autolim=False)
    for name, spot in zip(names, spots, strict=True):
        axes.text(1.03 + beyond, spot, fitted(str(name), SIDE, LONGEST), transform=axes.transAxes, fontsize=SIDE,
                  va="center", color=INK, label=name)


def columns_beside(axes: Axes, columns: Sequence[tuple[str, Mapping[float, str]]]) -> None:
    """Write columns at the right of the axes: a head, and texts at their heights (data coordinates)."""
    offset, lines = 0.1, 1
    for head, values in columns:
        offset += max(widest(values.values(), TICK), widest([head], SIDE)) + 0.14
        lines = max(lines, head.count("\n") + 1)
        _column(axes, head, values, offset * POINTS)
    widen(axes, right=offset + 0.06, top=height(lines, SIDE) + 0.12)


def _column(axes: Axes, head: str, values: Mapping[float, str], offset: float) -> None:
    """Write a column whose right end is `offset` points from the axes."""
    beside, above = (ScaledTranslation(offset / POINTS, up / POINTS, _figure(axes).dpi_scale_trans) for up in (0, 3))
    for y, text in values.items():
        axes.text(1, y, text, transform=axes.get_yaxis_transform() + beside, va="center", ha="right", fontsize=TICK,
                  color=INK)
    axes.text(1, 1, head, transform=axes.transAxes + above, va="bottom", ha="right", fontsize=SIDE, color=FAINT)


def spread(wanted: Sequence[float] | np.ndarray, gap: float) -> np.ndarray:
    """Heights close to `wanted` (ascending, 0 to 1), at least `gap` apart and within 0 and 1.

    The mean of an upward and a downward pass, so that clusters spread to both sides.
    """
    steps = gap * np.arange(len(wanted))
    room = 1 - gap * max(len(wanted) - 1, 0)
    free = np.clip(np.asarray(wanted, float) - steps, 0, max(room, 0))
    upward = np.maximum.accumulate(free)
    downward = np.minimum.accumulate(free[::-1])[::-1]
    return (upward + downward) / 2 + steps


def legend_above(axes: Axes, handles: Sequence[Artist]) -> None:
    """A legend in a line of its own above the axes and the labels of incidents, in more lines if it is too wide."""
    figure, names = _figure(axes), [str(handle.get_label()) for handle in handles]
    across, down = figure.get_size_inches()
    columns = max(min(len(names), int(extent(axes)[0] / (widest(names, TICK) + 0.55))), 1)
    taken = (1 - figure.subplotpars.top) * down + height(-(-len(names) // columns) * 1.35, TICK)
    widen(axes, top=taken)
    axes.legend(handles=handles, frameon=False, fontsize=TICK, ncols=columns, labelcolor=INK, loc="upper right",
                borderaxespad=0.2, bbox_to_anchor=(figure.subplotpars.right, 1), bbox_transform=figure.transFigure)


def legend_beside(axes: Axes, handles: Sequence[Artist]) -> None:
    """A legend at the right of the axes."""
    widen(axes, right=widest([handle.get_label() for handle in handles], TICK) + 0.6)
    axes.legend(handles=handles, frameon=False, fontsize=TICK, labelcolor=INK, loc="upper left", bbox_to_anchor=(1, 1))


def patches(colours: Mapping[str, str]) -> list[Artist]:
    """Handles of a legend of colours by name."""
    return [Patch(color=colour, label=name) for name, colour in colours.items()]


def handles_of(axes: Axes) -> list[Artist]:
    """Handles of a legend of the labelled artists of the axes."""
    return axes.get_legend_handles_labels()[0]
