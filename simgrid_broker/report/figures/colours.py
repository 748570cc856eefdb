"""Colours of shares and of other names, which need Matplotlib's colour maps."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgb

from simgrid_broker.report.words import BASE

SINGLE = ("#D55E00", "#CC79A7", "#8A8A8A", "#E69F00", "#8C6D31", "#7B3F00")
"""Colours of the groups of shares that do not get a ramp."""
RAMPS = (("viridis", 0.05, 0.9), ("inferno", 0.3, 0.85))
"""Colour maps of the two largest groups of shares: name and the range used."""
SMALL = 4
"""Maximum number of leaves that tints of one colour can distinguish."""


def share_colours(groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Colour of each leaf share; `groups` lists the leaves below each top-level share.

    The two groups with most leaves get ramps through several hues, cool and warm, whose neighbours differ in lightness
    too, unless they are small; every other group gets one colour and its tints.
    """
    if len(groups) > len(SINGLE) + 1:
        return ramp([leaf for leaves in groups.values() for leaf in leaves])
    by_size = sorted(groups, key=lambda name: -len(groups[name]))
    ramps = {name: spots for name, spots in zip(by_size, RAMPS, strict=False) if len(groups[name]) > SMALL}
    ramps.setdefault(by_size[0], RAMPS[0])
    hues, colours = iter(SINGLE), dict[str, str]()
    for name, leaves in groups.items():
        colours |= ramp(leaves, *ramps[name]) if name in ramps else tints(next(hues), leaves)
    return colours


def ramp(names: Sequence[str], colormap: str = "viridis", first: float = 0.05, last: float = 0.9) -> dict[str, str]:
    """Colours along a range of a colour map, every second one lighter."""
    spots = np.linspace(first, last, len(names))
    return {name: lighter(to_hex(colormaps[colormap](spot)), 0.28 * (k % 2))
            for k, (name, spot) in enumerate(zip(names, spots, strict=True))}


def tints(colour: str, names: Sequence[str]) -> dict[str, str]:
    """One colour from full to pale."""
    return {name: lighter(colour, part) for name, part in zip(names, np.linspace(0, 0.6, len(names)), strict=True)}


def lighter(colour: str, part: float) -> str:
    """`colour` mixed with the fraction `part` of white."""
    red, green, blue = (channel + (1 - channel) * part for channel in to_rgb(colour))
    return to_hex((red, green, blue))


def categories(names: Sequence[str]) -> dict[str, str]:
    """Colours of a handful of names, or a ramp for more than the base palette holds."""
    return dict(zip(names, BASE, strict=False)) if len(names) <= len(BASE) else ramp(names)
