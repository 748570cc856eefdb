"""Arrays of a world, gathered in one bundle that compiled code takes as a pointer."""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.names import FTS_ACTIVITIES, RAM_LIMITS_MB, RANKED, JobStatus
from simgrid_broker.schema import JOBS, Records
from simgrid_broker.systems.worker_mode import FLAGS

N_STATUS = len(JobStatus)
JOB_BYTES, TIMES_BYTES = JOBS.dtype.itemsize, 8 * N_STATUS
"""Bytes of a job, and of its times."""
TIMEOUT_SCAN, OTHERS_SCAN, WAITING_SCAN = SCANS = range(3)
"""Scans of all jobs for old ones: of the timeout rules, for the jobs that go with overdue ones, and of analysis jobs
that wait."""
N_SCANS = len(SCANS)
N_RAM_LEVELS = 1 + len(RAM_LIMITS_MB)
N_USER_NUMBERS = 5
N_ACTIVITIES = len(FTS_ACTIVITIES)

REUSED = ("jobs", "transfers", "retries", "submissions", "replicas", "subdatasets")
"""Tables whose rows are given back; the free rows of each are a stack, `free_` and its name in `Arrays`."""

PARALLEL = {
    "jobs": ("job_times", "job_tasks", "job_queues", "job_status", "neighbours", "quiet_s", "ages", "job_files"),
    "transfers": ("user_input",),
}
"""Tables that have a row for each one of another table, by its name."""

WITHDRAWN = -1
"""PandaID in an inbox in place of a job that was taken out of it; no row has it, not even a free one."""

GROWING = (*REUSED, "events", "pending", "holding", "done_jobs", "done_transfers", "done_tasks", "lessons")
"""Tables of which compiled code takes rows; `events` includes the far ones."""

STATE = np.dtype([
    ("now_s", "f8"),                 # time of the event in hand, or that the fabric has reached
    ("sequence", "i8"),              # events ever scheduled
    ("panda_id", "i8"),              # jobs ever made
    ("transfer_id", "i8"),           # transfers ever made
    ("n_events", "i8"),              # events to come
    ("n_far", "i8"),                 # of these, the events later than the horizon, not in the heap yet
    ("horizon_s", "f8"),
    ("n_processed", "i8"),           # events ever processed
    ("n_done_jobs", "i8"),           # rows in the outbox of ended attempts
    ("n_done_transfers", "i8"),      # rows in the outbox of ended transfers
    ("n_job_moves", "i8"),           # changes so far of the counts of jobs, and of the jobs that hold input
    ("n_past_merging", "i8"),        # jobs so far that no longer wait to be merged
    ("n_job_rows", "i8"),            # rows of `jobs` that were ever used, which come before all others
    ("n_done_tasks", "i8"),          # tasks of which nothing is left to do
    ("n_lessons", "i8"),             # failed jobs that await the retry module
    ("n_pending", "i8"),             # jobs that await the Setupper
    ("n_holding", "i8"),             # jobs that await the Adder
    ("n_busy_links", "i8"),          # links with files that wait or are under way
    ("next_cycle_s", "f8"),          # next cycle of the transfer optimiser, which looks at ends that are later
    ("n_left", "i8"),                # starting jobs whose workers were cancelled since Harvester's monitor looked
    ("n_pilots", "i8"),              # workers that hold a slot
    ("n_pilots_ever", "i8"), ("n_pilots_empty", "i8"),
    ("total_cores", "i8"),
    ("replicas_version", "i8"),      # changes of any replica so far
    ("most_replicas", "i8"),         # most replicas that a dataset has had
    ("fault_row", "i8"),             # the run must end: -1 = no, else row of a job with a forbidden move,
    ("fault_old", "i8"), ("fault_new", "i8"),
    ("fault_table", "i8"),           # or table of GROWING without a free row; -1 = it is a forbidden move
])
"""Counters and marks of the whole world: one row."""

