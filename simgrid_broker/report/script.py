"""Scripts of a page: uPlot, and ours for it, for tables and for addresses; a page is complete without them."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

WEB = Path(__file__).parent / "web"
SCRIPT = (WEB / "page.js").read_text(encoding="utf-8")
LIBRARY = (WEB / "uPlot.min.js").read_text(encoding="utf-8")
"""uPlot as released, after its licence: THIRD_PARTY.md."""


def admitted(*scripts: str) -> str:
    """Source of a Content-Security-Policy that admits these scripts by their hashes and no other."""
    return "script-src " + " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
                                    for text in scripts)


POLICY = ("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
          + admitted(LIBRARY, SCRIPT))
"""Content-Security-Policy of a page: these scripts alone run, and nothing is loaded."""
