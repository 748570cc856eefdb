"""PanDA's vocabulary, in which `IntEnum`s have its spelling in lower case, and constants that packages share."""

from enum import IntEnum, IntFlag
from typing import NamedTuple, Self


class Word(IntEnum):
    """An `IntEnum` whose members print as PanDA spells them."""

    @property
    def word(self) -> str:
        """PanDA's spelling of the member, in lower case."""
        return self.name.lower()

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """All spellings in the order of their values."""
        return tuple(member.word for member in cls)

    @classmethod
    def of(cls, word: str) -> Self:
        """The member spelled `word`; raises KeyError for a word PanDA does not know."""
        return cls[word.upper()]


class JobStatus(Word):
    """Status of a job (one attempt); source: JEDI TWiki, job status; lifecycle reference, section 3.1."""

    PENDING, DEFINED, WAITING, ASSIGNED, THROTTLED, ACTIVATED, SENT, STARTING = range(8)
    RUNNING, HOLDING, MERGING, TRANSFERRING = range(8, 12)
    FINISHED, FAILED, CLOSED, CANCELLED = range(12, 16)


JOB_ENDS = (JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CLOSED, JobStatus.CANCELLED)
"""Statuses that a job never leaves; source: lifecycle reference, section 3."""


JOB_QUEUED = (JobStatus.DEFINED, JobStatus.ASSIGNED, JobStatus.ACTIVATED, JobStatus.STARTING)
"""Statuses of a job that waits at a queue; source: PanDA brokerage documentation, fast rebrokerage."""

DEFINED_TABLE = (JobStatus.PENDING, JobStatus.DEFINED, JobStatus.WAITING, JobStatus.ASSIGNED)
"""Statuses of PanDA's defined table; source: lifecycle reference, conventions."""


class TaskStatus(Word):
    """Status of a JEDI task; source: JEDI TWiki, task status; lifecycle reference, section 2.8."""

    REGISTERED, DEFINED, ASSIGNING, READY, PENDING, SCOUTING, SCOUTED, RUNNING = range(8)
    THROTTLED, PAUSED, EXHAUSTED, PREPARED = range(8, 12)
    DONE, FINISHED, FAILED, ABORTED, BROKEN = range(12, 17)
    STAGING, STAGED, TOPREPROCESS, PREPROCESSING, MERGING, PASSED = range(17, 23)
    ABORTING, TOABORT, FINISHING, TOBROKEN, TORETRY, TOINCEXEC, REREFINE, TOREASSIGN, REASSIGNING = range(23, 32)


TASK_ENDS = (TaskStatus.DONE, TaskStatus.FINISHED, TaskStatus.FAILED, TaskStatus.ABORTED, TaskStatus.BROKEN)
"""Final statuses of a task, which only a command can bring back; source: lifecycle reference, section 2.8."""

TASK_NOT_FINAL = tuple(status for status in TaskStatus if status not in TASK_ENDS)
"""Statuses that a task can leave without a command."""

TASK_PREPARABLE = (TaskStatus.RUNNING, TaskStatus.MERGING, TaskStatus.PREPROCESSING, TaskStatus.READY,
                   TaskStatus.THROTTLED)
"""Statuses from which a task with nothing left is prepared for its end; source: lifecycle reference, section 2.8."""

TASK_REASSIGNABLE = (TaskStatus.REGISTERED, TaskStatus.DEFINED, TaskStatus.READY, TaskStatus.RUNNING,
                     TaskStatus.SCOUTING, TaskStatus.SCOUTED, TaskStatus.PENDING, TaskStatus.ASSIGNING,
                     TaskStatus.EXHAUSTED)
"""Statuses in which a task takes the command reassign; source: lifecycle reference, section 2.8."""


