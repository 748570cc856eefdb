"""Self-contained HTML pages, plots and terminal tables, drawn from `metrics`.

Each public name is imported on first use: only the pages need Matplotlib.
"""

from importlib import import_module

HOMES = {"terminal_summary": "terminal", "write_comparison": "comparison", "write_report": "sections"}
"""Public names and their modules."""

__all__ = list(HOMES)


def __getattr__(name: str):
    """A public name, imported from its module."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
