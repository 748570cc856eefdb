"""Axes whose grid and ticks are drawn at once: the objects that Matplotlib makes for ticks take half of a picture."""

from cmath import rect
from functools import cache
from math import radians
from typing import NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Tick, XAxis, YAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform, Transform
from matplotlib.typing import ColorType

from simgrid_broker.report.drawing.svg import SCALE
from simgrid_broker.report.drawing.text_widths import ASCENT, DESCENT
from simgrid_broker.report.words import FAINT

PAD, LABEL_PAD = 3.5, 4.0
"""Distances of names from ticks and of the label of an axis from names, points."""
LINE_WIDTH = 0.6
"""Width of the line of an axis and of its ticks, points."""
MIDDLE = 0.36
"""Middle of a line of text above its baseline, part of the font size."""
SPACING = 1.2
"""Distance of lines of text, parts of the font size."""
VISIBLE = 0.5
"""Pixels by which a tick may be beyond the end of its axis."""


class Style(NamedTuple):
    """Style of a text: size in points, parts of its width and of its size that are before and below its place,
    and angle in degrees.
    """

    size: float
    colour: ColorType
    across: float = 0.5
    up: float = MIDDLE
    angle: float = 0.0
    weight: str = "normal"


class Written(NamedTuple):
    """A text in a picture: left end of its baseline, width and font size in pixels, and angle in degrees."""

    text: str
    x: float
    y: float
    wide: float
    size: float
    angle: float

    @property
    def box(self) -> Bbox:
        """The box around it."""
        corners = Bbox.from_bounds(self.x, self.y - DESCENT * self.size, self.wide, (ASCENT + DESCENT) * self.size)
        return Affine2D().rotate_deg_around(self.x, self.y, self.angle).transform_bbox(corners)


class Look(NamedTuple):
    """Settings of an axis by `tick_params`: size, length, angle of names, and colour and width of the grid."""

    size: float
    colour: str
    length: float
    angle: float
    is_named: bool
    at_top: bool
    grid: tuple[str, float] | None


class Panel(Axes):
    """Axes of a report; what Matplotlib's functions set at its axis counts, except properties of single ticks.

    An axis is a line with ticks; without both if these have no length.
    """

    def _init_axis(self):
        self.xaxis, self.yaxis = Across(self, clear=False), Upwards(self, clear=False)

    def _gen_axes_spines(self):
        return {}


class Tickless:
    """An axis without Matplotlib's objects for ticks."""

    majorTicks: list[Tick] = []
    minorTicks: list[Tick] = []
    written: tuple[Written, ...] = ()
    """The texts of the last drawing."""

    def get_major_ticks(self, numticks=None):
        """Called by Matplotlib for its objects: there are none."""
        return []

    get_minor_ticks = get_major_ticks


class Across(Tickless, XAxis):
    """The horizontal axis, at the bottom; its names may be at the top, slanted."""

    def draw(self, renderer):
        """Called by Matplotlib: draw grid, ticks, their names and the label."""
        box, look, point = self.axes.bbox, _look(self), _pixels(renderer, 1.0)
        places, names = _shown(self, self.axes.get_xaxis_transform(), 0, (box.x0, box.x1))
        renderer.open_group("scale", SCALE if self.axes.get_gid() else None)
        edge, outwards = (box.y1, 1) if look.at_top else (box.y0, -1)
        if look.grid:
            _lines(renderer, places, (box.y0, box.y1), slice(None), *look.grid)
        _ticks(renderer, look, places, (edge, edge + outwards * look.length * point), slice(None), (box.x0, box.x1))
        style = Style(look.size, look.colour, 0.0 if look.angle else 0.5, -DESCENT if look.at_top else ASCENT,
                      look.angle)
        at = edge + outwards * (look.length + PAD) * point
        texts = [write(renderer, place, at, name, style)
                 for place, name in zip(places, names, strict=True) if name]
        room = look.length + (PAD + (ASCENT + DESCENT) * look.size if look.is_named and not look.at_top else 0)
        self.written = *texts, *_label(self, renderer, (box.x0 + box.x1) / 2, box.y0 - (room + LABEL_PAD) * point,
                                       ASCENT, 0.0)
        renderer.close_group("scale")


class Upwards(Tickless, YAxis):
    """The vertical axis, at the left."""

    def draw(self, renderer):
        """Called by Matplotlib: draw grid, ticks, their names and the label."""
        box, look, point = self.axes.bbox, _look(self), _pixels(renderer, 1.0)
        places, names = _shown(self, self.axes.get_yaxis_transform(), 1, (box.y0, box.y1))
        if look.grid:
            _lines(renderer, places, (box.x0, box.x1), slice(None, None, -1), *look.grid)
        _ticks(renderer, look, places, (box.x0, box.x0 - look.length * point), slice(None, None, -1),
               (box.y0, box.y1))
        at = box.x0 - (look.length + PAD) * point
        texts = [write(renderer, at, place, name, Style(look.size, look.colour, 1.0))
                 for place, name in zip(places, names, strict=True) if name]
        left = min((text.x for text in texts), default=at)
        self.written = *texts, *_label(self, renderer, left - LABEL_PAD * point, (box.y0 + box.y1) / 2, -DESCENT, 90.0)


