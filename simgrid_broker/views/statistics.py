"""Statistics of queues, storages and links that JEDI last read, row by row."""

from functools import cache
from typing import NamedTuple

import numpy as np

from simgrid_broker.schema import LINKS, STORAGES
from simgrid_broker.schema.grid import ACTIVITIES, LINK_NUMBERS
from simgrid_broker.schema.queues import QUEUE_NUMBERS

LOAD = np.dtype([
    ("running", "i8"), ("defined", "i8"), ("assigned", "i8"), ("activated", "i8"), ("starting", "i8"),
    ("placed", "i8"),                # jobs made since the numbers were read
    ("running_of_type", "i8"), ("queued_of_type", "i8"), ("assigned_of_type", "i8"),   # of one type; -1 = unknown
    ("n_batch_job", "i8"),           # workers submitted or running
    ("num_slots", "i8"),             # Harvester_Slots; -1 = not set
    # of all shares:
    ("transferring", "i8"), ("running_all", "i8"), ("activated_all", "i8"), ("starting_all", "i8"),
    ("cores_running", "i8"), ("cores_starting", "i8"),
    ("idle_s", "f8"),                # since a job last started, s
    *((column.name, column.seen) for column in QUEUE_NUMBERS),
])
"""Job numbers of one share at a PanDA queue; queued means defined, activated and starting."""

STORE = np.dtype([("present", "?"), ("usable_bytes", "f8"), *((activity, "?") for activity in ACTIVITIES),
                  *((column.name, column.seen) for column in STORAGES.seen)])
"""The storages of a queue, or the one that takes a site's output; a flag says that one of them may be used so.

read_lan, write_wan: of its input; write_lan, read_wan: of its output; the space is where output goes by default.

usable: free and expired, less what must stay free (brokerage reference, 0.2).
"""

LINK = np.dtype([("in_nucleus", "?"), ("sharing", "?"), ("at_nucleus", "?"), ("unmapped", "?"), ("known", "?"),
                 *((column.name, column.seen) for column in LINKS.seen),
                 *((column.name, column.seen) for column in LINK_NUMBERS)])
"""The way of output from a queue to a nucleus.

in_nucleus: the queue belongs to the nucleus; sharing: it does not, but the nucleus reads its output; at_nucleus: its
output lies at the nucleus; unmapped: where its output lies is not known; known: there is a record of the link;
closeness: 0 best to 11 worst, -1 blocked, -2 unknown; throughput in MB/s, NaN = unknown.
"""

UNKNOWN = {"running_of_type": -1, "queued_of_type": -1, "assigned_of_type": -1, "num_slots": -1,
           **{column.name: column.none for column in (*LINKS.seen, *LINK_NUMBERS, *QUEUE_NUMBERS)
              if column.none is not None}}
"""Value of a column that is not given, if not 0."""


def records(dtype: np.dtype, n: int, **columns) -> np.ndarray:
    """Rows of a dtype, (n,), from columns; what is left out is unknown or 0. Raises ValueError for an unknown name."""
    names = dtype.names or ()
    if unknown := set(columns) - set(names):
        raise ValueError(f"no column {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    rows = np.repeat(_unknown(dtype), n).view(dtype)
    for name, values in columns.items():
        rows[name] = values
    return rows


@cache
def _unknown(dtype: np.dtype) -> np.ndarray:
    """A row of which nothing is known, (1,), as bytes, which NumPy copies at once."""
    row = np.zeros(1, dtype)
    for name in dtype.names or ():
        row[name] = UNKNOWN.get(name, 0)
    return row.view(f"V{dtype.itemsize}")


class Stats(NamedTuple):
    """Statistics of the grid that JEDI last read, for one share and one nucleus, with the jobs placed since.

    load: (n_queues,) of LOAD, whose `placed` goes on counting; store: (n_queues,) of STORE; link: (n_queues,) of LINK,
    of which nothing is known if the task has no nucleus. Of the nucleus: whether the storage that takes its output
    receives and sends files, and the output that waits for it, without and of express tasks.
    """

    taken_at: float
    load: np.ndarray
    store: np.ndarray
    link: np.ndarray
    writable: bool = True
    readable: bool = True
    files_to_nucleus: float = 0.0
    express_to_nucleus: float = 0.0
