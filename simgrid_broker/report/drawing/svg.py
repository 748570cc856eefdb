"""Pictures as compact SVG: Matplotlib lays them out, this renderer writes paths in tenths of a point and plain texts.

Ink, paper and grid are variables of CSS, so that one picture serves light and dark pages; series carry their names.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from math import cos, radians, sin

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import to_hex
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from simgrid_broker.report.drawing.text_widths import ASCENT, DESCENT, POINTS, width
from simgrid_broker.report.words import FAINT, GRID, INK, PALE, PAPER, SHADE

UNITS = 10
"""Units of a picture per point."""
VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", GRID: "var(--grid)", PAPER: "var(--paper)",
             PALE: "var(--pale)", SHADE: "var(--shade)", "#000000": "var(--ink)"}
"""Colours that a page may choose, in place of which stands a variable."""
OUTSIDE = 0.5
"""Points by which a path may leave its axes without being clipped."""
ANCHORS = {"center": (0.5, ' text-anchor="middle"'), "right": (1.0, ' text-anchor="end"')}
MOVES, SCALE = "\0moves", "\0scale"
"""Names of what belongs to a time axis: what moves as its time is chosen, and what names its times."""
GROUPS = {MOVES: "data-moves", SCALE: "data-scale"}
N_CIRCLE = len(np.asarray(Path.unit_circle().vertices))


class Vector(RendererBase):
    """Writes what Matplotlib draws as the elements of an SVG of so many points."""

    def __init__(self, name: str, across: float, down: float):
        super().__init__()
        self.name, self.size = name, (across, down)
        self.parts: list[str] = []
        self.clips: dict[tuple[int, ...], str] = {}
        self.flip = Affine2D().scale(UNITS, -UNITS).translate(0, UNITS * down)
        self.last = ""
        self.open: list[bool] = []

    def get_canvas_width_height(self):
        """Called by Matplotlib: size in points."""
        return self.size

    def points_to_pixels(self, points):
        """Called by Matplotlib: a pixel is a point."""
        return points

    def get_text_width_height_descent(self, s, prop, ismath):
        """Called by Matplotlib: size of a line of text, points."""
        size = prop.get_size_in_points()
        return POINTS * width(s, size, prop.get_weight()), (ASCENT + DESCENT) * size, DESCENT * size

    def open_group(self, s, gid=None):
        """Called by Matplotlib where an artist begins; one with a name becomes an element of that name."""
        if gid in GROUPS:
            self._write(f'<g {GROUPS[gid]}="">')
            self.open.append(True)
        elif gid:
            kind = "data-axes" if s == "axes" else "data-n"
            self._write(f'<g {kind}="{escape(gid)}">' + (f"<title>{escape(gid)}</title>" if s != "axes" else ""))
            self.open.append(True)
        else:
            self.open.append(False)

    def close_group(self, s):
        """Called by Matplotlib where an artist ends."""
        if self.open.pop():
            self._write("</g>")

    def draw_path(self, gc, path, transform, rgbFace=None):
        """Called by Matplotlib for each path; paths of one look that follow each other are one."""
        placed = (transform + self.flip).transform_path(path)
        finite = placed.vertices[np.isfinite(placed.vertices).all(axis=1)]
        if not len(finite):
            return
        box = *finite.min(axis=0).tolist(), *finite.max(axis=0).tolist()
        self._add(gc, rgbFace, box, _circle(*box) if _is_circle(path) else _written(placed.cleaned(
            remove_nans=True, simplify=rgbFace is None and placed.should_simplify, curves=True)))

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        """Called by Matplotlib for markers of one shape and look; circles are placed together."""
        if not _is_circle(marker_path):
            return super().draw_markers(gc, marker_path, marker_trans, path, trans, rgbFace)
        places = np.array([one[-2:] for one, _ in path.iter_segments(trans, simplify=False)]).reshape(-1, 2)
        circle = (marker_trans + Affine2D().scale(UNITS, -UNITS)).transform(marker_path.vertices)
        at = self.flip.transform(places)
        for box in np.hstack([at + circle.min(axis=0), at + circle.max(axis=0)]).tolist():
            self._add(gc, rgbFace, box, _circle(*box))

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        """Called by Matplotlib for each line of text; x, y: left end of its baseline, points from the upper left."""
        part, anchor = ANCHORS.get(mtext.get_ha() if mtext is not None else "", (0.0, ""))
        size = prop.get_size_in_points()
        if part:
            along = part * POINTS * width(s, size, prop.get_weight())
            x += along * cos(radians(angle))
            y -= along * sin(radians(angle))
        across, down, ink = round(UNITS * x), round(UNITS * y), _colour(gc.get_rgb())
        turn = f' transform="rotate({-angle:g} {across} {down})"' if angle else ""
        fill = "" if ink == VARIABLES[INK] else f' fill="{ink}"'
        bold = ' font-weight="bold"' if prop.get_weight() == "bold" else ""
        self._write(f'<text x="{across}" y="{down}" font-size="{round(UNITS * size)}"{anchor}{fill}{bold}{turn}>'
                    f"{escape(s)}</text>")

    def _add(self, gc: GraphicsContextBase, face, box: Sequence[float], drawn: str) -> None:
        """Write a path that fills a box, or add it to the one before if both have one look."""
        if not drawn or not (look := _look(gc, face)):
            return
        if (look := look + self._clip(gc, box)) != self.last:
            self._write(f'<path{look} d="')
            self.parts.append('"/>')
            self.last = look
        self.parts[-1:] = drawn, '"/>'

    def _write(self, part: str) -> None:
        self.parts.append(part)
        self.last = ""

    def _clip(self, gc: GraphicsContextBase, path: Sequence[float]) -> str:
        """A reference to the clip of a path, in its box, that leaves its axes; empty for one that stays within."""
        box = gc.get_clip_rectangle()
        if box is None:
            return ""
        x0, x1 = UNITS * box.x0, UNITS * box.x1
        y0, y1 = UNITS * (self.size[1] - box.y1), UNITS * (self.size[1] - box.y0)
        (left, top, right, bottom), room = path, OUTSIDE * UNITS
        if left >= x0 - room and top >= y0 - room and right <= x1 + room and bottom <= y1 + room:
            return ""
        corners = tuple(int(round(value)) for value in (x0, y0, x1 - x0, y1 - y0))
        return f' clip-path="url(#{self.clips.setdefault(corners, f"{self.name}-{len(self.clips)}")})"'

    def svg(self, about: str) -> str:
        """The whole picture; about: its text alternative."""
        clips = "".join(f'<clipPath id="{name}"><rect x="{x}" y="{y}" width="{wide}" height="{high}"/></clipPath>'
                        for (x, y, wide, high), name in self.clips.items())
        across, down = (round(UNITS * size) for size in self.size)
        return (f'<svg class="plot" id="plot-{self.name}" xmlns="http://www.w3.org/2000/svg" '
                f'viewBox="0 0 {across} {down}" role="img" aria-label="{escape(about)}" fill="none">'
                f'{clips}{"".join(self.parts)}</svg>')


def as_file(picture: str) -> str:
    """A picture with the colours of a light page and a font, to stand alone."""
    for colour, variable in VARIABLES.items():
        picture = picture.replace(variable, colour)
    style = f"<style>text:not([fill]){{fill:{INK}}}text{{font-family:'DejaVu Sans',Verdana,sans-serif}}</style>"
    return picture.replace('fill="none">', f'fill="none" style="background:{PAPER}">{style}', 1) + "\n"


def _look(gc: GraphicsContextBase, face) -> str:
    """Attributes of a path: its fill and its line."""
    look, alpha = "", gc.get_alpha() if gc.get_forced_alpha() else None
    if face is not None and _alpha(face):
        look = f' fill="{_colour(face)}"' + _opacity("fill", alpha if alpha is not None else _alpha(face))
    points, rgba = gc.get_linewidth(), gc.get_rgb()
    if points and _alpha(rgba):
        look += f' stroke="{_colour(rgba)}" stroke-width="{UNITS * points:.3g}"'
        look += _opacity("stroke", alpha if alpha is not None else _alpha(rgba))
        _, dashes = gc.get_dashes()
        if dashes is not None:
            look += f' stroke-dasharray="{" ".join(f"{UNITS * each:.3g}" for each in np.asarray(dashes).tolist())}"'
    return look


def _alpha(colour) -> float:
    return colour[3] if len(colour) > 3 else 1.0


def _opacity(of: str, alpha: float) -> str:
    return "" if alpha >= 1 else f' {of}-opacity="{alpha:.2g}"'


def _colour(colour) -> str:
    return _named(tuple(colour[:3]))


@lru_cache
def _named(rgb: tuple[float, float, float]) -> str:
    return VARIABLES.get(name := to_hex(rgb), name)


def _is_circle(path: Path) -> bool:
    codes = np.asarray(path.codes if path.codes is not None else ())
    return len(codes) == N_CIRCLE and bool(codes[1] == Path.CURVE4)


def _circle(x0: float, y0: float, x1: float, y1: float) -> str:
    """A circle as two arcs."""
    radius, across = round((x1 - x0) / 2), 2 * round((x1 - x0) / 2)
    return f"M{round(x0)} {round((y0 + y1) / 2)}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0-{across} 0z"


def _written(path: Path) -> str:
    """The data of a path: whole numbers, lines relative to the point before."""
    return "".join(_steps(np.rint(path.vertices).astype(int).tolist(), np.asarray(path.codes).tolist()))


def _steps(points: list[list[int]], codes: list[int]) -> Iterator[str]:
    x, y, start, letter, k = 0, 0, (0, 0), "", 0
    while k < len(codes):
        code, (to_x, to_y) = codes[k], points[k]
        if code == Path.LINETO:
            dx, dy = to_x - x, to_y - y
            if dx or dy:
                now = "l" if dx and dy else "h" if dx else "v"
                first, rest = (dx, f" {dy}" if dy >= 0 else f"{dy}") if now == "l" else (dx or dy, "")
                lead = now if now != letter else "" if first < 0 else " "
                yield f"{lead}{first}{rest}"
                letter = now
            x, y = to_x, to_y
        elif code == Path.MOVETO:
            yield f"M{to_x} {to_y}"
            x, y, start, letter = to_x, to_y, (to_x, to_y), ""
        elif code == Path.CLOSEPOLY:
            yield "z"
            (x, y), letter = start, ""
        elif code in (Path.CURVE3, Path.CURVE4):
            n = 2 if code == Path.CURVE3 else 3
            yield ("Q" if n == 2 else "C") + " ".join(f"{px} {py}" for px, py in points[k:k + n])
            k += n - 1
            (x, y), letter = points[k], ""
        k += 1
