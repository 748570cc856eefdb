"""Importers: CRIC, CGSim files and SWF partitions as grids, traces in SWF, GWF and CGSim's job layout as work, and
operators' tables as parts of a scenario."""

from simgrid_broker.scenario.importers.cgsim import read_cgsim, small_storages
from simgrid_broker.scenario.importers.cric import read_cric
from simgrid_broker.scenario.importers.endpoints import read_endpoints
from simgrid_broker.scenario.importers.gdpconfig import read_gdpconfig
from simgrid_broker.scenario.importers.grid_file import write_grid, write_part
from simgrid_broker.scenario.importers.harvester import read_harvester
from simgrid_broker.scenario.importers.network_metrics import read_network_metrics
from simgrid_broker.scenario.importers.shares import read_shares
from simgrid_broker.scenario.importers.swf_grid import read_swf_grid
from simgrid_broker.scenario.importers.traces import read_cgsim_jobs, read_trace, trace_tasks

__all__ = ["read_cgsim", "read_cgsim_jobs", "read_cric", "read_endpoints", "read_gdpconfig", "read_harvester",
           "read_network_metrics", "read_shares",
           "read_swf_grid", "read_trace", "small_storages", "trace_tasks", "write_grid", "write_part"]