def _look(axis: Across | Upwards) -> Look:
    """Read the settings of the ticks of an axis."""
    is_set = axis.get_tick_params()
    at_top = isinstance(axis, Across) and bool(is_set.get("top") or is_set.get("labeltop"))
    named = is_set.get("labeltop" if at_top else "labelbottom" if isinstance(axis, Across) else "labelleft", True)
    grid = (is_set["grid_color"], is_set["grid_linewidth"]) if is_set.get("gridOn") else None
    return Look(is_set["labelsize"], is_set["labelcolor"], is_set["length"],
                is_set.get("rotation", is_set.get("labelrotation", 0.0)), bool(named), at_top, grid)


def _shown(axis: Across | Upwards, transform: Transform, which: int, ends: tuple[float, float]
           ) -> tuple[np.ndarray, list[str]]:
    """Places of the ticks within the axis, pixels, and their names."""
    values = np.asarray(axis.get_majorticklocs(), float)
    if not len(values):
        return values, []
    named = _look(axis).is_named
    names = axis.get_major_formatter().format_ticks(values.tolist()) if named else [""] * len(values)
    at = np.zeros((len(values), 2))
    at[:, which] = values
    places = transform.transform(at)[:, which]
    seen = (places >= ends[0] - VISIBLE) & (places <= ends[1] + VISIBLE)
    return places[seen], [name for name, one in zip(names, seen, strict=True) if one]


def _ticks(renderer: RendererBase, look: Look, places: np.ndarray, ends: tuple[float, float], order: slice,
           along: tuple[float, float]) -> None:
    """Draw the ticks and the line of the axis, unless ticks have no length."""
    if look.length:
        _lines(renderer, np.array([ends[0]]), along, slice(None, None, -(order.step or 1)), FAINT, LINE_WIDTH)
        _lines(renderer, places, ends, order, look.colour, LINE_WIDTH)


def _lines(renderer: RendererBase, places: np.ndarray, ends: tuple[float, float], order: slice, colour: str,
           points: float) -> None:
    """Draw a line at each place from end to end; order: of the coordinates, that of an upright or of a level line."""
    if not len(places):
        return
    corners = np.empty((2 * len(places), 2))
    corners[:, 0], corners[0::2, 1], corners[1::2, 1] = np.repeat(places, 2), *ends
    context = renderer.new_gc()
    context.set_foreground(colour)
    context.set_linewidth(_pixels(renderer, points))
    context.set_snap(True)
    renderer.draw_path(context, Path(corners[:, order], np.resize([Path.MOVETO, Path.LINETO], len(corners))),
                       IdentityTransform())
    context.restore()


def _label(axis: Across | Upwards, renderer: RendererBase, x: float, y: float, up: float, angle: float
           ) -> tuple[Written, ...]:
    """Write the label of an axis with what its names leave out, such as a power of ten."""
    text, factor = axis.label.get_text(), axis.get_major_formatter().get_offset()
    text = f"{text} ({factor})".lstrip() if factor else text
    if not text:
        return ()
    style, lines = Style(float(axis.label.get_fontsize()), axis.label.get_color(), 0.5, up, angle), text.split("\n")
    far = _pixels(renderer, style.size) * SPACING
    if angle:                                              # the last line is the one next to the axis
        return tuple(write(renderer, x - far * (len(lines) - 1 - k), y, line, style) for k, line in enumerate(lines))
    return tuple(write(renderer, x, y - far * k, line, style) for k, line in enumerate(lines))


def _pixels(renderer: RendererBase, points: float) -> float:
    return float(cast(float, renderer.points_to_pixels(points)))


def write(renderer: RendererBase, x: float, y: float, text: str, style: Style) -> Written:
    """Write a text of one line with a point of it at a place, pixels from the lower left corner of the picture."""
    wide, size = _width(renderer, text, style), _pixels(renderer, style.size)
    start = complex(x, y) - complex(style.across * wide, style.up * size) * rect(1.0, radians(style.angle))
    x, y = start.real, start.imag
    context = renderer.new_gc()
    context.set_foreground(style.colour)
    down = renderer.get_canvas_width_height()[1] - y if renderer.flipy() else y
    renderer.draw_text(context, x, down, text, _font(style.size, style.weight), style.angle)
    context.restore()
    return Written(text, x, y, wide, size, style.angle)


_widths: dict[tuple[type, str, float, str], float] = {}


def _width(renderer: RendererBase, text: str, style: Style) -> float:
    """Width of a text, pixels; all pictures of one kind have the same density."""
    key = (type(renderer), text, _pixels(renderer, style.size), style.weight)
    if key not in _widths:
        _widths[key] = renderer.get_text_width_height_descent(text, _font(style.size, style.weight), False)[0]
    return _widths[key]


@cache
def _font(size: float, weight: str) -> FontProperties:
    return FontProperties(size=size, weight=weight)