class TaskCommand(Word):
    """Command to a task, as JEDI's TaskCommando takes it; source: lifecycle reference, section 2.1.

    Commands to change priority or share are incidents of their own; release is about files that are staged, which the
    simulator does not have.
    """

    ABORT, FINISH, RETRY, PAUSE, RESUME, REASSIGN, AVALANCHE, INCEXEC = range(8)


class QueueStatus(Word):
    """Status of a PanDA queue in CRIC; source: formats reference, section 1.1."""

    ONLINE, BROKEROFF, TEST, OFFLINE, STANDBY, PAUSED, MAINTENANCE = range(7)


class ClosedBy(Word):
    """Limits that closed the list of input files of a job when it was cut from its task's input.

    Source: lifecycle reference, section 2.6; the JEDI TWiki's names of the parameters stand in the descriptions of the
    scenario.
    """

    NONE = 0                # the job is one of equal pieces
    END = 1                 # of the input, or of what is tried again
    BOUNDARY = 2            # the next file belongs to another lumi block or boundaryID
    FILES = 3               # nFilesPerJob, nMaxFilesPerJob
    SIZE = 4                # nGBPerJob, or the scratch disk
    WALLTIME = 5            # maxWalltime, or the queue's maxtime
    EVENTS = 6              # nEventsPerJob, tgtNumEventsPerJob
    OUTPUT = 7              # largest primary output
    DISK = 8                # the queue's maxwdir
    ALL_FILES = 9           # master and secondary files together
    GAP = 10                # the next events do not follow on these
    SHORT = 11              # there is no job: it would be shorter than the queue's mintime


class Cause(Word):
    """Why a job attempt ended as it did, or was taken back.

    The first half are fates of the payload and the pilot, the second half what the server did (the kill codes of the
    lifecycle reference, section 3.3, and the timeout rules of the PanDA brokerage documentation).
    """

    NONE, SITE_ERROR, PAYLOAD_ERROR, MEMORY_EXCEEDED, WALLTIME_EXCEEDED, TRANSFER_ERROR, LOST_HEARTBEAT = range(7)
    TIMEOUT_PENDING, TIMEOUT_DEFINED, TIMEOUT_ASSIGNED, TIMEOUT_THROTTLED, TIMEOUT_ACTIVATED = range(7, 12)
    TIMEOUT_STARTING, TIMEOUT_SENT, TIMEOUT_RUNNING, TIMEOUT_HOLDING, TIMEOUT_TRANSFERRING = range(12, 17)
    FAST_REBROKERAGE, REASSIGNED, TIMEOUT_WAITING, TIMEOUT_MERGING, ANALYSIS_REBROKERAGE = range(17, 22)
    TASK_ABORTED, TASK_FINISHED, INPUT_LOST, INPUT_BROKEN, MERGE_FAILED, BUILD_FAILED = range(22, 28)
    PREEMPTED = 28


class EventStatus(Word):
    """Status of an event range, with PanDA's codes; source: JEDI TWiki, status of events; lifecycle reference, 6.1."""

    READY, SENT, RUNNING, FINISHED, CANCELLED, DISCARDED, DONE, FAILED, FATAL, MERGED, CORRUPTED = range(11)


class EventService(Word):
    """Role of a job in event service, with the codes of its column eventService; source: lifecycle reference, 6.1."""

    NONE, CONSUMER, MERGE, CLONE, JUMBO, CO_JUMBO, FINE_GRAINED = range(7)


class Cloning(Word):
    """Task parameter useJobCloning: which clone of a job goes on, the first to start or the first to succeed, with the
    codes of PanDA; source: lifecycle reference, 6.2."""

    NONE, RUNONCE, STOREONCE = range(3)


class FullChain(Word):
    """Task parameter fullChain; source: PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain."""

    NONE, ONLY, REQUIRE, CAPABLE = range(4)


class InputLan(Word):
    """Task parameter allowInputLAN; source: brokerage reference, sections 2.3 (P13) and 8.2."""

    NONE, USE, ONLY = range(3)


