"""Pages, pictures and terminal tables made of metrics.

What lives here: figures as functions of a tidy table and an Axes, the report of one run, the comparison of two. What
does not: any figure that is computed here and nowhere else (metrics).
"""

from simgrid_broker.report.comparison import write_comparison
from simgrid_broker.report.single import write_report
from simgrid_broker.report.terminal import terminal_summary

__all__ = ["terminal_summary", "write_comparison", "write_report"]
