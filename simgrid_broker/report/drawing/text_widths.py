"""Widths of texts by the metrics of the font, so that margins are known without drawing."""

from functools import cache, lru_cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags

from simgrid_broker.report.words import shortened

POINTS = 72.0
"""Points per inch."""
LINE = 1.25
"""Distance of two lines of text in units of the font size."""
ASCENT, DESCENT = 0.76, 0.24
"""Top and bottom of a line of text above and below its baseline, parts of the font size."""
_EM = 100.0
_HINTING = 1.05
"""Factor by which letters that are fitted to pixels may be wider."""


@lru_cache(1024)
def width(text: str, size: float, weight: str = "normal") -> float:
    """Width of the longest line of `text` at `size` points, inches."""
    advances = _advances(weight)
    return max(sum(map(advances.__getitem__, line)) for line in text.split("\n")) * _HINTING * size / POINTS


def widest(texts, size: float) -> float:
    """Width of the widest text, inches; 0 without texts."""
    return max((width(str(text), size) for text in texts), default=0.0)


def height(lines: float, size: float) -> float:
    """Height of `lines` lines of text at `size` points, inches."""
    return lines * LINE * size / POINTS


def fitted(name: str, size: float, inches: float) -> str:
    """A name with its middle replaced by … if it is wider than `inches`."""
    least = min(2, len(name) - 1)                                 # two letters are not shortened
    return next((short for longest in range(len(name), least, -1) if width(short := shortened(name, longest), size)
                 <= inches), name[:1])


class Advances(dict[str, float]):
    """Widths of characters of a weight, ems; one that the font lacks may come from another font and is taken as square.
    """

    def __init__(self, weight: str):
        self.font = get_font(findfont(FontProperties(weight=weight)))

    def __missing__(self, character: str) -> float:
        wide = 1.0
        if self.font.get_char_index(ord(character)):
            self.font.set_size(_EM, POINTS)                       # pictures share the font and set other sizes
            wide = self.font.load_char(ord(character), LoadFlags.NO_HINTING).linearHoriAdvance / 65536 / _EM
        self[character] = wide
        return wide


_advances = cache(Advances)
