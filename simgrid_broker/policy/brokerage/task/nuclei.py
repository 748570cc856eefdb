"""Criteria about a nucleus: state, backlog, storage, full chains, data locality; its weight (D12 to D15); and its
storages: the part of the input of a task on them, dataset by dataset, and those for output by storage token.

Source: brokerage reference, 1.2 (T2, T5) and 1.3.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import BareNucleus, FullChain
from simgrid_broker.policy.availability import Endpoint, is_database, is_read
from simgrid_broker.policy.brokerage.task.question import (
    RW_OFFSET_HS06S,
    left_bytes,
    left_gib,
    too_few,
    too_many,
    whole_gib,
)
from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.policy.rule import candidate_criterion, candidate_factor
from simgrid_broker.units import DAY, GB, TB
from simgrid_broker.views import DatasetOfTask, InputOfNuclei, Replica

SOURCE = "PanDA brokerage documentation, production task brokerage, step 2; brokerage reference, 1.2"
NOT_BARE, ONLY_FULL_CHAIN = int(BareNucleus.NO), int(BareNucleus.ONLY)
ONLY, REQUIRE, CAPABLE = int(FullChain.ONLY), int(FullChain.REQUIRE), int(FullChain.CAPABLE)


@candidate_criterion("-status", says="not ACTIVE", applies=lambda task: not task["all_are_active"],
                     panda="selection for status", source=f"{SOURCE}, 0.2 and T3 (D3)")
def not_active(task, nucleus):
    """Refuse nuclei that are not ACTIVE; the deployed edition loads all as ACTIVE and so refuses none (D3)."""
    return not (nucleus["active"] or task["all_are_active"]), np.nan, np.nan


@candidate_criterion("-transfer_backlog", unit="files", applies=lambda task: task["t1weight"] >= 0,
                     says=ByEdition("{value} of output on their way, fewer than {limit:plain} allowed",
                                    "{value} of output on their way, at most {limit:plain}"),
                     panda="selection for transfer backlog",
                     source="PanDA brokerage documentation, production task brokerage, step 2; JEDI TWiki, task "
                            "brokerage; brokerage reference, T4 (D8)")
def transfer_backlog(task, nucleus):
    """Refuse nuclei whose queued output files are not below NQUEUED_NUC_CAP, unless t1Weight is negative.

    In the deployed edition as many as the cap are accepted (D8).
    """
    files, cap = nucleus["queued_output_files"], task["NQUEUED_NUC_CAP"]
    return task["t1weight"] >= 0 and too_many(task, files, cap), files, cap


@candidate_criterion("-match", says="no storage for output", panda="selection for endpoint", source=SOURCE,
                     editions=("documented",))
def no_storage(task, nucleus):
    """Refuse nuclei without a storage for output."""
    return not nucleus["has_storage"], np.nan, np.nan


@candidate_criterion("-match", says="one of the nuclei left has no storage for the output",
                     panda="selection for endpoint", source="brokerage reference, 1.2 and 14",
                     editions=("deployed",), together=True)
def output_unmatched(task, nucleus):
    """Refuse every nucleus if one of those left has no storage for output: PanDA fails there and logs no tag."""
    return not nucleus["has_storage"], np.nan, np.nan


@candidate_criterion("-source_blacklist", says="its storage sends no files over WAN",
                     panda="selection for source blacklist", source=SOURCE)
def unreadable(task, nucleus):
    """Refuse nuclei whose storage cannot send files over WAN."""
    return not nucleus["read_wan"], np.nan, np.nan


@candidate_criterion("-destination_blacklist", says="its storage receives no files over WAN",
                     panda="selection for destination blacklist", source=SOURCE)
def unwritable(task, nucleus):
    """Refuse nuclei whose storage cannot receive files over WAN."""
    return not nucleus["write_wan"], np.nan, np.nan


@candidate_criterion("-space", unit=ByEdition("bytes", "GiB"),
                     says=ByEdition("{value} left for output, more than {limit} needed (DISK_THRESHOLD)",
                                    "{value} left for output, {limit} needed (DISK_THRESHOLD)"),
                     panda="selection for space", source=f"{SOURCE}, T5c (D1, D7)")
def too_little_space(task, nucleus):
    """Refuse nuclei where spaceFree + spaceExpired - normalizedExpOutSize x RW is not above the threshold (D1, D7).

    The deployed edition accepts the threshold, counts usable space only, and in whole GiB.
    """
    space = left_bytes(nucleus) if task["bytes_count"] else left_gib(nucleus)
    least = task["DISK_THRESHOLD"] * task["space_per_tb"]
    return too_few(task, space, least), space, least


def no_queue(task, nucleus) -> str:
    """Words for a nucleus whose queues the job brokerage refuses, where its reasons are not known."""
    return "no queue can run the jobs"


@candidate_criterion("-job", says="{text}", text=no_queue, panda="check for ability to run jobs",
                     source="JEDI TWiki, task brokerage; brokerage reference, T6 (D6)")
def cannot_run(task, nucleus):
    """Refuse nuclei without a queue that the job brokerage would use; only nuclei that are left are checked."""
    return not nucleus["can_run"], np.nan, np.nan


@candidate_criterion("-preassign", says="the task names another nucleus", panda="pre-assigned nucleus",
                     source="brokerage reference, T1")
def not_preassigned(task, nucleus):
    """Refuse every nucleus but the one that the task names."""
    return nucleus["site"] != task["nucleus"], np.nan, np.nan


def chain(task, nucleus) -> str:
    """The bareNucleus of a nucleus and the fullChain of the task."""
    return f"bareNucleus {BareNucleus(int(nucleus['bare'])).word}, fullChain {FullChain(int(task['fullchain'])).word}"


CHAIN: Any = {"says": "{text}", "text": chain, "panda": "selection for full chain"}


@candidate_criterion("-full_chain", **CHAIN, editions=("documented",),
                     source="PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain (D35, D36)")
def off_the_chain(task, nucleus):
    """Refuse nuclei of the wrong kind: `only` asks for bareNucleus=only, `require` for any bare nucleus.

    `capable` asks for the parent's nucleus if that is bare, and else is ignored: like a task without fullChain it may
    not go to a nucleus with bareNucleus=only, nor to a satellite.
    """
    bare = nucleus["bare"]
    if task["fullchain"] == ONLY:
        refused = bare != ONLY_FULL_CHAIN
    elif task["fullchain"] == REQUIRE:
        refused = bare == NOT_BARE
    elif task["fullchain"] == CAPABLE and task["parent_bare"] != NOT_BARE:
        refused = nucleus["site"] != task["parent_nucleus"]
    else:
        refused = bare == ONLY_FULL_CHAIN or nucleus["satellite"]
    return refused, np.nan, np.nan


@candidate_criterion("-full_chain", **CHAIN, editions=("deployed",),
                     source="brokerage reference, 4 T8 (D35, D36)")
def off_the_chain_deployed(task, nucleus):
    """Refuse bareNucleus=only to normal tasks, other nuclei to `only` and `require`, and all but a bare parent's.

    Whatever the value of fullChain, a parent that has one too and sits at a bare nucleus keeps the task there.
    """
    bare = nucleus["bare"]
    if task["fullchain"] == 0:
        refused = bare == ONLY_FULL_CHAIN
    elif task["parent_fullchain"] != 0 and task["parent_bare"] != NOT_BARE:
        refused = nucleus["site"] != task["parent_nucleus"]
    else:
        refused = (task["fullchain"] == ONLY or task["fullchain"] == REQUIRE) and bare == NOT_BARE
    return refused, np.nan, np.nan


# ---- data locality ---------------------------------------------------------------------------------------------------

LOCALITY_SOURCE = ("PanDA brokerage documentation, production task brokerage, data locality check; "
          "brokerage reference, 1.3 (D9)")


@candidate_criterion("-no_complete_replica", says="no complete replica of the input can be read over WAN",
                     applies=lambda task: task["total_input_bytes"] > 0, panda="input replica scan",
                     source="brokerage reference, T2", editions=("deployed",))
def no_complete_replica(task, nucleus):
    """Refuse every nucleus if no complete replica of the input can be read over WAN; PanDA logs a text, not a tag."""
    return not task["complete_replica"], np.nan, np.nan


@compiled
def is_large(task):
    """True if the size of the input counts."""
    large = task["total_input_bytes"] > task["INPUT_SIZE_THRESHOLD"] * task["gigabyte"]
    return large and not _is_dropped(task)


@compiled
def has_many_files(task):
    """True if the number of input files counts."""
    total, threshold = task["total_input_files"], task["INPUT_NUM_THRESHOLD"]
    many = total > threshold if task["files_decide"] else task["total_input_bytes"] > threshold * GB
    return many and not _is_dropped(task)


@compiled
def _is_dropped(task):
    """True if the check is left out: after DATA_LOCATION_CHECK_PERIOD, days, without a nucleus."""
    return task["frozen_for_s"] > task["DATA_LOCATION_CHECK_PERIOD"] * DAY


ENOUGH = ByEdition("{value} of the input there, more than {limit} needed", "{value} of the input there, {limit} needed")


@candidate_criterion("-insize", unit="bytes", says=ENOUGH, applies=is_large, panda="selection for input size",
                     source=LOCALITY_SOURCE)
def too_little_input(task, nucleus):
    """Refuse nuclei whose part of a large input is not larger than INPUT_SIZE_FRACTION.

    The deployed edition accepts exactly that fraction.
    """
    local, total = nucleus["local_input_bytes"], task["total_input_bytes"]
    least = total * task["INPUT_SIZE_FRACTION"] / 100
    return is_large(task) and _checked(task, nucleus) and too_few(task, local, least), local, least


@candidate_criterion("-innum", unit="files", says=ENOUGH, applies=has_many_files,
                     panda="selection for number of input files", source=LOCALITY_SOURCE)
def too_few_files(task, nucleus):
    """Refuse nuclei whose part of the files is not larger than INPUT_NUM_FRACTION.

    The documentation compares the total input size with INPUT_NUM_THRESHOLD; the unit is taken as that of
    INPUT_SIZE_THRESHOLD, GB. The deployed edition compares the number of files, and accepts exactly that fraction.
    """
    local, total = nucleus["local_input_files"], task["total_input_files"]
    least = total * task["INPUT_NUM_FRACTION"] / 100
    return has_many_files(task) and _checked(task, nucleus) and too_few(task, local, least), local, least


@compiled
def waived(task):
    """True if the check is lifted when no nucleus passes it: little input, or a high priority (D10).

    That is the priority as submitted, in the deployed edition the current one.
    """
    return _light_input(task) or task["priority"] >= task["MAX_TASK_PRIO_WITH_LOCAL_DATA"]


@compiled
def _checked(task, nucleus):
    """True if a nucleus is asked for the input of a task, if that counts.

    Not where the data carousel completes the input: in the deployed edition at least one file must be there (D11).
    """
    staging = task["inputprestaging"] and (nucleus["local_input_files"] > 0 or not task["asks_for_a_file"])
    return not staging


@compiled
def _light_input(task):
    """True if the task neither reads much nor has much to read."""
    most_bytes = task["MIN_INPUT_SIZE_WITH_LOCAL_DATA"] * task["gigabyte"]
    intensity = task["iointensity"]
    reads_little = np.isnan(intensity) or intensity <= task["MIN_IO_INTENSITY_WITH_LOCAL_DATA"]
    return reads_little and task["total_input_bytes"] <= most_bytes


LOCALITY = Liftable("locality_lifted", (too_little_input, too_few_files), waived)
"""The check of data locality."""


# ---- weight ----------------------------------------------------------------------------------------------------------

TAPE_WEIGHT = 0.001
"""Source: PanDA brokerage documentation, production task brokerage, step 3; brokerage reference, 1.4."""
BOTH: Any = {"source": "PanDA brokerage documentation, production task brokerage, step 3; brokerage reference, 1.4"}


@candidate_factor("1/RW", panda="weight", **BOTH)
def remaining_work(task, nucleus):
    """1 / RW from 50 on, and below that 1 / 50, or 1 in the deployed edition: a jump (D12).

    In the deployed edition RW is that of the task's share at its priority or above (D15).
    """
    work = nucleus["priority_work_hs06s"] if task["share_counts"] else nucleus["remaining_work_hs06s"]
    return 1 / (work if work >= RW_OFFSET_HS06S else task["work_below"])


@candidate_factor("local input", panda="weight", **BOTH)
def local_input(task, nucleus):
    """localInputSize / totalInputSize for tasks that read much; 1 for others and without input (D14).

    In the deployed edition it is 1 if the locality check was lifted, and an unknown I/O intensity counts as much.
    """
    intensity = task["iointensity"]
    reads_much = (task["unknown_reads_much"] if np.isnan(intensity)
                  else intensity > task["MIN_IO_INTENSITY_WITH_LOCAL_DATA"])
    return nucleus["local_input_bytes"] / task["total_input_bytes"] if _counts_input(task) and reads_much else 1.0


@candidate_factor("tape", panda="weight", **BOTH)
def on_tape(task, nucleus):
    """0.001 where some of the local input is on tape alone, 1 elsewhere (JEDI TWiki, task brokerage: tapeWeight).

    In the deployed edition it is 1 if the locality check was lifted.
    """
    return TAPE_WEIGHT if _counts_input(task) and nucleus["local_input_bytes"] > nucleus["disk_input_bytes"] else 1.0


@compiled
def _counts_input(task):
    """True if the place of the input counts."""
    return task["total_input_bytes"] > 0 and not (task["locality_lifted"] and task["lifting_drops_data"])


@candidate_factor("free part", panda="weight", **BOTH)
def free_part(task, nucleus):
    """(spaceFree + spaceExpired) / spaceTotal; deployed edition: (usable - projected demand) / total (D13)."""
    if task["bytes_count"]:
        return (nucleus["free_bytes"] + nucleus["expired_bytes"]) / nucleus["total_bytes"]
    return left_gib(nucleus) / whole_gib(nucleus["total_bytes"])


@candidate_factor("free space", panda="weight", **BOTH)
def free_space(task, nucleus):
    """min(FREE_DISK_CUTOFF, spaceFree) in TB; deployed edition: usable - projected demand, in whole TB (D13)."""
    free_tb = nucleus["free_bytes"] / TB if task["bytes_count"] else np.floor(left_gib(nucleus) / task["space_per_tb"])
    return min(task["FREE_DISK_CUTOFF"], free_tb)


LOG = "log"
"""Type field of datasets of logs, the fifth of their names, which task brokerage does not look at."""
TYPE_FIELD = 4


class Amount(NamedTuple):
    """Files and bytes."""

    files: float
    bytes: float


def counted(datasets: Mapping[str, DatasetOfTask], on_master: bool) -> dict[str, DatasetOfTask]:
    """Datasets that task brokerage looks at; on_master: the primary input alone (taskBrokerOnMaster)."""
    return {name: one for name, one in datasets.items() if is_read(one) and not is_database(name)
            and name.split(".")[TYPE_FIELD:][:1] != [LOG] and not (on_master and one.secondary)}


def input_of_nuclei(datasets: Mapping[str, DatasetOfTask], on_master: bool, endpoints: Sequence[Endpoint],
                    reads: Sequence[Sequence[int]]) -> InputOfNuclei:
    """Input at each nucleus, and whether all of it can be read; reads: storages of input of each nucleus."""
    by_name, looked_at = {one.name: one for one in endpoints}, counted(datasets, on_master)
    held = np.zeros((len(reads), 3))
    total_files, total_bytes, missing = 0.0, 0.0, ""
    for name, one in looked_at.items():
        parts = [datasets[part] for part in one.constituents if part in datasets] or [one]
        if not missing and not any(map(lambda part: _is_whole_somewhere(part, by_name), parts)):
            missing = name
        size = _total(parts[-1])                       # of a container PanDA keeps the size of its last dataset
        total_files, total_bytes = total_files + size.files, total_bytes + size.bytes
        for place, storages in enumerate(reads):
            own = {endpoints[k].name: endpoints[k] for k in storages}
            held[place] += sum(np.array(_held(part, own)) for part in parts)
    return InputOfNuclei(total_bytes, total_files, held[:, 0], held[:, 1], held[:, 2], missing)


def _total(dataset: DatasetOfTask) -> Amount:
    """Size of a dataset as its first replica counts it."""
    for replica in dataset.replicas.values():
        return _whole(dataset, replica)
    return Amount(0.0, 0.0)


def _whole(dataset: DatasetOfTask, replica: Replica) -> Amount:
    """Size of a dataset as one of its replicas counts it."""
    files = (dataset.n_files or 0) if replica.of_files is None else replica.of_files
    return Amount(files, dataset.bytes if replica.of_bytes is None else replica.of_bytes)


def _found(dataset: DatasetOfTask, replica: Replica) -> Amount:
    """Part of a dataset at the place of a replica."""
    whole = _whole(dataset, replica)
    share = replica.files / whole.files * whole.bytes if whole.files else 0.0
    return Amount(replica.files, share if replica.bytes is None else replica.bytes)


def _is_whole_somewhere(dataset: DatasetOfTask, by_name: Mapping[str, Endpoint]) -> bool:
    """True if a storage that sends files has all of a dataset."""
    return any(by_name[name].wan and 0 < replica.files == _whole(dataset, replica).files
               for name, replica in dataset.replicas.items())


def _held(dataset: DatasetOfTask, own: Mapping[str, Endpoint]) -> tuple[float, float, float]:
    """Bytes on disk, bytes on disk or tape, and files on either, at the best of a nucleus' storages.

    A complete replica on disk is all that counts; of others the best one, since PanDA does not add them.
    """
    disk, anywhere, files = 0.0, 0.0, 0.0
    for name, replica in _at(dataset, own):
        found, whole = _found(dataset, replica), _whole(dataset, replica)
        if not own[name].tape:
            if whole.files > 0 and found.files == whole.files:
                return found.bytes, found.bytes, found.files
            disk = max(disk, found.bytes)
        anywhere, files = max(anywhere, found.bytes), max(files, found.files)
    return disk, anywhere, files


def _at(dataset: DatasetOfTask, own: Mapping[str, Endpoint]) -> Iterator[tuple[str, Replica]]:
    """Replicas at a nucleus."""
    return ((name, replica) for name, replica in dataset.replicas.items() if name in own)


# ---- output ----------------------------------------------------------------------------------------------------------

DISTRIBUTED, DESTINATION = "ddd:", "dst:"
"""Beginnings of tokens of datasets that stay where they are made, and that go to a storage."""
NO_STORAGE = -1


def wanted(tokens: Iterable[str]) -> tuple[str, ...]:
    """Storage tokens of the output: each once, without those of datasets that stay distributed."""
    return tuple(dict.fromkeys(token.removeprefix(DESTINATION) for token in tokens
                               if not token.startswith(DISTRIBUTED)))


def matching(token: str, storages: Sequence[tuple[str, str]]) -> int:
    """Position of the storage for a token among (name, type) pairs, NO_STORAGE if none fits.

    That is the one of this name, else the first whose name matches the token as a regular expression or whose type is
    the token without ATLAS.
    """
    kind = token.replace("ATLAS", "", 1)
    names = [name for name, _ in storages]
    if token in names:
        return names.index(token)
    return next((place for place, (name, its_type) in enumerate(storages)
                 if re.search(token, name) or its_type == kind), NO_STORAGE)
