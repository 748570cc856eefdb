"""Keys of gdpconfig by component: brokers, classes of analysis tasks, dispatch, scouts, timeouts and watchdogs."""

import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from simgrid_broker.names import EDITIONS, KNOWN_RESOURCE_TYPES, TYPICAL_FILES

PLACEHOLDERS = {"label": r"prod_test|rc_test2?|rc_alrb|[^_]+",
    "rtype": "|".join((*KNOWN_RESOURCE_TYPES, r"MCORE\*", r"SCORE\*")), "type": r"[^_]+(?:_test2?|_alrb)?",
    "queue": ".+?", "queueOrNone": ".*?"}
"""Regular expression for each placeholder; unknown placeholders match any text."""
LARGEST = 1e12
"""Upper end of the range of numbers whose unit has none: any larger one is a slip."""
NEGATIVE = -LARGEST
"""Lower end of the range of numbers that may be negative."""
HIGHER, LOWER, NEITHER = "higher", "lower", "neither"
"""Changes of a limit that let more work pass; neither: the value is no limit."""
MOST = {"%": 100, "fraction": 1, "percentile": 100, "tenths": 10, "min": 100 * 365 * 1440, "h": 100 * 365 * 24,
        "days": 100 * 365}
"""Upper end of the range by unit; of periods a hundred years."""


