"""Self-contained HTML pages, plots and terminal tables, drawn from `metrics`."""

from simgrid_broker.report.comparison import write_comparison
from simgrid_broker.report.sections import write_report
from simgrid_broker.report.terminal import terminal_summary

__all__ = ["terminal_summary", "write_comparison", "write_report"]