SETTINGS = np.dtype([
    ("seed", "i8"), ("pilot_startup_s", "f8"), ("empty_pilot_s", "f8"),
    ("first_update_s", "f8"),                    # from dispatch to the first report of the pilot
    ("by_share", "i4"),                          # whether dispatch looks at shares
    *((f"rank_by_{name}", "i4") for name in RANKED),   # weights of the columns of a job in its rank in dispatch
    ("sloppy_fraction", "f8"),                   # part of the requests that is served by age alone
    ("urgent", "i4"),                            # code of the processing type `urgent`, -1 = no task has it
    ("urgent_first", "i4"),                      # whether jobs of that type are dispatched before shares are asked
    ("express_priority", "i4"),                  # lowest priority at which output moves as Express
    ("user_labels", "i8"),                       # bits: labels whose jobs have less priority the more their user has
    ("task_queues", "i4"),                       # whether activated jobs wait in DIRAC's task queues
    ("longest_first", "i4"),                     # whether only matching task queues of the highest CPU time compete
    ("job_window", "i4"),                        # oldest jobs of a task queue of which a pilot gets one
    ("keeps_ages", "i4"),                        # whether activated jobs are also kept by age alone
    ("production_labels", "i8"), ("analysis_labels", "i8"),   # bits: labels that pilots of that work ask for
    ("test_labels", "i8"),                       # bits: labels that pilots of a queue in status `test` ask for
    ("test_type", "i4"),                         # code of the processing type of functional tests, -1 = no task has it
    ("only_tests", "i4"),                        # whether a queue in status `test` gives its pilots only tests
    ("any_diskio", "i4"),                        # whether any task, also one that comes later, may have disk traffic
    ("transfer_retries", "i4"), ("retry_delay_s", "f8"), ("stuck_delay_s", "f8"),   # of transfers
    ("lost_callbacks", "f8"),                    # part of those of input
    ("dispatch_lifetime_s", "f8"),               # of files that were brought to a site for jobs
    ("users", "i8"),                             # bits: labels of analysis work, whose input is Analysis Input
    ("build", "i4"),                             # code of the processing type of build jobs, -1 = there are none
    ("build_walltime_s", "f8"),                  # maxWalltime of build jobs without baseWalltime; inf = of their queue
])
"""Values of the scenario and of policies that compiled code reads: one row."""

EVENT = np.dtype([("time_s", "f8"), ("sequence", "i8"), ("kind", "i4"), ("row", "i4")])
"""An event of the fabric."""

RETRY = np.dtype([
    ("old_panda_id", "i8"),          # the job that tried it last
    ("brought_s", "f8"), ("brought_id", "i8"), ("brought_by", "i4"),     # as of JOB_FILES, as is the next
    ("brought_to", "i2"), ("failures", "u1"), ("attempt_limit", "u1"),
    ("chunk", "i4"), ("attempt", "i4"), ("next", "i4"),
    ("n_chunks", "i4"),              # pieces of input, from `chunk` on
])
"""A piece of a task's input that awaits another attempt."""

RAM_LEVEL = np.dtype([
    ("head", "i4"),                  # first retry of the list, -1 = none
    ("waiting", "i4"),               # pieces of input in the list
    ("inputs", "i4"),                # pieces of input that have been raised to this level
])
"""Input of a task of one ramCount: that of the task, level 0, or one that the retry module raised it to."""

RETRY_RULE = np.dtype([("attempt_limit", "u1"), ("system", "?"), ("learn", "?")])
"""Consequences of a failure: a limit of attempts (0 = none), whether it counts for maxFailure, a lesson to learn."""

LESSON = np.dtype([
    ("task", "i4"), ("retry", "i4"),                   # retry: row of the input that is held back, -1 = given up
    ("queue", "i4"), ("n_events", "i4"), ("hs06_milli", "i4"), ("ramcount_mb", "f4"),
    ("maxpss_mb", "f4"),                               # as far as the pilot saw it
    ("n_inputs", "i4"),                                # pieces of input that it read
    ("corecount", "i2"), ("ram_level", "i2"), ("cause", "i2"),
])
"""A failed job as the retry module sees it, before its input may be tried again."""

