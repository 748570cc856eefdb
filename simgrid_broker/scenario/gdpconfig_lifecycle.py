"""The keys of gdpconfig that dispatch, job generation, scouts, timeouts and watchdogs read.

What lives here: rows of the registry; source: lifecycle reference, section 8. What does not: keys of the brokers
(`gdpconfig_brokerage`).
"""

from simgrid_broker.scenario.gdpconfig_key import GdpconfigKey, keys


def _section(number: str) -> str:
    """Where a group of keys is described."""
    return f"lifecycle reference, section {number}"


def _throttle(component: str) -> tuple[GdpconfigKey, ...]:
    """The keys of a job throttler: production and analysis have the same, each in a component of its own."""
    return keys("jedi", component, _section("2.4 and 8.3"), (
        ("THROTTLE_THRESHOLD", "float", 2.0, "ratio", "Queued over running jobs above which generation stops"),
        ("THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE", "float", 2.0, "ratio", "The same while WORK_SHORTAGE is true"),
        ("NQUEUELIMIT_<queue>[_<rtype>]", "int", None, "jobs", "Queued jobs below which generation never stops; "
         "default: four bunches", True),
        ("NQUEUECAP_<queue>[_<rtype>]", "int", None, "jobs", "Queued jobs above which generation stops", True),
        ("NRUNNINGCAP_<queue>[_<rtype>]", "int", None, "jobs", "Running jobs above which generation stops", True),
    ))


DISPATCH = (
    *keys("pandaserver", "jobdispatch", _section("1.4 and 8.1"), (
        ("SLOPPY_DISPATCH_RATIO", "int", 10, "%", "Jobs go by age alone when a number of 0 to 99 is not above it",
         True),
    )),
    *keys("pandaserver", "meanrss", _section("5.2 and 8.1"), (
        ("IGNORE_MEANRSS", "bool", False, "", "No throttling by the mean memory of a queue"),
    )),
    *keys("pandaserver", "dbproxy", _section("8.1"), (
        ("USER_JOB_PRIO_BOOST_DICTS", "json", None, "", "Priority boosts: list of {name, type, prio, expire}"),
        ("MAX_ACTIVE_TASKS_PER_USER_<label>", "int", None, "tasks", "Active tasks of a user above which none is taken"),
        ("AES_MINEVENTSFORMCORE", "int", None, "event ranges", "Fewest ranges of a multi-core job; default: corecount"),
    )),
)

TIMEOUTS = (
    *keys("pandaserver", "watcher", _section("4.1 and 8.2"), (
        ("HEARTBEAT_TIMEOUT_production", "float", 2, "h", "Silence after which a production job is lost"),
        ("HEARTBEAT_TIMEOUT_analysis", "float", 2, "h", "Silence after which an analysis job is lost"),
        ("HEARTBEAT_TIMEOUT_<workflow>", "float", None, "h", "The same for queues of this CRIC workflow"),
    )),
    *keys("pandaserver", "job_timeout", _section("4.1, 4.2 and 8.2"), (
        ("TIMEOUT_holding", "float", 48, "h", "A job that holds for longer is lost", True),
        ("TIMEOUT_defined", "float", 4, "h", "A job that is defined for longer is taken back", True),
    )),
    *keys("pandaserver", "rebroker", _section("4.4, 4.5 and 8.2"), (
        ("ANALY_TIMEOUT", "float", 12, "h", "Analysis jobs that have not started for longer are brokered again"),
        ("ANALY_TIMEOUT_<workingGroup>", "float", None, "h", "The same for a working group", True),
        ("FAST_REBRO_THRESHOLD_NQNR_RATIO", "float", 3, "ratio", "Queued over running jobs of fast rebrokerage", True),
        ("FAST_REBRO_THRESHOLD_NQUEUE_FRAC", "float", 0.3, "fraction", "Part of the share's queued jobs of fast "
         "rebrokerage", True),
        ("FAST_REBRO_THRESHOLD_NQUEUE_<gshare>", "int", None, "jobs", "Queued jobs of fast rebrokerage; it is off for "
         "shares without this key"),
    )),
)

GENERATION = (
    *keys("jedi", "jobgen", _section("2 and 8.3"), (
        ("JOB_SUBMISSION", "bool", True, "", "False stops generation"),
        ("NTASKS_<queue>", "int", None, "tasks", "Tasks of a cycle; default: configuration"),
        ("NFILES_<queue>", "int", None, "files", "Files of a task in a cycle; default: configuration"),
        ("GROUPBYATTR_<queue>", "str", None, "", "Attribute of tasks by which generation is fair, such as userName"),
        ("TYPNFILES_<label>_<queueOrNone>_<type>", "int", None, "files", "Typical files of a job"),
        ("MERGE_JOB_MAX_WALLTIME_<label>", "float", None, "h", "Wall time of merge jobs; default: the queue's maxtime"),
        ("BUILD_JOB_MAX_WALLTIME", "float", None, "h", "Wall time of build jobs; default: the queue's maxtime"),
    )),
    *keys("jedi", "dbproxy", _section("2.3 and 8.3"), (
        ("SUPER_HIGH_PRIO_TASK_RATIO", "float", 30, "%", "Chance that an express task is put in before each group"),
    )),
    *_throttle("prod_job_throttler"),
    *_throttle("anal_job_throttler"),
)