class BareNucleus(Word):
    """CRIC's option bareNucleus; source: PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain."""

    NO, ALLOW, ONLY = range(3)


class TransferKind(Word):
    """Purposes of a transfer: inputs to the computing site, outputs to the nucleus, or what a running job reads."""

    INPUT, OUTPUT, READING = range(3)


class Activity(Word):
    """Activity under which a file waits for FTS, or is read by a running job from another site, without FTS.

    Source: lifecycle reference, 7.2; workload statistics, 10.2.
    """

    EXPRESS, PRODUCTION_OUTPUT, PRODUCTION_INPUT, STAGING, ANALYSIS_INPUT = range(5)
    DATA_REBALANCING, DATA_CONSOLIDATION, T0_EXPORT, DIRECT_READING = range(5, 9)


FTS_ACTIVITIES = tuple(Activity)[:Activity.DIRECT_READING]
"""Activities of FTS."""


class StagingStatus(Word):
    """Status of a request of the data carousel; source: lifecycle reference, 7.5."""

    QUEUED, STAGING, DONE, CANCELLED, RETIRED = range(5)


class DecisionKind(Word):
    """The broker that made a decision."""

    TASK_BROKERAGE, JOB_BROKERAGE, ANALYSIS_BROKERAGE = range(3)


class SiteClass(Word):
    """Class of a queue by how soon analysis jobs start there; source: brokerage reference, section 11.2."""

    LO, MID, HI = -1, 0, 1


class TaskClass(IntEnum):
    """Class of an analysis task by its user's slots and its progress; source: brokerage reference, section 11.3."""

    C, B, A, S = -1, 0, 1, 2


class ThrottledBy(Word):
    """Why a task was throttled last: failed attempts, work of its user, or input on its way to the jobs of the user.

    Source: lifecycle reference, 2.10.
    """

    NONE, ATTEMPTS, RUNNING_JOBS, QUEUED_JOBS, RUNNING_CORES, QUEUED_CORES, PRESTAGING, TRANSFER = range(8)


KNOWN_RESOURCE_TYPES = ("SCORE_LOMEM", "SCORE", "SCORE_HIMEM", "SCORE_VHIMEM", "MCORE_LOMEM", "MCORE", "MCORE_HIMEM",
                        "MCORE_VHIMEM")
"""Resource types that PanDA and its pilots name; source: lifecycle reference, section 1.5."""

PROCESSING_GROUPS = {
    **{name: name for name in ("evgen", "simul", "reprocessing", "mcore", "group", "deriv", "pile", "merge")},
    **{name: "test" for name in ("prod_test", "validation", "ptest", "rc_test", "rc_test2", "rc_alrb")}}
"""Processing type to the group that `fairsharepolicy` addresses; anything else is `others`; brokerage reference, 6."""



class ReplicaState(IntFlag):
    """Replicas of a dataset at the storages of a queue; VP = virtual placement. Source: brokerage reference, 3.4."""

    COMPLETE_DISK = 1
    INCOMPLETE_DISK = 2
    COMPLETE_TAPE = 4
    INCOMPLETE_TAPE = 8
    COMPLETE_VP = 16
    INCOMPLETE_VP = 32


class JobMark(IntFlag):
    """Facts about a job that only timeout rules ask for, as bits; jobs of a run have none but the last five.

    In a run JEDI makes all jobs, with relocationFlag 0, and no job changes after it came into holding. Source:
    lifecycle reference, 4.1 and 4.2.
    """

    NOT_JEDI = 1                # lockedby is not jedi
    NO_RELOCATION_FLAG = 2      # relocationFlag is NULL
    NOT_REASSIGNABLE = 4        # relocationFlag is 2
    OUTPUT_REPORT = 8           # a report of its output waits to be processed
    CHANGED_SINCE = 16          # modificationTime is not stateChangeTime
    MERGES = 32                 # processingType pmerge
    BUILDS = 64                 # builds the library of users' jobs
    PREMERGE_GONE = 128         # a merge job of which a job before it is gone
    CONSUMES = 256              # a consumer of event service, or a co-jumbo job
    MERGES_EVENTS = 512         # a merge job of event service


