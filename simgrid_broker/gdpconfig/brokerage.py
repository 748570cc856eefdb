"""Keys of the brokers and of the classes of analysis tasks."""

from math import inf

from simgrid_broker.gdpconfig.key import Component, key

SOURCE = "brokerage reference, section 12"


class taskbrokerage(Component, app="jedi", source=SOURCE):
    """Task brokerage."""

    DISK_THRESHOLD = key("float", 100, "TB", "Usable space that a nucleus needs; may be negative", at_least=-inf)
    DISK_THRESHOLD_OF_SHARE = key("float", None, "TB", "Usable space that a nucleus needs for one share",
                                  spelled="DISK_THRESHOLD_<gshare>", at_least=-inf)
    FREE_DISK_CUTOFF = key("float", 1000, "TB", "Cap of the free space in the weight of a nucleus")
    INPUT_SIZE_THRESHOLD = key("float", 1, "GB", "Input size above which INPUT_SIZE_FRACTION applies")
    INPUT_NUM_THRESHOLD = key("int", 100, "files", "Input files above which INPUT_NUM_FRACTION applies")
    INPUT_SIZE_FRACTION = key("float", 10, "%", "Fraction of the input size that must be at the nucleus", at_most=100)
    INPUT_NUM_FRACTION = key("float", 10, "%", "Fraction of the input files that must be at the nucleus", at_most=100)
    MIN_IO_INTENSITY_WITH_LOCAL_DATA = key(
        "float", 200, "kB/s", "ioIntensity above which locality is not waived and the weight contains the local input")
    MIN_INPUT_SIZE_WITH_LOCAL_DATA = key("float", 10000, "GB", "Input size above which locality is not waived")
    MAX_TASK_PRIO_WITH_LOCAL_DATA = key("int", 800, "priority", "Priority from which locality is waived", at_least=-inf)
    DATA_LOCATION_CHECK_PERIOD = key("float", 7, "days", "Age of a task above which locality is not checked",
                                     zero_is_unset=True)
    NQUEUED_NUC_CAP = key("int", 2000, "files", "Queued output files above which a nucleus is skipped")


class jobbroker(Component, app="jedi", source=SOURCE):
    """Job brokerage of production."""

    NW_ACTIVE = key("bool", False, "", "Apply the network weight")
    NW_QUEUE_IMPORTANCE = key("float", 0.5, "fraction", "Share of the queued files in the network weight", at_most=1)
    NW_THRESHOLD = key("float", 1.7, "weight", "Network weight that express work needs", at_least=-inf)
    NW_WEIGHT_MULTIPLIER = key("float", 1, "", "Multiplies NW_THRESHOLD", at_least=-inf)
    NQUEUED_SAT_CAP = key("int", 150, "files", "Queued files above which a link is skipped; scale of the queued weight")
    NQUEUED_NUC_CAP_FOR_JOBS = key("int", 10000, "files", "Files queued to a nucleus above which it gets no jobs")
    IO_INTENSITY_CUTOFF = key("float", 200, "kB/s", "ioIntensity above which a task is I/O-heavy")
    SIZE_CUTOFF_TO_MOVE_INPUT = key("float", 10, "GB", "Missing input size that an I/O-heavy task may move")
    NUM_CUTOFF_TO_MOVE_INPUT = key("int", 100, "files", "Missing input files that an I/O-heavy task may move")
    MAX_PRIO_TO_BOOTSTRAP = key("int", 150, "priority", "Highest priority for bootstrapping and numSlots",
                                at_least=-inf)
    MAX_DISKIO_DEFAULT = key("float", 1e10, "kB/s per core", "Limit of disk I/O where the queue has none",
                             zero_is_unset=True)
    STORAGE_MIN_FREE_SIZE = key("float", 200, "GB", "Usable space that a storage needs", zero_is_unset=True)
    NQUEUELIMITSITE = key("int", 20, "jobs", "Lower bound of the cap of queued jobs at a queue",
                          spelled="_<gshare>", zero_is_unset=True)
    MIN_WEIGHT = key("float", 0, "weight", "Weight that a candidate needs", spelled="_<label>[_<gshare>]",
                     at_least=-inf, editions=("deployed",))
    MAX_MISSING_INPUT_FILES = key("int", 10, "files", "Missing files up to which input is regarded as complete")
    MIN_INPUT_COMPLETENESS = key("float", 90, "%", "Completeness from which input is regarded as complete", at_most=100)


