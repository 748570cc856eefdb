"""The keys of gdpconfig that the brokers and the classes of analysis tasks read.

What lives here: rows of the registry; source: brokerage reference, section 12, and lifecycle reference, section 8.7.
What does not: keys of dispatch, generation, scouts and watchdogs (`gdpconfig_lifecycle`).
"""

from simgrid_broker.scenario.gdpconfig_key import keys

_SECTION = "brokerage reference, section 12"

TASK_BROKERAGE = keys("jedi", "taskbrokerage", _SECTION, (
    ("DISK_THRESHOLD", "float", 100, "TB", "Usable space that a nucleus needs"),
    ("DISK_THRESHOLD_<gshare>", "float", None, "TB", "The same for one share"),
    ("FREE_DISK_CUTOFF", "float", 1000, "TB", "Cap of the free space in the weight of a nucleus"),
    ("INPUT_SIZE_THRESHOLD", "float", 1, "GB", "Input from which INPUT_SIZE_FRACTION holds"),
    ("INPUT_NUM_THRESHOLD", "int", 100, "files", "Input from which INPUT_NUM_FRACTION holds"),
    ("INPUT_SIZE_FRACTION", "float", 10, "%", "Part of the input's size that must be at the nucleus"),
    ("INPUT_NUM_FRACTION", "float", 10, "%", "Part of the input's files that must be at the nucleus"),
    ("MIN_IO_INTENSITY_WITH_LOCAL_DATA", "float", 200, "kB/s",
     "Above it locality is not waived, and the data factor is in the weight"),
    ("MIN_INPUT_SIZE_WITH_LOCAL_DATA", "float", 10000, "GB", "Input above which locality is not waived"),
    ("MAX_TASK_PRIO_WITH_LOCAL_DATA", "int", 800, "priority", "Locality is waived at this priority and above"),
    ("DATA_LOCATION_CHECK_PERIOD", "float", 7, "days", "Locality is dropped for tasks older than this", True),
    ("NQUEUED_NUC_CAP", "int", 2000, "files", "Queued output files above which a nucleus is skipped"),
))

JOB_BROKERAGE = keys("jedi", "jobbroker", _SECTION, (
    ("NW_ACTIVE", "bool", False, "", "Apply the network weight"),
    ("NW_QUEUE_IMPORTANCE", "float", 0.5, "fraction", "Part of the queued files in the network weight"),
    ("NW_THRESHOLD", "float", 1.7, "weight", "Network weight that express work needs"),
    ("NW_WEIGHT_MULTIPLIER", "float", 1, "", "Multiplies NW_THRESHOLD"),
    ("NQUEUED_SAT_CAP", "int", 150, "files", "Queued files above which a link is skipped; scale of the queued weight"),
    ("NQUEUED_NUC_CAP_FOR_JOBS", "int", 10000, "files", "Files queued to the nucleus above which it gets no jobs"),
    ("IO_INTENSITY_CUTOFF", "float", 200, "kB/s", "Above it a task is heavy in input and output"),
    ("SIZE_CUTOFF_TO_MOVE_INPUT", "float", 10, "GB", "Missing input that a heavy task may move"),
    ("NUM_CUTOFF_TO_MOVE_INPUT", "int", 100, "files", "Missing files that a heavy task may move"),
    ("MAX_PRIO_TO_BOOTSTRAP", "int", 150, "priority", "Bootstrapping and numSlots only up to this priority"),
    ("MAX_DISKIO_DEFAULT", "float", 1e10, "kB/s per core", "Limit of disk traffic where the queue gives none", True),
    ("STORAGE_MIN_FREE_SIZE", "float", 200, "GB", "Usable space that a storage needs", True),
    ("NQUEUELIMITSITE_<gshare>", "int", 20, "jobs", "Lower bound of the cap of queued jobs at a queue", True),
    ("MIN_WEIGHT_<label>[_<gshare>]", "float", 0, "weight", "Weight that a candidate needs"),
    ("MAX_MISSING_INPUT_FILES", "int", 10, "files", "Input lacking no more than this is regarded as complete"),
    ("MIN_INPUT_COMPLETENESS", "float", 90, "%", "Input present to this degree is regarded as complete"),
))