ORDERED = np.dtype([("time_s", "f8"), ("task", "i4"), ("pseudo_queue", "i4"), ("count", "i4"), ("ramcount_mb", "f4"),
                    ("ram_level", "i2"), ("resource_type", "i2")])
"""Jobs that a cycle of the JobGenerator has placed: `count` of a task at a pseudo-queue."""

DATASET = np.dtype([
    ("bytes", "f8"),                 # 0 = a dataset of one task alone, whose files the task counts
    ("unstaged", "f8"),              # part that the data carousel has still to bring from tape
    ("version", "i8"),               # changes of its replicas so far; it never goes back
    ("n_files", "i8"),
    ("lost", "f4"),                  # part that no replica has; 0 of a dataset of one task alone
    ("first_replica", "i4"),         # -1 = none
    ("n_replicas", "i4"),
    ("deleted", "i4"),               # whether Rucio does not know it any more
])
"""A dataset: files that tasks read, of which only the number is known."""

REPLICA = np.dtype([
    ("part", "f8"),                  # part of the files that is there
    ("coming", "f8"),                # part that is under way
    ("own", "f8"), ("own_coming", "f8"),     # what of either `own_task` has asked for
    ("own_task", "i8"),              # jeditaskid of the task that asked for files last, 0 = none has
    ("bytes", "f8"),                 # its size at the storage as far as it can be deleted from there
    ("expires_s", "f8"),             # inf = never
    ("transfer_id", "i8"),           # of the transfer that was asked for last, in row `transfer`
    ("dataset", "i4"),               # -1 = the row is free
    ("next", "i4"), ("site", "i4"),
    ("storage", "i4"),               # -1 = the site has none
    ("transfer", "i4"),
    ("tape", "i1"), ("virtual", "i1"),
    ("secondary", "i1"),             # whether it has a lifetime
    ("expired", "i1"),               # whether its lifetime is over, so that it may be deleted
])
"""A replica of a dataset at a storage."""

MEMBER = np.dtype([
    ("piece_bytes", "f8"),           # mean size of its pieces
    ("dataset", "i4"),
    ("first_piece", "i4"), ("n_pieces", "i4"),     # pieces of the task's input that it has
    ("first_file", "i4"),            # files of the members before it
    ("used", "i4"),                  # pieces for which jobs were made
    ("n_finished", "i4"), ("n_failed", "i4"),      # pieces that were processed, and that were given up
])
"""A dataset of a container that a task reads whole, as a row of JEDI_Datasets; those of a task stand side by side."""

CONTAINER = np.dtype([
    ("first", "i4"), ("number", "i4"),       # members; 0 = the task reads a single dataset
    ("now", "i4"),                   # row of the member that is brokered
])
"""The container that a task reads whole, in the table of members."""

SECONDARY = np.dtype([
    ("bytes", "f8"), ("files", "f8"),        # means of what goes with a piece of a task's input
    ("luck", "i8"),                  # key of the random draws of the dataset
    ("dataset", "i4"),
    ("read_again", "?"),             # whether several jobs may read the same files
])
"""A secondary dataset with replicas of its own, as the tasks of a stream read it; those of a stream stand side by side.
"""

JOB_INPUT = np.dtype([
    ("bytes", "f8"), ("files", "i4"),        # what the job reads of it
    ("awaited", "i4"), ("awaited_id", "i8"),     # row and identifier of the transfer that brings the rest; 0 = none is
                                             # awaited, -1 = no site has it
], align=True)
"""Files that a job reads of a secondary dataset with replicas of its own, in the row of the job and the place of the
dataset in the list of its task."""

BUNCH = np.dtype([("transfer", "i4"), ("n_jobs", "i4")])
"""A transfer of secondary files for several jobs that is not asked for yet, -1 = none, and the jobs so far."""

INPUT_LOSS = np.dtype([("lost", "f4"), ("broken", "f4")])
"""Parts of a task's input that are gone since it was submitted, and that are corrupt."""