class anal_jobbroker(Component, app="jedi", source=SOURCE):
    """Job brokerage of analysis."""

    MAX_MISSING_INPUT_FILES = key("int", 10, "files", "Missing files up to which input is regarded as complete")
    MIN_INPUT_COMPLETENESS = key("float", 90, "%", "Completeness from which input is regarded as complete", at_most=100)
    STORAGE_MIN_FREE_SIZE_OUTPUT = key("float", 200, "GB", "Usable space that a storage needs for output",
                                       zero_is_unset=True)
    TW_DONE_JOB_STAT = key("float", 6, "h", "Window in which failed jobs are counted")
    MIN_BAD_JOBS_TO_SKIP_PQ = key("int", 5, "jobs", "Bad jobs that a queue may have in that window")
    BASE_QUEUE_LENGTH_PER_PQ = key("int", 100, "jobs", "Queued analysis jobs that a queue may always have")
    BASE_EXPECTED_WAIT_HOUR_ON_PQ = key("float", 8, "h", "Expected wait from which a task may be throttled")
    BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER = key("int", 5, "jobs", "Queued jobs that a user may always have at a queue")
    BASE_QUEUE_RATIO_ON_PQ = key("float", 0.05, "fraction", "Fraction of a queue's waiting jobs that a user may have")
    STATIC_MAX_QUEUE_RUNNING_RATIO = key("float", 2.0, "ratio", "Queued over running jobs that a queue may have")
    MAX_EXPECTED_WAIT_HOUR = key("float", 12.0, "h", "Expected wait that a queue may have")
    IO_INTENSITY_CUTOFF_USER = key("float", None, "kB/s", "ioIntensity up to which locality may be ignored",
                                   zero_is_unset=True)
    DATA_CHECK_TIMEOUT_USER = key("float", None, "h", "Age of a task after which locality may be ignored",
                                  zero_is_unset=True)
    OVERLOAD_MIN_QUEUE = key("int", 20, "jobs", "Queued jobs from which a queue can be overloaded")
    OVERLOAD_RATIO_OFFSET = key("float", 1.2, "ratio", "Queued over running jobs from which a queue is overloaded")


class core(Component, app="jedi", source=SOURCE):
    """All of JEDI."""

    WORK_SHORTAGE = key("bool", False, "", "Work is short: brokerage uses pledged resources only, and the throttler "
                        "THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE")


class prio_mgr(Component, app="pandaserver", source=SOURCE):
    """Caps on the running jobs of users and groups; unset means 10,000 in the cap of jobs and no limit elsewhere."""

    CAP_RUNNING_USER_JOBS = key("int", None, "jobs", "Running jobs of a user", zero_is_unset=True)
    CAP_RUNNING_USER_CORES = key("int", None, "cores", "Cores of a user", zero_is_unset=True)
    CAP_RUNNING_GROUP_JOBS = key("int", None, "jobs", "Running jobs of a group", zero_is_unset=True)
    CAP_RUNNING_GROUP_CORES = key("int", None, "cores", "Cores of a group", zero_is_unset=True)


class analy_eval(Component, app="pandaserver", source=SOURCE):
    """Classes of analysis tasks."""

    USER_USAGE_THRESHOLD_A = key("int", 1000, "slots", "Slots of a user up to which tasks are of class A")
    USER_USAGE_THRESHOLD_B = key("int", 8000, "slots", "Slots of a user up to which tasks are of class B")
    PROGRESS_TO_BOOST_A = key("float", 90, "%", "Progress from which a task of class A becomes class S", at_most=100)
    PROGRESS_TO_BOOST_B = key("float", 95, "%", "Progress from which a task of class B becomes class S", at_most=100)
    MAX_REM_JOBS_TO_BOOST_A = key("int", 500, "jobs", "Remaining jobs up to which a task of class A becomes class S")
    MAX_REM_JOBS_TO_BOOST_B = key("int", 200, "jobs", "Remaining jobs up to which a task of class B becomes class S")