ANALYSIS_BROKERAGE = keys("jedi", "anal_jobbroker", _SECTION, (
    ("MAX_MISSING_INPUT_FILES", "int", 10, "files", "Input lacking no more than this is regarded as complete"),
    ("MIN_INPUT_COMPLETENESS", "float", 90, "%", "Input present to this degree is regarded as complete"),
    ("STORAGE_MIN_FREE_SIZE_OUTPUT", "float", 200, "GB", "Usable space that a storage needs for output", True),
    ("TW_DONE_JOB_STAT", "float", 6, "h", "Window in which failed jobs are counted"),
    ("MIN_BAD_JOBS_TO_SKIP_PQ", "int", 5, "jobs", "Bad jobs that a queue may have in that window"),
    ("BASE_QUEUE_LENGTH_PER_PQ", "int", 100, "jobs", "Queued analysis jobs that a queue may always have"),
    ("BASE_EXPECTED_WAIT_HOUR_ON_PQ", "float", 8, "h", "Wait from which a task may be throttled"),
    ("BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER", "int", 5, "jobs", "Queued jobs that a user may always have at a queue"),
    ("BASE_QUEUE_RATIO_ON_PQ", "float", 0.05, "fraction", "Part of a queue's waiting jobs that a user may have"),
    ("STATIC_MAX_QUEUE_RUNNING_RATIO", "float", 2.0, "ratio", "Queued over running jobs that a queue may have"),
    ("MAX_EXPECTED_WAIT_HOUR", "float", 12.0, "h", "Wait that a queue may have"),
    ("IO_INTENSITY_CUTOFF_USER", "float", None, "kB/s", "At or below it locality may be ignored", True),
    ("DATA_CHECK_TIMEOUT_USER", "float", None, "h", "Locality may be ignored after this", True),
    ("OVERLOAD_MIN_QUEUE", "int", 20, "jobs", "Queued jobs from which a queue can be overloaded"),
    ("OVERLOAD_RATIO_OFFSET", "float", 1.2, "ratio", "Queued over running jobs from which a queue is overloaded"),
))

CORE = keys("jedi", "core", _SECTION, (
    ("WORK_SHORTAGE", "bool", False, "", "Work is short: brokerage keeps to pledged resources, the throttle to its own "
     "threshold"),
))

USER_LIMITS = keys("pandaserver", "prio_mgr", _SECTION, (
    ("CAP_RUNNING_USER_JOBS", "int", None, "jobs", "Running jobs of a user; unset: job throttle takes 10000", True),
    ("CAP_RUNNING_USER_CORES", "int", None, "cores", "Cores of a user; unset: job throttle takes 10000", True),
    ("CAP_RUNNING_GROUP_JOBS", "int", None, "jobs", "Running jobs of a group; unset: job throttle takes 10000", True),
    ("CAP_RUNNING_GROUP_CORES", "int", None, "cores", "Cores of a group; unset: job throttle takes 10000", True),
))

TASK_CLASSES = keys("pandaserver", "analy_eval", _SECTION, (
    ("USER_USAGE_THRESHOLD_A", "int", 1000, "slots", "Slots of a user up to which tasks are of class A"),
    ("USER_USAGE_THRESHOLD_B", "int", 8000, "slots", "Slots of a user up to which tasks are of class B"),
    ("PROGRESS_TO_BOOST_A", "float", 90, "%", "Progress from which a task of class A becomes class S"),
    ("PROGRESS_TO_BOOST_B", "float", 95, "%", "Progress from which a task of class B becomes class S"),
    ("MAX_REM_JOBS_TO_BOOST_A", "int", 500, "jobs", "Remaining jobs up to which a task of class A becomes class S"),
    ("MAX_REM_JOBS_TO_BOOST_B", "int", 200, "jobs", "Remaining jobs up to which a task of class B becomes class S"),
))

BROKERAGE_KEYS = (*TASK_BROKERAGE, *JOB_BROKERAGE, *ANALYSIS_BROKERAGE, *CORE, *USER_LIMITS, *TASK_CLASSES)
"""All keys of the brokers."""
