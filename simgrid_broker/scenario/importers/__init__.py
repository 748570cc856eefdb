"""Real files as grids and as work: CRIC dumps, CGSim files, and traces in SWF, GWF and CGSim's job layout.

What lives here: readers, each of which gives a grid as a dict of YAML shape or a `TaskList`, with remarks on what could
not be used and what was assumed; and the writer of a grid file. What does not: the scenario's own files (`loader`),
invented grids and work (`synthetic_grid`, `synthetic`).
"""

from simgrid_broker.scenario.importers.cgsim import read_cgsim
from simgrid_broker.scenario.importers.cric import read_cric
from simgrid_broker.scenario.importers.grid_file import write_grid
from simgrid_broker.scenario.importers.traces import read_cgsim_jobs, read_trace, trace_tasks

__all__ = ["read_cgsim", "read_cgsim_jobs", "read_cric", "read_trace", "trace_tasks", "write_grid"]