SUBMISSION = np.dtype([
    ("submitted_s", "f8"),           # when they were submitted
    ("since_s", "f8"),               # since when the batch system considers them
    ("count", "i4"),                 # 0 = they were cancelled
    ("next", "i4"), ("pseudo_queue", "i4"),
    ("job", "i4"),                   # row of the job that the only worker was submitted for, -1 = none
])
"""Workers of one pseudo-queue that were submitted together and wait in the batch system."""

JOB_FILES = np.dtype([
    ("brought_s", "f8"),             # when input of one task alone was asked for at `brought_to`, s
    ("brought_id", "i8"),            # transfer that brings or brought it, 0 = none
    ("brought_by", "i4"),            # row of that transfer, until it has ended
    ("subdataset", "i4"),            # destination sub-dataset that the job's output is still to come to, -1 = none
    ("brought_to", "i2"),            # site to which this or an earlier attempt had that input moved, -1 = none
    ("stored", "i1"),                # whether output takes space at the job's site, and no transfer has it yet
    ("reads", "i1"),                 # whether it reads input from other sites while it runs, a code of `remote_reading`
    ("marks", "u2"),                 # bits of `names.JobMark`, which timeout rules ask for
], align=True)
"""Files of a job, in the row of the job: apart from the job, because most steps of its life do not need them."""

EVENT_JOB = np.dtype([
    ("begun_s", "f8"),               # when it began with the ranges that it has in hand
    ("each_s", "f8"),                # wall time of one event
    ("limit_s", "f8"),               # when its payload fails or its slot ends, inf = never
    ("n_events", "i8"),              # events that it has processed
    ("chunk", "i4"),                 # of the table of event ranges; -1 = it is in no jobset
    ("first", "i4"),                 # first range in hand, -1 = none
    ("n_done", "i4"),                # ranges that it has processed
    ("number", "i4"),                # of the consumer in its jobset, from 0; it keys the draws
    ("cloning", "i1"),               # names.Cloning: it is a clone, which runs as an ordinary job
], align=True)
"""A consumer of event service, or a clone, in the row of the job; a run without either has none."""

AGE = np.dtype([("panda_id", "i8"), ("rank", "i4"), ("child", "i4"), ("sibling", "i4"), ("previous", "i4"),
                ("task_queue", "i4")])
"""An activated job in the heap of those of its pseudo-queue by age, in the row of the job; all have rank 0.

In a run with task queues, its place in the list of its task queue instead; -1 = it waits at its pseudo-queue.
"""

LIVE_JOBS = np.dtype([
    ("version", "i8"),               # n_job_moves when one was last made, ended, began to wait to be merged or to hold
                                     # input, or changed its queue
    ("first", "i4"),                 # row of the one that was made last, -1 = none
], align=True)
"""The list of the live jobs of a task, and when it last changed."""

NEIGHBOUR = np.dtype([("next", "i4"), ("previous", "i4")])
"""Rows of the jobs behind and before a live job in the list of those of its task, -1 = none."""

WAITING = np.dtype([("panda_id", "i8"), ("row", "i4")])
"""A job in the inbox of a server agent; stale when the row has since got another panda_id."""
FETCHED = np.dtype([("panda_id", "i8"), ("row", "i4"), ("resource_type", "i4")])
"""A job that Harvester has fetched, with the type of its worker, 0 at a plain queue; stale as above."""


SUBDATASET = np.dtype([
    ("jeditaskid", "i8"),
    ("n_jobs", "i4"),                # jobs that it was made for; 0 = the row is free
    ("open", "i4"),                  # of these, the jobs whose output may still come
    ("first", "i4"),                 # first transfer that has arrived and waits for the others, -1 = none
    ("source", "i2"), ("destination", "i2"),   # sites
])
"""A destination sub-dataset: output of jobs that were set up together, whose callback comes when it is complete."""

LANE = np.dtype([
    ("head", "i4"), ("tail", "i4"),  # first and last transfer that wait, -1 = none
    ("active_files", "i4"),
    ("served", "f8"),                # files started so far over the share of the activity
])
"""Transfers of one activity at one link."""

