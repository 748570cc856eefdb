"""Colours that are distinct for every kind of colour vision; base: Okabe and Ito, "Color Universal Design", 2008."""

BASE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D31", "#B8A900")
"""Distinct colours for a handful of categories."""
OTHERS = "#BBBBBB"
"""Colour of the combined rest."""
INK = "#222222"
FAINT = "#777777"
RUN_COLOURS = ("#0072B2", "#D55E00")
"""The two runs of a comparison."""

STATE_COLOURS = {"running": "#0072B2", "transferring": "#56B4E9", "activated": "#E69F00", "assigned": "#F3CF8A",
                 "other queued": "#BBBBBB"}
PHASE_COLOURS = {"waits for a nucleus": "#F3CF8A", "input is staged": "#CC79A7", "ready or pending": "#E69F00",
                 "scouting": "#56B4E9", "running": "#0072B2", "held": "#8C6D31", "is being ended": "#8A8A8A"}
STATUS_COLOURS = {"finished": "#009E73", "failed": "#D55E00", "closed": "#E69F00", "cancelled": "#CC79A7"}
LEVEL_COLOURS = {"used": "#0072B2", "expired": "#E69F00", "free": "#E8EEF2"}
"""Colours of the parts of the space of a storage, from the bottom of a picture."""