SCOUTS = keys("jedi", "dbproxy", _section("2.7 and 8.4"), (
    ("SCOUT_CPUTIME_RANK", "float", 95, "percentile", "Of the scouts' CPU times, the one that the task gets"),
    ("SCOUT_RAMCOUNT_RANK", "float", 75, "percentile", "Of the scouts' memory, the one that the task gets"),
    ("SCOUT_RAMCOUNT_MARGIN", "float", 10, "%", "Margin on that memory"),
    ("SCOUT_RAMCOUNT_MIN", "float", None, "MB", "The memory is not set lower"),
    ("SCOUT_DISK_IO_CAP", "float", None, "kB/s", "The disk traffic is not set higher"),
    ("SCOUT_WRONG_CPUTIME_THRESHOLD", "float", 2, "ratio", "Measured over claimed CPU time that exhausts a task"),
    ("RAM_THR_EXAUSTED", "float", 4, "GB", "Memory per core that exhausts a task which claimed less"),
    ("SCOUT_MEM_LEAK_PER_CORE_<label>", "float", None, "kB/s", "Memory leak that is logged"),
    ("SCOUT_SHORT_EXECTIME_<label>", "float", 0, "min", "A job of this length is short"),
    ("SCOUT_NUM_SHORT_<label>", "float", None, "tenths", "Part of short jobs that counts"),
    ("SCOUT_THR_SHORT_<label>", "int", None, "jobs", "Expected jobs from which short jobs count"),
    ("SCOUT_CHANGE_SR_<label>", "bool", False, "", "Change the split rules of tasks with short jobs"),
    ("SCOUT_LOW_CPU_EFFICIENCY_<label>", "float", 0, "%", "A job below it is inefficient"),
    ("SCOUT_NUM_CPU_INEFFICIENT_<label>", "float", None, "tenths", "Part of inefficient jobs that counts"),
    ("SCOUT_THR_CPU_INEFFICIENT_<label>", "int", None, "jobs", "Expected jobs from which inefficient jobs count"),
    ("SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_<label>", "float", None, "kB/s", "Above it inefficient jobs are forgiven"),
    ("SCOUT_MIN_OK_RATE_EXHAUSTED_<label>", "float", None, "fraction", "Success of scouts from which a task is "
     "exhausted and not broken"),
))

RETRY_AND_REFINE = (
    *keys("jedi", "retry_task", _section("2.13 and 8.5"), (
        ("TASK_MAX_ATTEMPT_<label>", "int", None, "attempts", "Attempts of a task after which it is exhausted", True),
        ("JOB_MAX_ATTEMPT_<label>", "int", None, "attempts", "Attempts of a file from which a retry is rejected"),
        ("MAX_FAILED_HEP_SCORE_HOURS_<label>", "float", None, "h", "Failed HEP-score hours that exhaust a task", True),
        ("MAX_FAILED_HEP_SCORE_RATE_<label>", "float", None, "fraction", "Failed part of HEP-score hours that exhausts "
         "a task", True),
        ("MAX_JOB_FAILURE_RATE_<label>", "float", None, "fraction", "Failure rate of a job that exhausts a task", True),
        ("MIN_CPU_EFFICIENCY_<label>", "float", None, "%", "Median CPU efficiency below which a task is exhausted",
         True),
    )),
    *keys("jedi", "watchdog", _section("2.9, 2.11, 8.2 and 8.5"), (
        ("PENDING_TIMEOUT_<label>", "float", 168, "h", "A task that is pending for longer is exhausted"),
        ("MAX_JOB_FAILURE_RATE_TO_PAUSE_<label>[_<queue>]", "float", None, "fraction", "Failure rate of a job that "
         "pauses a task"),
        ("MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE_<label>[_<queue>]", "float", None, "fraction", "Failed part of HEP-score "
         "hours that pauses a task"),
        ("MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE_<label>[_<queue>]", "float", None, "fraction", "The same, as the "
         "documentation calls it"),
        ("MIN_JOBS_TO_PAUSE_<label>", "int", 1000, "jobs", "Jobs that a task needs to be paused"),
        ("MIN_REMAINING_JOBS_TO_PAUSE_<label>", "int", 100, "jobs", "Remaining jobs that a task needs to be paused"),
    )),
    *keys("jedi", "taskrefiner", _section("2.6, 6.5, 7.5 and 8.5"), (
        ("OUTDISKCOUNT_ANALY_KB", "float", 500, "kB", "Output of an analysis task per MB of input"),
        ("USER_JOB_TARGET_WALLTIME", "float", None, "h", "Wall time that analysis jobs aim at"),
        ("USER_TASKS_MOVE_INPUT", "float", None, "%", "Part of analysis tasks that may move input"),
        ("USER_TASKS_MAX_CORE_COUNT", "int", 16, "cores", "Cores of an analysis job"),
        ("USER_TASKS_MESSAGE_DRIVEN_PERCENT", "float", None, "%", "Part of analysis tasks driven by messages"),
        ("USER_TASKS_PUSH_STATUS_CHANGES_PERCENT", "float", None, "%", "Part of analysis tasks that tell of changes"),
        ("PROD_TASKS_PUSH_STATUS_CHANGES_PERCENT", "float", None, "%", "Part of production tasks that tell of changes"),
        ("USER_MAX_TAPE_INPUT_TB", "float", 300, "TB", "Input from tape of an analysis task; negative = no limit"),
        ("AES_MAXTASKPRIORITY", "int", None, "priority", "Highest priority of a task that event service takes"),
        ("AES_MINTASKPRIORITY", "int", None, "priority", "Lowest priority of a task that event service takes"),
        ("AES_EVENTPOOLSIZE", "int", None, "events", "Events that event service keeps waiting"),
        ("AES_MAXPENDING", "int", None, "tasks", "Pending tasks of event service"),
        ("AES_NESCONSUMERS", "int", 1, "", "Consumers of a converted task"),
        ("AES_NSITESPERJOB", "int", None, "sites", "Sites of a job of a converted task"),
    )),
)