GATE = np.dtype([
    ("nominal", "f8"),               # capacity as the scenario gives it, bytes/s
    ("capacity", "f8"),              # what links may have of it now
    ("free", "f8"),                  # of this, what no link has
])
"""A door of a site or an endpoint, or one direction of a backbone."""

WORKER_MODE = np.dtype([(flag, "?") for flag in FLAGS])
"""Flags of a worker mode, as `systems.worker_mode.WorkerMode` describes them."""

FTS_MEMORY = np.dtype([
    ("files_done", "i8"), ("files_failed", "i8"),    # counters of the link when FTS last adapted its limit
    ("bytes_moved", "f8"), ("mean_rate", "f8"),      # bytes/s, moving average
])
"""Memory of FTS's optimiser about a link."""

class Arrays(Bundle):
    """Everything that compiled code reads or writes; tables are structured arrays of `schema`, (rows,)."""

    state: Records
    n_free: np.ndarray             # of the tables of REUSED: rows that can be allocated
    settings: Records
    sites: Records
    worker_modes: Records       # of the run
    queues: Records
    eviction_hours: np.ndarray     # (n_queues, 24), rates by hour of the day, 1/s; (0, 24) if none follows it
    pseudo_queues: Records
    pools: Records
    pool_members: np.ndarray       # pseudo-queues, pool by pool
    nodes: Records              # pool by pool; none of a pool whose cores count for the whole system
    roomy_nodes: np.ndarray        # (n_nodes,), those with free cores first, in any order, pool by pool
    worker_accounts: np.ndarray    # (n_pseudo_queues,)
    links: Records              # (n_sites * n_sites,), source * n_sites + destination
    lanes: np.ndarray              # (n_links, N_ACTIVITIES), transfers that wait
    gates: Records              # (n_gates,), doors and backbones with a capacity
    link_gates: np.ndarray         # (n_links, w), gates that each link crosses, behind them -1
    busy_links: np.ndarray         # (n_links,), links with files first, in any order
    fts_memory: Records         # (n_links,)
    activity_shares: np.ndarray    # (N_ACTIVITIES,), weights where several activities wait
    storages: Records
    tasks: Records
    task_times: np.ndarray         # (n_tasks, n_task_status), s, NaN = never
    input_dataset: np.ndarray      # (n_tasks,), dataset that each task reads; of a whole container the one in hand
    containers: Records         # (n_tasks,)
    members: Records            # of containers, task by task
    datasets: Records           # (n_named + n_tasks,), those of the scenario, then one for each task
    secondaries: Records        # of SECONDARY, list by list
    secondary_lists: np.ndarray    # (n_lists + 2,), where the list of each number begins; that of number 0 is empty
    job_inputs: np.ndarray         # (n_rows, most of a list), as `jobs`; (0, 1) if no task has such secondaries
    bunches: np.ndarray            # (most of a list,), of the secondary datasets of the job that is set up
    replicas: Records           # in lists by dataset
    jobs: Records
    job_times: np.ndarray          # (n_rows, n_status), s, NaN = never; of free rows anything
    transfers: Records
    user_input: np.ndarray         # (n_rows,) bool, which of `transfers` are input of users, close together for scans
    subdatasets: Records
    retries: Records
    submissions: Records
    free_jobs: np.ndarray
    free_transfers: np.ndarray
    free_retries: np.ndarray
    free_submissions: np.ndarray
    free_replicas: np.ndarray
    free_subdatasets: np.ndarray
    events: np.ndarray             # heap of the near ones
    far_events: np.ndarray         # the others, in any order
    activated: np.ndarray          # (n_pseudo_queues, n_shares), best activated job, -1 = none
    newest_activated: np.ndarray   # the same shape, the one that came last; -1 = it has left, or none has come
    oldest: np.ndarray             # (n_pseudo_queues,), oldest activated job, -1 = none; kept if ages are
    job_tasks: np.ndarray          # (n_rows,), tasks of `jobs`, close together for scans
    job_queues: np.ndarray         # (n_rows,), queues of `jobs`, in the same way
    job_status: np.ndarray         # (n_rows,), statuses of `jobs`, in the same way; of a free row a final one
    live_jobs: Records          # (n_tasks,) of LIVE_JOBS
    live_types: np.ndarray         # (n_tasks, n_resource_types), live jobs
    neighbours: Records         # (n_rows,) of NEIGHBOUR, as `jobs`: lists of the live jobs by task
    quiet_s: np.ndarray            # (n_rows, n_scans), s, scans for old jobs pass over a job before it
    ages: Records               # (n_rows,) of AGE, as `jobs`
    job_files: Records          # (n_rows,), as `jobs`
    event_jobs: Records         # (n_rows,), as `jobs`; (0,) without event service
    event_ranges: Records       # of `systems.events.table.RANGE`
    event_chunks: Records       # of `systems.events.table.CHUNK`
    event_state: Records        # state of the table of ranges
    ranges_found: Records       # (n,), room for the ranges of one request
    share_order: np.ndarray        # (n_shares,), most under-served first
    share_rank: np.ndarray         # (n_shares,), rank of each share in dispatch; those of equal rank compete by job
    shares_by_rank: np.ndarray     # (n_shares,), the shares of lower rank first
    counts: np.ndarray             # (n_queues, n_groups, n_resource_types, n_status), jobs; groups as in `jobs.counts`
    running_cores: np.ndarray      # (n_queues, n_groups, n_resource_types), cores of running jobs
    memory_asked: np.ndarray       # (n_queues, 2), memory per core of running and of starting jobs, `PARTS` of a MB
    disk_traffic: np.ndarray       # (n_queues,), disk traffic per core of running jobs, `PARTS` of a kB/s
    transferring_to: np.ndarray    # (n_queues, n_sites), jobs whose output is on its way to each nucleus
    hs06_milli: np.ndarray         # (n_shares,), power in use by sent and running jobs
    user_counts: np.ndarray        # (n_users, n_status), jobs
    user_cores: np.ndarray         # (n_users,), cores of running jobs
    user_jobs: np.ndarray          # (n_user_rows, n_queues, N_USER_NUMBERS), as in `world.users.jobs`
    user_queued_cores: np.ndarray  # (n_user_rows,), cores of their queued and throttled jobs
    pending: Records            # inbox of the Setupper; panda_id: WITHDRAWN = not to be set up
    holding: Records            # inbox of the Adder
    done_jobs: Records          # outbox of ended attempts
    done_times: np.ndarray         # their transition times
    done_transfers: Records     # outbox of ended transfers
    done_tasks: Records         # outbox of tasks with nothing left to do
    allowed: np.ndarray            # (n_status, n_status), allowed moves
    ram_levels: np.ndarray         # (n_tasks, N_RAM_LEVELS)
    scout_inputs: np.ndarray       # (n_tasks,), inputs of which jobs may be made while a task scouts, 0 = all
    retry_rules: np.ndarray        # (n_classes, n_causes), class of a task and cause of a failure
    lessons: Records            # inbox of the retry module
    splitting: Records          # (n_tasks,), how input is cut into jobs
    input_loss: Records         # (n_tasks,)
    task_queues: Records        # (n,) of TASK_QUEUE; this and the next seven as in `Draw`, by pseudo-queue
    accepts: np.ndarray
    n_open: np.ndarray
    drawable: np.ndarray
    n_drawable: np.ndarray
    walks: np.ndarray
    limits: np.ndarray
    limits_of: np.ndarray
    waits_in: np.ndarray           # (n_tasks, N_RAM_LEVELS), task queue of the jobs of a task, -1 = at their queues
    cpu_classes: np.ndarray        # CPU times of task queues, HS06 s, ascending
    n_asked: np.ndarray            # (n_pseudo_queues,), requests to task queues so far
    trace: np.ndarray              # recorded jobs, task by task, in each in the order of submission
