"""The tables that a world is made of."""

from simgrid_broker.schema import JOBS, SPLITTING, TASKS, TRANSFERS
from simgrid_broker.schema.grid import LINKS, NODES, POOLS, SITES, STORAGES, WORKER_ACCOUNTS
from simgrid_broker.schema.queues import PSEUDO_QUEUES, QUEUES

WORLD = {table.name: table for table in (SITES, QUEUES, PSEUDO_QUEUES, POOLS, NODES, WORKER_ACCOUNTS, LINKS, STORAGES,
                                        TRANSFERS, JOBS, TASKS,
                                        SPLITTING)}