USER_ANALYSIS, EXPRESS_ANALYSIS = "User Analysis", "Express Analysis"
"""Shares whose jobs go by classes of sites and tasks; the first one is throttled by them; brokerage reference, 11."""

AUTO = "AUTO"
"""Item of includedSite that lets other queues in if none of the listed ones is left; brokerage reference, 3.2 (D30)."""

PMERGE = "pmerge"
"""Processing type of merge jobs; source: lifecycle reference, 2.14."""

USER_OF_TESTS = "gangarbt"
"""User of functional tests; source: panda-server, metric_collector."""

BUILD = "build"
"""Processing type of build jobs here; PanDA gives them that of their task and the label `panda`."""

PRODUCTION_LABELS = ("managed", "test")
"""Labels of production tasks, which get a nucleus; source: lifecycle reference, section 2.8."""

ANALYSIS_LABELS = ("user", "panda")
"""prodSourceLabels of analysis work; any other label is production; source: lifecycle reference, conventions."""

EDITIONS = ("documented", "deployed")
"""The two families of editions of the rules: what the documentation says, and what the production code does."""


class RetryAction(Word):
    """Actions of the retry module on an error; source: lifecycle reference, section 3.4."""

    NO_RETRY, LIMIT_RETRY, INCREASE_MEMORY, INCREASE_CPUTIME, INCREASE_MEMORY_XTIMES, REDUCE_INPUT_PER_JOB = range(6)


class PandaError(NamedTuple):
    """An error as PanDA records it: the column of the job that holds the code, the code, and the diagnostics."""

    source: str
    code: int
    diag: str


PANDA_ERRORS = {
    Cause.SITE_ERROR: PandaError("pilotErrorCode", 1099, "Failed to stage-in file"),
    Cause.PAYLOAD_ERROR: PandaError("pilotErrorCode", 1305, "Failed to execute payload"),
    Cause.MEMORY_EXCEEDED: PandaError("pilotErrorCode", 1212, "Payload exceeded maximum allowed memory"),
    Cause.WALLTIME_EXCEEDED: PandaError("pilotErrorCode", 1213, "Reached maximum batch system time limit"),
    Cause.PREEMPTED: PandaError("pilotErrorCode", 1201, "Job killed by signal: SIGTERM"),
    Cause.TRANSFER_ERROR: PandaError("pilotErrorCode", 1137, "Failed to stage-out file"),
    Cause.LOST_HEARTBEAT: PandaError("jobDispatcherErrorCode", 100, "lost heartbeat"),
    Cause.TIMEOUT_SENT: PandaError("jobDispatcherErrorCode", 100, "timeout in sent"),
    Cause.TIMEOUT_HOLDING: PandaError("jobDispatcherErrorCode", 100, "timeout in holding"),
    Cause.TIMEOUT_TRANSFERRING: PandaError("jobDispatcherErrorCode", 100, "timeout in transferring"),
}
"""The error recorded for each cause of a failure; causes that close a job are not errors.

Source: the codes and texts of the pilot (pilot3, errorcodes); lifecycle reference, section 4.1. A breakdown of a site
is recorded as its most common error.
"""

RAM_LIMITS_MB = (1000, 2000, 3000, 4000, 6000, 8000)
"""Values that the retry module raises ramCount to; source: JEDI TWiki, Memory increase in job retry."""

GROUP_ATTRIBUTES = {"userName": "user", "workingGroup": "working_group", "processingType": "processing_type",
                    "campaign": "campaign", "taskName": "name", "transPath": "transpath", "gshare": "share",
                    "prodSourceLabel": "label", "nucleus": "nucleus"}
