"""Importers, a reader for each family of formats: CRIC, CGSim and SWF as grids, traces as work, tables of operators."""

from simgrid_broker.scenario.importers.archives import read_swf_grid
from simgrid_broker.scenario.importers.cgsim import read_cgsim
from simgrid_broker.scenario.importers.cric import cric_grid, read_cric, read_software
from simgrid_broker.scenario.importers.cric_storages import read_endpoints
from simgrid_broker.scenario.importers.grid_file import write_grid, write_part
from simgrid_broker.scenario.importers.operators import (
           read_gdpconfig,
           read_harvester,
           read_network_metrics,
           read_shares,
)
from simgrid_broker.scenario.importers.traces import read_cgsim_jobs, read_trace, trace_tasks

__all__ = ["cric_grid", "read_cgsim", "read_cgsim_jobs", "read_cric", "read_endpoints", "read_gdpconfig",
           "read_harvester", "read_network_metrics", "read_shares", "read_software", "read_swf_grid",
           "read_trace", "trace_tasks", "write_grid", "write_part"]