WATCHDOGS = (
    *keys("jedi", "anal_watchdog", _section("2.10 and 8.6"), (
        ("USER_PRESTAGE_LIMIT", "float", 1024, "GB", "Input that a user may have under way from tape"),
        ("USER_TRANSFER_LIMIT", "float", 1024, "GB", "Input that a user may have under way"),
    )),
    *keys("jedi", "user_output", _section("8.6"), (
        ("OUTPUT_CONTAINER_LIFETIME", "float", 14, "days", "Lifetime of the outputs of analysis"),
    )),
    *keys("jedi", "task_withholder", _section("7.1 and 8.6"), (
        ("LIMIT_IOINTENSITY_<label>", "float", 999999, "kB/s", "Tasks from here on may be withheld; at least 100"),
        ("LIMIT_PRIORITY_<label>", "int", -999999, "priority", "Only tasks below it are withheld"),
    )),
    *keys("jedi", "queue_filler", _section("7.1 and 8.6"), (
        ("MAX_PREASSIGNED_TASKS_<label>", "int", 3, "tasks", "Tasks pinned to a queue and resource type"),
        ("MIN_FILES_READY_<label>", "int", 50, "files", "Free files that a task needs to be pinned"),
        ("MIN_FILES_READY_<label>_FC", "int", 10, "files", "The same for fat containers"),
        ("MIN_FILES_REMAINING_<label>", "int", 100, "files", "Remaining files that a task needs to be pinned"),
    )),
    *keys("jedi", "data_carousel", _section("7.5 and 8.6"), (
        ("DATA_CAROUSEL_CONFIG", "json", None, "", "Configuration of the data carousel"),
    )),
    *keys("jedi", "task_setup", _section("8.6") + "; PanDA AtlasTaskSetupper", (
        ("DATASET_LIFETIME_<datasetType>", "float", None, "days", "Lifetime of output datasets of a type"),
    )),
    *keys("jedi", "JumboWatchDog", _section("6.4 and 8.6"), (
        ("JUMBO_MAX_TASKS", "int", 1, "tasks", "Tasks with jumbo jobs"),
        ("JUMBO_MIN_EVENTS_DISABLE", "int", 100000, "events", "Remaining events below which jumbo jobs are disabled"),
        ("JUMBO_MIN_EVENTS_ENABLE", "int", None, "events", "Remaining events that enable jumbo jobs; default: 10 x "
         "JUMBO_MIN_EVENTS_DISABLE"),
        ("JUMBO_MAX_EVENTS", "int", None, "events", "Remaining events of all tasks with jumbo jobs; default: "
         "JUMBO_MAX_TASKS x JUMBO_MIN_EVENTS_ENABLE / 2"),
        ("JUMBO_PER_TASK", "int", 1, "jobs", "Jumbo jobs of a task"),
        ("JUMBO_PER_SITE", "int", 1, "jobs", "Jumbo jobs of a task at a site"),
        ("JUMBO_MAX_CURR_PRIO", "int", 500, "priority", "Highest priority of tasks that enable jumbo jobs"),
        ("JUMBO_PROG_TO_BOOST", "float", 95, "%", "Remaining part of the events below which a task is boosted"),
        ("JUMBO_MAX_FILES_TO_BOOST", "int", 500, "files", "Remaining files below which a task is boosted"),
        ("JUMBO_PRIO_DISABLED", "int", 500, "priority", "Lowest priority of tasks whose jumbo jobs were disabled"),
    )),
)

LIFECYCLE_KEYS = (*DISPATCH, *TIMEOUTS, *GENERATION, *SCOUTS, *RETRY_AND_REFINE, *WATCHDOGS)
"""All keys outside the brokers."""
