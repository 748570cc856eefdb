"""Statistics of queues, storages and links that JEDI last read, row by row."""

from typing import NamedTuple

import numpy as np

from simgrid_broker.schema import LINKS, STORAGES
from simgrid_broker.schema.grid import ACTIVITIES, LINK_NUMBERS
from simgrid_broker.schema.queues import QUEUE_NUMBERS
from simgrid_broker.views.records import view

LOAD = view(
    ("running", "i8"), ("defined", "i8"), ("assigned", "i8"), ("activated", "i8"), ("starting", "i8"),
    ("placed", "i8"),                # jobs made since the numbers were read
    ("running_of_type", "i8"), ("queued_of_type", "i8"), ("assigned_of_type", "i8"),   # of one type; -1 = unknown
    ("n_batch_job", "i8"),           # workers submitted or running
    ("num_slots", "i8"),             # Harvester_Slots; -1 = not set
    # of all shares:
    ("transferring", "i8"), ("running_all", "i8"), ("activated_all", "i8"), ("starting_all", "i8"),
    ("cores_running", "i8"), ("cores_starting", "i8"),
    ("idle_s", "f8"),                # since a job last started, s
    *QUEUE_NUMBERS)
"""Job numbers of one share at a PanDA queue; queued means defined, activated and starting."""

STORE = view(("present", "?"), ("usable_bytes", "f8"), *((activity, "?") for activity in ACTIVITIES), STORAGES)
"""The storages of a queue, or the one that takes a site's output; a flag says that one of them may be used so.

read_lan, write_wan: of its input; write_lan, read_wan: of its output; the space is where output goes by default.

usable: free and expired, less what must stay free (brokerage reference, 0.2).
"""

LINK = view(("in_nucleus", "?"), ("sharing", "?"), ("at_nucleus", "?"), ("unmapped", "?"), ("known", "?"), LINKS,
            *LINK_NUMBERS)
"""The way of output from a queue to a nucleus.

in_nucleus: the queue belongs to the nucleus; sharing: it does not, but the nucleus reads its output; at_nucleus: its
output lies at the nucleus; unmapped: where its output lies is not known; known: there is a record of the link;
closeness: 0 best to 11 worst, -1 blocked, -2 unknown; throughput in MB/s, NaN = unknown.
"""


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
