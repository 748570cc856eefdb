"""One candidate of job brokerage as compiled criteria and factors see it.

What lives here: the arguments `At` and the records of what a task asks and of a candidate's numbers. What does not:
filling them (`ask`, `load`, `decide`) and any rule.
"""

from typing import NamedTuple

import numpy as np

ASK = np.dtype([
    ("jeditaskid", "i8"), ("priority", "i8"), ("t1weight", "i4"), ("iointensity", "f8"),
    ("total_bytes", "f8"), ("total_files", "f8"),
    ("is_scout", "?"), ("is_merging", "?"), ("express", "?"), ("has_nucleus", "?"),
    ("hint", "?"),                   # asked by the task brokerage: can jobs of the task run there at all?
    ("corecount", "i4"), ("diskio", "f8"), ("t1value", "f8"),    # t1value: factor of queues at the nucleus
    ("fullchain", "i4"), ("nucleus_bare", "i4"),
    ("merge_output", "?"), ("single", "?"), ("listed", "?"), ("event_service", "?"),
    ("label_test", "?"),             # `test` is in the prodSourceLabel
    ("complete_somewhere", "?"),     # a complete replica of the input exists,
    ("no_remote_source", "?"),       # but none at a storage that sends files to other sites
    ("ram_mb", "f8"), ("ram_per_core", "?"), ("base_ram_mb", "f8"),    # of a job or a core of it; 0 = unknown
    ("input_bytes_per_job", "f8"), ("scratch_bytes", "f8"), ("single_core", "?"), ("reads_lan", "?"),
    ("cpuefficiency", "f8"), ("basewalltime_s", "f8"), ("counts_hs06", "?"), ("walltime_is_known", "?"),
    ("usual_work", "f8"), ("least_work", "f8"), ("most_work", "f8"),   # of a job; the last two where events are chosen
    ("wants_a_day", "?"),            # asks for queues of 24 h though it does not scout
    ("work_shortage", "?"), ("max_diskio", "f8"), ("storage_min_free_bytes", "f8"), ("io_intensity_cutoff", "f8"),
    ("size_cutoff_mb", "f8"), ("num_cutoff", "f8"),    # MB of the edition: 1e6 bytes as documented, 1024**2 as deployed
    ("cut", "f8"),                   # NQUEUELIMITSITE_<gshare>
    ("min_weight", "f8"),            # MIN_WEIGHT_<label>_<gshare>
    ("max_prio_to_bootstrap", "f8"),
    ("nucleus_writable", "?"), ("nucleus_readable", "?"), ("nucleus_queued_files", "f8"),     # of the task's nucleus
    ("nqueued_nuc_cap_for_jobs", "f8"), ("nqueued_sat_cap", "f8"), ("nw_active", "?"), ("nw_queue_importance", "f8"),
    ("nw_threshold", "f8"), ("nw_weight_multiplier", "f8"),
])
"""What a task asks and the values of gdpconfig that hold for it, as numbers: one row for each decision."""


NUMBERS = np.dtype([
    ("running", "f8"),               # may be lifted above the real number (bootstrap, numSlots)
    ("assigned", "f8"),              # 0 where the input is local: such jobs do not wait for those that wait for data
    ("ready", "f8"),                 # activated and starting
    ("queued", "f8"),                # defined, assigned and ready
    ("backlog", "f8"), ("cap", "f8"),    # jobs that wait, and the number they must stay below to be given more
    ("disk_bytes", "f8"), ("disk_files", "f8"), ("any_bytes", "f8"), ("any_files", "f8"),    # as `views.Locality`
    ("weight", "f8"),                # made of all the others
])
"""A candidate's job numbers as an edition counts them, its parts of the input, and its weight."""


class At(NamedTuple):
    """The arguments of every compiled rule: one candidate. Records, so that nothing is copied.

    ask: of ASK; queue, load, link, store: of `views.QUEUE`, `LOAD`, `LINK` and `STORE`; n: of NUMBERS.
    """

    ask: np.void
    queue: np.void
    load: np.void
    link: np.void
    store: np.void
    n: np.void
