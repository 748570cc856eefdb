"""Keys of the brokers and of the classes of analysis tasks."""

from simgrid_broker.gdpconfig.key import NEGATIVE, Component, count, key, real

SOURCE = "brokerage reference, section 12"


class taskbrokerage(Component, app="jedi", source=SOURCE):
    """Task brokerage."""

    DISK_THRESHOLD = real(100, "TB", "Usable space that a nucleus needs; may be negative", at_least=NEGATIVE)
    DISK_THRESHOLD_OF_SHARE = real(None, "TB", "Usable space that a nucleus needs for one share",
                                   spelled="DISK_THRESHOLD_<gshare>", at_least=NEGATIVE)
    FREE_DISK_CUTOFF = real(1000, "TB", "Cap of the free space in the weight of a nucleus")
    INPUT_SIZE_THRESHOLD = real(1, "GB", "Input size above which INPUT_SIZE_FRACTION applies")
    INPUT_NUM_THRESHOLD = count(100, "files", "Input files above which INPUT_NUM_FRACTION applies")
    INPUT_SIZE_FRACTION = real(10, "%", "Fraction of the input size that must be at the nucleus")
    INPUT_NUM_FRACTION = real(10, "%", "Fraction of the input files that must be at the nucleus")
    MIN_IO_INTENSITY_WITH_LOCAL_DATA = real(200, "kB/s", "ioIntensity above which locality is not waived and the "
                                            "weight contains the local input")
    MIN_INPUT_SIZE_WITH_LOCAL_DATA = real(10000, "GB", "Input size above which locality is not waived")
    MAX_TASK_PRIO_WITH_LOCAL_DATA = count(800, "priority", "Priority from which locality is waived", at_least=NEGATIVE)
    DATA_LOCATION_CHECK_PERIOD = real(7, "days", "Age of a task above which locality is not checked", unset=0)
    NQUEUED_NUC_CAP = count(2000, "files", "Queued output files above which a nucleus is skipped")


class jobbroker(Component, app="jedi", source=SOURCE):
    """Job brokerage of production."""

    NW_ACTIVE = key("bool", False, "", "Apply the network weight")
    NW_QUEUE_IMPORTANCE = real(0.5, "fraction", "Share of the queued files in the network weight")
    NW_THRESHOLD = real(1.7, "weight", "Network weight that express work needs", at_least=NEGATIVE)
    NW_WEIGHT_MULTIPLIER = real(1, "", "Multiplies NW_THRESHOLD", at_least=NEGATIVE)
    NQUEUED_SAT_CAP = count(150, "files", "Queued files above which a link is skipped; scale of the queued weight")
    NQUEUED_NUC_CAP_FOR_JOBS = count(10000, "files", "Files queued to a nucleus above which it gets no jobs")
    IO_INTENSITY_CUTOFF = real(200, "kB/s", "ioIntensity above which a task is I/O-heavy")
    SIZE_CUTOFF_TO_MOVE_INPUT = real(10, "GB", "Missing input size that an I/O-heavy task may move")
    NUM_CUTOFF_TO_MOVE_INPUT = count(100, "files", "Missing input files that an I/O-heavy task may move")
    MAX_PRIO_TO_BOOTSTRAP = count(150, "priority", "Highest priority for bootstrapping and numSlots", at_least=NEGATIVE)
    MAX_DISKIO_DEFAULT = real(1e10, "kB/s per core", "Limit of disk I/O where the queue has none", unset=0)
    STORAGE_MIN_FREE_SIZE = real(200, "GB", "Usable space that a storage needs", unset=0)
    NQUEUELIMITSITE = count(20, "jobs", "Lower bound of the cap of queued jobs at a queue", of="<gshare>", unset=0,
                            editions=("deployed",))
    MIN_WEIGHT = real(0, "weight", "Weight that a candidate needs", of="<label>[_<gshare>]", at_least=NEGATIVE)
    MAX_MISSING_INPUT_FILES = count(10, "files", "Missing files up to which input is regarded as complete",
                                    editions=("deployed",))
    MIN_INPUT_COMPLETENESS = real(90, "%", "Completeness from which input is regarded as complete",
                                  editions=("deployed",))