"""Attributes of tasks that GROUPBYATTR may name, and their columns."""

USED = "+use"
"""Tag that PanDA logs for a candidate that is used."""

ROOT_SHARE = "root"
"""Name of the node above all shares."""

TEST_SHARE = "Test"
"""Share that the deployed edition dispatches with the first one; source: lifecycle reference, section 1.4."""

OF_CLONES = 2
"""Column eventService of a task whose jobs are cloned; 1 = its jobs are consumers (lifecycle reference, 6.1)."""

EVENT_SERVICE_QUEUE = "eventservice"
"""Work queue throttled as a whole (JEDI TWiki, job throttling), in the deployed edition in part (lifecycle, 1.6)."""

EXPRESS_TYPE, EXPRESS_PRIORITY = "urgent", {"documented": 1000, "deployed": 1001}
"""Processing type of express tasks, and the lowest priority at which any task is express, by edition (D4).

Source: PanDA brokerage documentation, production job brokerage; JEDI TWiki, express transfers; lifecycle reference,
section 7.2.
"""

USER_PRIORITY, JUMP_OVER_PRIORITY = 1000, 1500
"""Priority of a user's first job, and the lowest at which jobs take that of their task; lifecycle reference, 3.5."""

HIGH_PRIORITY, VERY_HIGH_PRIORITY = 800, 900
"""Lowest priority at which timeouts are shorter and unsafe queues are avoided; lowest treated like scouts.

Source: PanDA brokerage documentation, Timeout Rules and step 2; brokerage reference, section 2.2.
"""

CLOSENESS_BLOCKED, CLOSENESS_UNKNOWN = -1, -2
"""Closeness of a link that must not be used, and of a pair that CRIC does not list; source: formats reference, 4."""

MIN_CLOSENESS, MAX_CLOSENESS = 0, 11
"""Best and worst closeness; source: PanDA brokerage documentation, Network Weight."""

MISSING_CLOSENESS = 0.7 * MAX_CLOSENESS
"""Closeness assumed where CRIC gives none (not documented); source: brokerage reference, 7 (D48)."""

COMPLETE = 0.999999
"""Fraction of an input from which a replica counts as complete."""

COMPENSATION = 0.9
"""Fraction of its task's memory claim that a job asks for; source: PanDA brokerage documentation, memory."""

ANY_CORES, CORES_OF_ANY = 0, 8
"""Core count of jobs that take any number of cores, and what they use on average; source: lifecycle reference, 1.5."""

TYPICAL_FILES, MOST_FILES_OF_JOB = 5, 1000
"""Files of a job by default, and at most with secondary ones; source: lifecycle reference, sections 2.3 and 2.6."""

JOBS_PER_SUBDATASET = 50
"""Jobs of a destination sub-dataset, whose output moves together; source: lifecycle reference, section 7.4."""

MOST_ATTEMPTS = 255
"""Most attempts at an input; further failures are not counted."""
PILOT_RSS_GRACE = 2.0
"""Multiple of the memory of its slot above which a payload is killed; source: lifecycle reference, section 4.7."""

RANKED = ("priority", "attempt", "corecount", "n_events", "n_input_files", "maxwalltime")
"""Columns of a job by which an order of dispatch can rank the jobs of a share; maxwalltime: what its task claims, s."""

JOB_TYPE_OF_TESTS = "gangarobot"
"""processingType of functional tests (HammerCloud); source: lifecycle reference, section 5.2."""

ASKED_LABELS = {"production": ("managed", "test", "prod_test", "install"), "analysis": ("user", "panda", "install")}
"""prodSourceLabels of the jobs that pilots of each kind of work ask for; source: lifecycle reference, section 5.2."""

LABELS_OF_TESTS = ("prod_test", "install", "test")
"""prodSourceLabels of the jobs that pilots of a queue in status `test` get besides those of functional tests."""