@dataclass(frozen=True, eq=False)
class GdpconfigKey:
    """One key of gdpconfig, or a family of keys with a common beginning.

    key: PanDA's spelling; `<gshare>` and the like are placeholders, a part in brackets is optional; type: bool, int,
    float, str or json; default: value in force when nothing is set, None = off or no limit; zero_is_unset: editions in
    which 0 means not set, as in the production code; at_least, at_most: range of a number; editions: those in which
    functions other than rules of the brokers read the key (`advice.editions_of`); source: document and section;
    eased_by: the change of a limit that lets more work pass, to a higher value or to a lower one; empty if no rule of
    the brokers, throttlers and caps reads the key as a limit.
    """

    type: str
    default: Any
    unit: str
    meaning: str
    key: str
    zero_is_unset: tuple[str, ...]
    at_least: float
    at_most: float
    editions: tuple[str, ...]
    app: str = ""
    component: str = ""
    source: str = ""
    eased_by: str = ""

    @property
    def name(self) -> str:
        """`component.KEY`, an unambiguous name of the key."""
        return f"{self.component}.{self.key}"

    @property
    def effect(self) -> str:
        """Effect of a change of a limit, in words; empty for what is no limit."""
        return f"a {self.eased_by} value lets more work pass" if self.eased_by in (HIGHER, LOWER) else ""

    @property
    def is_family(self) -> bool:
        """True if the key has placeholders."""
        return "<" in self.key

    @property
    def range(self) -> str:
        """The range of a number in words; empty for other types."""
        return f"{self.at_least:g} to {self.at_most:g}" if self.type in ("int", "float") else ""

    @cached_property
    def prefix(self) -> str:
        """The key without its placeholders: the name of the value that holds where no member is set."""
        return re.sub(r"\[_[^]]*\]|_?<\w+>", "", self.key)

    @cached_property
    def pattern(self) -> re.Pattern:
        """Regular expression of the whole key; its groups are the placeholders."""
        parts = re.split(r"(<\w+>|\[_<\w+>\])", self.key)
        return re.compile("".join(_pattern(part) for part in parts), re.DOTALL)

    def is_of(self, key: str) -> bool:
        """True if `key` is a member of the key; most are not by their first letters, without a pattern."""
        return key.startswith(re.split(r"[\[<]", self.key, maxsplit=1)[0]) and bool(self.pattern.fullmatch(key))

    @cached_property
    def spellings(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """Format strings with their placeholders: of the whole key, without the optional part, and without any."""
        texts = (re.sub(r"[][]", "", self.key), re.sub(r"\[[^]]*\]", "", self.key), self.prefix)
        return tuple((re.sub(r"<(\w+)>", r"{\1}", text), frozenset(re.findall(r"<(\w+)>", text)))
                     for text in dict.fromkeys(texts))

    def names(self, **members: str) -> list[str]:
        """Names under which a value may be set, the most specific first: `K_<label>_<queue>`, `K_<label>`, `K`."""
        return [text.format_map(members) for text, placeholders in self.spellings if placeholders <= members.keys()]


class Component:
    """The keys of one component of PanDA or JEDI: a subclass has them as attributes, named as PanDA spells them."""

    ALL: ClassVar[list[type["Component"]]] = []

    def __init_subclass__(cls, app: str, source: str, name: str = "", limits: bool = False) -> None:
        """Tell every key its component; a component that extends another has the same keys, as keys of its own.

        limits: numbers are limits, which a higher value eases unless their row says more.
        """
        rows = {attribute: row for base in reversed(cls.__mro__) for attribute, row in vars(base).items()
                if isinstance(row, GdpconfigKey)}
        for attribute, row in rows.items():
            spelled = row.key if row.key and row.key[0] not in "_[" else attribute + row.key
            eased = row.eased_by or (HIGHER if limits and row.range else "")
            setattr(cls, attribute, replace(row, key=spelled, app=app, component=name or cls.__name__, source=source,
                                            eased_by=eased))
        Component.ALL.append(cls)

    @classmethod
    def entries(cls) -> list[GdpconfigKey]:
        """The keys of the component in the order in which they are written."""
        return [entry for entry in vars(cls).values() if isinstance(entry, GdpconfigKey)]


def key(type: str, default: Any, unit: str, meaning: str, *, of: str = "", spelled: str = "", unset: int | None = None,
        unset_in: tuple[str, ...] = EDITIONS, at_least: float = 0, at_most: float | None = None,
        editions: tuple[str, ...] = EDITIONS, eased_by: str = "") -> GdpconfigKey:
    """A key of a component; of: placeholders behind the name of a family; spelled: it in full; eased_by as in the row.

    unset=0: in the editions `unset_in` 0 means not set. A number is at least 0 and at most what its unit allows.
    """
    spelled = f"_{of}" if of else spelled
    return GdpconfigKey(type, default, unit, meaning, spelled, unset_in if unset == 0 else (), at_least,
                        MOST.get(unit, LARGEST) if at_most is None else at_most, editions, eased_by=eased_by)


real, count = partial(key, "float"), partial(key, "int")
"""Keys whose value is a number, and a whole number."""


def _pattern(part: str) -> str:
    """Regular expression of one part of a key: text, `<name>` or `[_<name>]`."""
    if not part.endswith((">", ">]")):
        return re.escape(part)
    name = part.strip("[_<>]")
    group = f"(?P<{name}>{PLACEHOLDERS.get(name, '.+')})"
    return f"(?:_{group})?" if part.startswith("[") else group


BROKERAGE = "brokerage reference, section 12"
DOCUMENTED = ("documented",)
"""Edition in which a cap of 0 counts as not set."""


class taskbrokerage(Component, app="jedi", source=BROKERAGE, limits=True):
    """Task brokerage."""

    DISK_THRESHOLD = real(100, "TB", "Usable space that a nucleus needs; may be negative", at_least=NEGATIVE,
                          eased_by=LOWER)
    DISK_THRESHOLD_OF_SHARE = real(None, "TB", "Usable space that a nucleus needs for one share",
                                   spelled="DISK_THRESHOLD_<gshare>", at_least=NEGATIVE, eased_by=LOWER)
    FREE_DISK_CUTOFF = real(1000, "TB", "Cap of the free space in the weight of a nucleus", eased_by=NEITHER)
    INPUT_SIZE_THRESHOLD = real(1, "GB", "Input size above which INPUT_SIZE_FRACTION applies")
    INPUT_NUM_THRESHOLD = count(100, "files", "Input files above which INPUT_NUM_FRACTION applies")
    INPUT_SIZE_FRACTION = real(10, "%", "Fraction of the input size that must be at the nucleus", eased_by=LOWER)
    INPUT_NUM_FRACTION = real(10, "%", "Fraction of the input files that must be at the nucleus", eased_by=LOWER)
    MIN_IO_INTENSITY_WITH_LOCAL_DATA = real(200, "kB/s", "ioIntensity above which locality is not waived and the "
                                            "weight contains the local input")
    MIN_INPUT_SIZE_WITH_LOCAL_DATA = real(10000, "GB", "Input size above which locality is not waived")
    MAX_TASK_PRIO_WITH_LOCAL_DATA = count(800, "priority", "Priority from which locality is waived", at_least=NEGATIVE,
                                          eased_by=LOWER)
    DATA_LOCATION_CHECK_PERIOD = real(7, "days", "Age of a task above which locality is not checked", unset=0,
                                      eased_by=LOWER)
    NQUEUED_NUC_CAP = count(2000, "files", "Queued output files above which a nucleus is skipped")


class jobbroker(Component, app="jedi", source=BROKERAGE, limits=True):
    """Job brokerage of production."""

    NW_ACTIVE = key("bool", False, "", "Apply the network weight")
    NW_QUEUE_IMPORTANCE = real(0.5, "fraction", "Share of the queued files in the network weight", eased_by=NEITHER)
    NW_THRESHOLD = real(1.7, "weight", "Network weight that express work needs", at_least=NEGATIVE, eased_by=LOWER)
    NW_WEIGHT_MULTIPLIER = real(1, "", "Multiplies NW_THRESHOLD", at_least=NEGATIVE, eased_by=LOWER)
    NQUEUED_SAT_CAP = count(150, "files", "Queued files above which a link is skipped; scale of the queued weight")
    NQUEUED_NUC_CAP_FOR_JOBS = count(10000, "files", "Files queued to a nucleus above which it gets no jobs")
    IO_INTENSITY_CUTOFF = real(200, "kB/s", "ioIntensity above which a task is I/O-heavy")
    SIZE_CUTOFF_TO_MOVE_INPUT = real(10, "GB", "Missing input size that an I/O-heavy task may move")
    NUM_CUTOFF_TO_MOVE_INPUT = count(100, "files", "Missing input files that an I/O-heavy task may move")
    MAX_PRIO_TO_BOOTSTRAP = count(150, "priority", "Highest priority for bootstrapping and numSlots", at_least=NEGATIVE,
                                  eased_by=NEITHER)
    MAX_DISKIO_DEFAULT = real(1e10, "kB/s per core", "Limit of disk I/O where the queue has none", unset=0)
    STORAGE_MIN_FREE_SIZE = real(200, "GB", "Usable space that a storage needs", unset=0, eased_by=LOWER)
    NQUEUELIMITSITE = count(20, "jobs", "Lower bound of the cap of queued jobs at a queue", of="<gshare>", unset=0,
                            editions=("deployed",))
    MIN_WEIGHT = real(0, "weight", "Weight that a candidate needs", of="<label>[_<gshare>]", at_least=NEGATIVE,
                      eased_by=LOWER)
    MAX_MISSING_INPUT_FILES = count(10, "files", "Missing files up to which input is regarded as complete",
                                    editions=("deployed",))
    MIN_INPUT_COMPLETENESS = real(90, "%", "Completeness from which input is regarded as complete",
                                  editions=("deployed",))


class anal_jobbroker(Component, app="jedi", source=BROKERAGE, limits=True):
    """Job brokerage of analysis."""

    MAX_MISSING_INPUT_FILES = count(10, "files", "Missing files up to which input is regarded as complete")
    MIN_INPUT_COMPLETENESS = real(90, "%", "Completeness from which input is regarded as complete", eased_by=LOWER)
    STORAGE_MIN_FREE_SIZE_OUTPUT = real(200, "GB", "Usable space that a storage needs for output", unset=0,
                                        eased_by=LOWER)
    TW_DONE_JOB_STAT = real(6, "h", "Window in which failed jobs are counted", eased_by=LOWER)
    MIN_BAD_JOBS_TO_SKIP_PQ = count(5, "jobs", "Bad jobs that a queue may have in that window")
    BASE_QUEUE_LENGTH_PER_PQ = count(100, "jobs", "Queued analysis jobs that a queue may always have")
    BASE_EXPECTED_WAIT_HOUR_ON_PQ = real(8, "h", "Expected wait from which a task may be throttled")
    BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER = count(5, "jobs", "Queued jobs that a user may always have at a queue")
    BASE_QUEUE_RATIO_ON_PQ = real(0.05, "fraction", "Fraction of a queue's waiting jobs that a user may have")
    STATIC_MAX_QUEUE_RUNNING_RATIO = real(2.0, "ratio", "Queued over running jobs that a queue may have")
    MAX_EXPECTED_WAIT_HOUR = real(12.0, "h", "Expected wait that a queue may have")
    IO_INTENSITY_CUTOFF_USER = real(None, "kB/s", "ioIntensity up to which locality may be ignored", unset=0)
    DATA_CHECK_TIMEOUT_USER = real(None, "h", "Age of a task after which locality may be ignored", unset=0,
                                   eased_by=LOWER)
    OVERLOAD_MIN_QUEUE = count(20, "jobs", "Queued jobs from which a queue can be overloaded")
    OVERLOAD_RATIO_OFFSET = real(1.2, "ratio", "Queued over running jobs from which a queue is overloaded")


class core(Component, app="jedi", source=BROKERAGE):
    """All of JEDI."""

    WORK_SHORTAGE = key("bool", False, "", "Work is short: brokerage uses pledged resources only, and the throttler "
                        "THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE")


class prio_mgr(Component, app="pandaserver", source=BROKERAGE, limits=True):
    """Caps on the running jobs of users and groups; unset means 10,000 in the cap of jobs and no limit elsewhere."""

    CAP_RUNNING_USER_JOBS = count(None, "jobs", "Running jobs of a user", unset=0, unset_in=DOCUMENTED)
    CAP_RUNNING_USER_CORES = count(None, "cores", "Cores of a user", unset=0, unset_in=DOCUMENTED)
    CAP_RUNNING_GROUP_JOBS = count(None, "jobs", "Running jobs of a group", unset=0, unset_in=DOCUMENTED)
    CAP_RUNNING_GROUP_CORES = count(None, "cores", "Cores of a group", unset=0, unset_in=DOCUMENTED)


class analy_eval(Component, app="pandaserver", source=BROKERAGE):
    """Classes of analysis tasks."""

    USER_USAGE_THRESHOLD_A = count(1000, "slots", "Slots of a user up to which tasks are of class A")
    USER_USAGE_THRESHOLD_B = count(8000, "slots", "Slots of a user up to which tasks are of class B")
    PROGRESS_TO_BOOST_A = real(90, "%", "Progress from which a task of class A becomes class S")
    PROGRESS_TO_BOOST_B = real(95, "%", "Progress from which a task of class B becomes class S")
    MAX_REM_JOBS_TO_BOOST_A = count(500, "jobs", "Remaining jobs up to which a task of class A becomes class S")
    MAX_REM_JOBS_TO_BOOST_B = count(200, "jobs", "Remaining jobs up to which a task of class B becomes class S")


LIFECYCLE = "lifecycle reference, section"
DEPLOYED, DOCUMENTED = ("deployed",), ("documented",)


class jobdispatch(Component, app="pandaserver", source=f"{LIFECYCLE} 1.4 and 8.1"):
    """Dispatch of jobs to pilots."""

    SLOPPY_DISPATCH_RATIO = count(10, "%", "Dispatch ignores shares if a random number from 0 to 99 is not above "
                                  "this, -1 for never", unset=0, at_least=-1, editions=DEPLOYED)


class meanrss(Component, app="pandaserver", source=f"{LIFECYCLE} 5.2 and 8.1"):
    """Mean memory of the jobs at a queue."""

    IGNORE_MEANRSS = key("bool", False, "", "Do not throttle by the mean memory of a queue")


class pandaserver_dbproxy(Component, app="pandaserver", name="dbproxy", source=f"{LIFECYCLE} 8.1"):
    """Database of the PanDA server."""

    USER_JOB_PRIO_BOOST_DICTS = key("json", None, "", "Priority boosts: list of {name, type, prio}, type user or group",
                                    editions=("deployed",))
    MAX_ACTIVE_TASKS_PER_USER = count(None, "tasks", "Active tasks of a user above which none is accepted",
                                      of="<label>", editions=("deployed",))
    AES_MINEVENTSFORMCORE = count(None, "event ranges", "Fewest ranges of a multi-core job; default: corecount")


class watcher(Component, app="pandaserver", source=f"{LIFECYCLE} 4.1 and 8.2"):
    """Heartbeats."""

    HEARTBEAT_TIMEOUT_production = real(2, "h", "Silence after which a production job is lost", unset=0)
    HEARTBEAT_TIMEOUT_analysis = real(2, "h", "Silence after which an analysis job is lost", unset=0, editions=DEPLOYED)
    HEARTBEAT_TIMEOUT_OF_WORKFLOW = real(None, "h", "Silence after which a job is lost at queues of this CRIC "
                                         "workflow", spelled="HEARTBEAT_TIMEOUT_<workflow>")


class job_timeout(Component, app="pandaserver", source=f"{LIFECYCLE} 4.1, 4.2 and 8.2"):
    """Timeouts of jobs."""

    TIMEOUT_holding = real(48, "h", "Time in holding after which a job fails", unset=0)
    TIMEOUT_defined = real(4, "h", "Time in defined after which a job is withdrawn", unset=0)


class rebroker(Component, app="pandaserver", source=f"{LIFECYCLE} 4.4, 4.5 and 8.2"):
    """Fast rebrokerage and rebrokerage of analysis jobs."""

    ANALY_TIMEOUT = real(12, "h", "Wait after which an analysis job is brokered again")
    ANALY_TIMEOUT_OF_GROUP = real(None, "h", "Wait after which a job of a working group is brokered again",
                                  spelled="ANALY_TIMEOUT_<workingGroup>", unset=0)
    FAST_REBRO_THRESHOLD_NQNR_RATIO = real(3, "ratio", "Queued over running jobs above which fast rebrokerage "
                                           "withdraws jobs", unset=0, unset_in=DEPLOYED)
    FAST_REBRO_THRESHOLD_NQUEUE_FRAC = real(0.3, "fraction", "Fraction of the share's queued jobs above which fast "
                                            "rebrokerage withdraws jobs", unset=0, unset_in=DEPLOYED)
    FAST_REBRO_THRESHOLD_NQUEUE = count(None, "jobs", "Queued jobs above which fast rebrokerage withdraws jobs; off "
                                        "for shares without this key", of="<gshare>", unset=0, unset_in=DEPLOYED)


class jobgen(Component, app="jedi", source=f"{LIFECYCLE} 2 and 8.3"):
    """Job generation."""

    JOB_SUBMISSION = key("bool", True, "", "False stops job generation")
    NTASKS = count(50, "tasks", "Tasks of a cycle", of="<queue>", unset=0)
    NFILES = count(5000, "files", "Files of a task in a cycle", of="<queue>", unset=0)
    GROUPBYATTR = key("str", None, "", "Attribute of tasks whose values take turns in job generation, such as "
                      "userName", of="<queue>")
    TYPNFILES = count(TYPICAL_FILES, "files", "Typical files of a job", of="<label>_<queueOrNone>_<type>", unset=0)
    MERGE_JOB_MAX_WALLTIME = real(None, "h", "Wall time of merge jobs; default: the queue's maxtime", of="<label>")
    BUILD_JOB_MAX_WALLTIME = real(None, "h", "Wall time of build jobs; default: the queue's maxtime")


class prod_job_throttler(Component, app="jedi", source=f"{LIFECYCLE} 2.4 and 8.3", limits=True):
    """Job throttler of production."""

    THROTTLE_THRESHOLD = real(2.0, "ratio", "Queued over running jobs above which generation stops")
    THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE = real(2.0, "ratio", "Queued over running jobs above which generation stops "
                                                "while WORK_SHORTAGE is true")
    NQUEUELIMIT = count(None, "jobs", "Queued jobs below which generation never stops; default: four bunches",
                        of="<queue>[_<rtype>]", unset=0)
    NQUEUECAP = count(None, "jobs", "Queued jobs above which generation stops", of="<queue>[_<rtype>]", unset=0)
    NRUNNINGCAP = count(None, "jobs", "Running jobs above which generation stops", of="<queue>[_<rtype>]", unset=0)


class anal_job_throttler(prod_job_throttler, app="jedi", source=f"{LIFECYCLE} 2.4 and 8.3", limits=True):
    """Job throttler of analysis."""


class dbproxy(Component, app="jedi", source=f"{LIFECYCLE} 2.3, 2.7, 8.3 and 8.4"):
    """Order of tasks, and scouts."""

    SUPER_HIGH_PRIO_TASK_RATIO = real(30, "%", "Probability that an express task comes before each group")
    SCOUT_CPUTIME_RANK = real(95, "percentile", "Percentile of the scouts' CPU times that the task gets",
                              editions=DEPLOYED)
    SCOUT_RAMCOUNT_RANK = real(75, "percentile", "Percentile of the scouts' memory that the task gets")
    SCOUT_RAMCOUNT_MARGIN = real(10, "%", "Margin added to the scouts' memory", at_most=1000, editions=DEPLOYED)
    SCOUT_RAMCOUNT_MIN = real(None, "MB", "Least memory that a task gets from its scouts", editions=DEPLOYED)
    SCOUT_DISK_IO_CAP = real(None, "kB/s", "Highest disk I/O that a task gets from its scouts")
    SCOUT_WRONG_CPUTIME_THRESHOLD = real(2, "ratio", "Measured over claimed CPU time above which a task is exhausted; "
                                         "0 or less = off", at_least=NEGATIVE)
    RAM_THR_EXAUSTED = real(4, "GB", "Memory per core above which a task that claimed less is exhausted",
                            editions=DEPLOYED)
    SCOUT_MEM_LEAK_PER_CORE = real(None, "kB/s", "Memory leak that is logged", of="<label>")
    SCOUT_SHORT_EXECTIME = real(0, "min", "Length up to which a job is short", of="<label>", editions=DEPLOYED)
    SCOUT_NUM_SHORT = real(None, "tenths", "Fraction of short jobs that counts", of="<label>", editions=DEPLOYED)
    SCOUT_THR_SHORT = count(None, "jobs", "Expected jobs from which short jobs count", of="<label>", editions=DEPLOYED)
    SCOUT_CHANGE_SR = key("bool", False, "", "Change the split rules of tasks with short jobs", of="<label>",
                          editions=DEPLOYED)
    SCOUT_LOW_CPU_EFFICIENCY = real(0, "%", "CPU efficiency below which a job is inefficient", of="<label>",
                                    editions=DEPLOYED)
    SCOUT_NUM_CPU_INEFFICIENT = real(None, "tenths", "Fraction of inefficient jobs that counts", of="<label>",
                                     editions=DEPLOYED)
    SCOUT_THR_CPU_INEFFICIENT = count(None, "jobs", "Expected jobs from which inefficient jobs count", of="<label>",
                                      editions=DEPLOYED)
    SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED = real(None, "kB/s", "ioIntensity above which inefficient jobs do not "
                                                "exhaust a task", of="<label>", editions=DEPLOYED)
    SCOUT_MIN_OK_RATE_EXHAUSTED = real(None, "fraction", "Fraction of successful scouts from which a task is "
                                       "exhausted instead of broken", of="<label>")


class retry_task(Component, app="jedi", source=f"{LIFECYCLE} 2.13 and 8.5"):
    """Retries of tasks."""

    TASK_MAX_ATTEMPT = count(None, "attempts", "Attempts of a task after which it is exhausted", of="<label>", unset=0)
    JOB_MAX_ATTEMPT = count(None, "attempts", "Attempts of a file from which a retry is rejected", of="<label>")
    MAX_FAILED_HEP_SCORE_HOURS = real(None, "h", "Failed HEP-score hours that exhaust a task", of="<label>", unset=0)
    MAX_FAILED_HEP_SCORE_RATE = real(None, "fraction", "Failed fraction of the HEP-score hours that exhausts a task",
                                     of="<label>", unset=0)
    MAX_JOB_FAILURE_RATE = real(None, "fraction", "Failed fraction of the jobs that exhausts a task", of="<label>",
                                unset=0)
    MIN_CPU_EFFICIENCY = real(None, "%", "Median CPU efficiency below which a task is exhausted", of="<label>", unset=0)


class watchdog(Component, app="jedi", source=f"{LIFECYCLE} 2.9, 2.11, 8.2 and 8.5"):
    """Pending tasks and automatic pause."""

    PENDING_TIMEOUT = real(168, "h", "Time in pending after which a task is exhausted", of="<label>")
    MAX_JOB_FAILURE_RATE_TO_PAUSE = real(None, "fraction", "Failed fraction of the jobs that pauses a task",
                                         of="<label>[_<queue>]")
    MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE = real(None, "fraction", "Failed fraction of the HEP-score hours that pauses "
                                               "a task", of="<label>[_<queue>]", editions=DEPLOYED)
    MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE = real(None, "fraction", "Documented name of "
                                              "MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE",
                                              of="<label>[_<queue>]", editions=("documented",))
    MIN_JOBS_TO_PAUSE = count(1000, "jobs", "Jobs that a task needs to be paused", of="<label>")
    MIN_REMAINING_JOBS_TO_PAUSE = count(100, "jobs", "Remaining jobs that a task needs to be paused", of="<label>")


PAUSING = (watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE, watchdog.MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE,
           watchdog.MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE)
"""Limits of failures above which a task is paused."""


class taskrefiner(Component, app="jedi", source=f"{LIFECYCLE} 2.6, 6.5, 7.5 and 8.5"):
    """Refinement of new tasks."""

    OUTDISKCOUNT_ANALY_KB = real(500, "kB", "Output of an analysis task per MB of input")
    USER_JOB_TARGET_WALLTIME = real(None, "h", "Target wall time of analysis jobs",
                                    editions=("deployed",))
    USER_TASKS_MOVE_INPUT = real(None, "%", "Percentage of analysis tasks that may move input")
    USER_TASKS_MAX_CORE_COUNT = count(16, "cores", "Most cores of an analysis job", editions=("deployed",))
    USER_TASKS_MESSAGE_DRIVEN_PERCENT = real(None, "%", "Percentage of analysis tasks driven by messages")
    USER_TASKS_PUSH_STATUS_CHANGES_PERCENT = real(None, "%", "Percentage of analysis tasks that publish their changes "
                                                  "of status")
    PROD_TASKS_PUSH_STATUS_CHANGES_PERCENT = real(None, "%", "Percentage of production tasks that publish their "
                                                  "changes of status")
    USER_MAX_TAPE_INPUT_TB = real(300, "TB", "Input from tape of an analysis task; negative = no limit",
                                  at_least=NEGATIVE)
    AES_MAXTASKPRIORITY = count(None, "priority", "Highest priority of a task for event service", at_least=NEGATIVE,
                                editions=DEPLOYED)
    AES_MINTASKPRIORITY = count(None, "priority", "Lowest priority of a task for event service", at_least=NEGATIVE,
                                editions=DEPLOYED)
    AES_EVENTPOOLSIZE = count(None, "events", "Events that event service keeps waiting", editions=DEPLOYED)
    AES_MAXPENDING = count(None, "tasks", "Pending tasks of event service", editions=DEPLOYED)
    AES_NESCONSUMERS = count(1, "", "Consumers of a task converted to event service", editions=DEPLOYED)
    AES_NSITESPERJOB = count(None, "sites", "Sites of a job of a task converted to event service", editions=DEPLOYED)


class anal_watchdog(Component, app="jedi", source=f"{LIFECYCLE} 2.10 and 8.6"):
    """Transfers of analysis."""

    USER_PRESTAGE_LIMIT = real(1024, "GB", "Input on its way to jobs of a user above which tasks are throttled; in the "
                               "deployed edition that from tape")
    USER_TRANSFER_LIMIT = real(1024, "GB", "The same from disk", editions=("deployed",))


class user_output(Component, app="jedi", source=f"{LIFECYCLE} 8.6"):
    """Output of analysis."""

    OUTPUT_CONTAINER_LIFETIME = real(14, "days", "Lifetime of the output of analysis")


class task_withholder(Component, app="jedi", source=f"{LIFECYCLE} 7.1 and 8.6"):
    """Tasks withheld for their I/O."""

    LIMIT_IOINTENSITY = real(999999, "kB/s", "ioIntensity from which tasks may be withheld; at least 100",
                             of="<label>", at_least=100, editions=DEPLOYED)
    LIMIT_PRIORITY = count(-999999, "priority", "Priority from which tasks are not withheld", of="<label>",
                           at_least=NEGATIVE, editions=DEPLOYED)


class queue_filler(Component, app="jedi", source=f"{LIFECYCLE} 7.1 and 8.6"):
    """Tasks assigned to idle queues."""

    MAX_PREASSIGNED_TASKS = count(3, "tasks", "Tasks assigned to a queue and resource type", of="<label>",
                                  editions=DEPLOYED)
    MIN_FILES_READY = count(50, "files", "Ready files that a task needs to be assigned", of="<label>",
                            editions=DEPLOYED)
    MIN_FILES_READY_FC = count(10, "files", "Ready files that a task in a fat container needs to be assigned",
                               spelled="MIN_FILES_READY_<label>_FC", editions=DEPLOYED)
    MIN_FILES_REMAINING = count(100, "files", "Remaining files that a task needs to be assigned", of="<label>",
                                editions=DEPLOYED)


class data_carousel(Component, app="jedi", source=f"{LIFECYCLE} 7.5 and 8.6"):
    """Data carousel."""

    DATA_CAROUSEL_CONFIG = key("json", None, "", "Configuration of the data carousel")


class task_setup(Component, app="jedi", source=f"{LIFECYCLE} 8.6; PanDA AtlasTaskSetupper"):
    """Output datasets of tasks."""

    DATASET_LIFETIME = real(None, "days", "Lifetime of output datasets of a type", of="<datasetType>")


class JumboWatchDog(Component, app="jedi", source=f"{LIFECYCLE} 6.4 and 8.6"):
    """Jumbo jobs."""

    JUMBO_MAX_TASKS = count(1, "tasks", "Tasks with jumbo jobs", editions=("documented",))
    JUMBO_MIN_EVENTS_DISABLE = count(100000, "events", "Remaining events below which jumbo jobs are disabled")
    JUMBO_MIN_EVENTS_ENABLE = count(None, "events", "Remaining events that enable jumbo jobs; default: 10 x "
                                    "JUMBO_MIN_EVENTS_DISABLE", editions=("documented",))
    JUMBO_MAX_EVENTS = count(None, "events", "Remaining events of all tasks with jumbo jobs; default: JUMBO_MAX_TASKS "
                             "x JUMBO_MIN_EVENTS_ENABLE / 2", editions=("documented",))
    JUMBO_PER_TASK = count(1, "jobs", "Jumbo jobs of a task that the watchdog enables", editions=("documented",))
    JUMBO_PER_SITE = count(1, "jobs", "Jumbo jobs of such a task at a site", editions=("documented",))
    JUMBO_MAX_CURR_PRIO = count(500, "priority", "Priority below which tasks are given jumbo jobs", at_least=NEGATIVE,
                                editions=("documented",))
    JUMBO_PROG_TO_BOOST = real(95, "%", "Remaining percentage of the events below which a task is boosted",
                               editions=DEPLOYED)
    JUMBO_MAX_FILES_TO_BOOST = count(500, "files", "Remaining files below which a task is boosted", editions=DEPLOYED)
    JUMBO_PRIO_DISABLED = count(500, "priority", "Lowest priority of tasks whose jumbo jobs were disabled",
                                at_least=NEGATIVE, editions=DEPLOYED)