class anal_jobbroker(Component, app="jedi", source=SOURCE):
    """Job brokerage of analysis."""

    MAX_MISSING_INPUT_FILES = count(10, "files", "Missing files up to which input is regarded as complete")
    MIN_INPUT_COMPLETENESS = real(90, "%", "Completeness from which input is regarded as complete")
    STORAGE_MIN_FREE_SIZE_OUTPUT = real(200, "GB", "Usable space that a storage needs for output", unset=0)
    TW_DONE_JOB_STAT = real(6, "h", "Window in which failed jobs are counted")
    MIN_BAD_JOBS_TO_SKIP_PQ = count(5, "jobs", "Bad jobs that a queue may have in that window")
    BASE_QUEUE_LENGTH_PER_PQ = count(100, "jobs", "Queued analysis jobs that a queue may always have")
    BASE_EXPECTED_WAIT_HOUR_ON_PQ = real(8, "h", "Expected wait from which a task may be throttled")
    BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER = count(5, "jobs", "Queued jobs that a user may always have at a queue")
    BASE_QUEUE_RATIO_ON_PQ = real(0.05, "fraction", "Fraction of a queue's waiting jobs that a user may have")
    STATIC_MAX_QUEUE_RUNNING_RATIO = real(2.0, "ratio", "Queued over running jobs that a queue may have")
    MAX_EXPECTED_WAIT_HOUR = real(12.0, "h", "Expected wait that a queue may have")
    IO_INTENSITY_CUTOFF_USER = real(None, "kB/s", "ioIntensity up to which locality may be ignored", unset=0)
    DATA_CHECK_TIMEOUT_USER = real(None, "h", "Age of a task after which locality may be ignored", unset=0)
    OVERLOAD_MIN_QUEUE = count(20, "jobs", "Queued jobs from which a queue can be overloaded")
    OVERLOAD_RATIO_OFFSET = real(1.2, "ratio", "Queued over running jobs from which a queue is overloaded")


class core(Component, app="jedi", source=SOURCE):
    """All of JEDI."""

    WORK_SHORTAGE = key("bool", False, "", "Work is short: brokerage uses pledged resources only, and the throttler "
                        "THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE")


class prio_mgr(Component, app="pandaserver", source=SOURCE):
    """Caps on the running jobs of users and groups; unset means 10,000 in the cap of jobs and no limit elsewhere."""

    CAP_RUNNING_USER_JOBS = count(None, "jobs", "Running jobs of a user", unset=0)
    CAP_RUNNING_USER_CORES = count(None, "cores", "Cores of a user", unset=0)
    CAP_RUNNING_GROUP_JOBS = count(None, "jobs", "Running jobs of a group", unset=0)
    CAP_RUNNING_GROUP_CORES = count(None, "cores", "Cores of a group", unset=0)


class analy_eval(Component, app="pandaserver", source=SOURCE):
    """Classes of analysis tasks."""

    USER_USAGE_THRESHOLD_A = count(1000, "slots", "Slots of a user up to which tasks are of class A")
    USER_USAGE_THRESHOLD_B = count(8000, "slots", "Slots of a user up to which tasks are of class B")
    PROGRESS_TO_BOOST_A = real(90, "%", "Progress from which a task of class A becomes class S")
    PROGRESS_TO_BOOST_B = real(95, "%", "Progress from which a task of class B becomes class S")
    MAX_REM_JOBS_TO_BOOST_A = count(500, "jobs", "Remaining jobs up to which a task of class A becomes class S")
    MAX_REM_JOBS_TO_BOOST_B = count(200, "jobs", "Remaining jobs up to which a task of class B becomes class S")
