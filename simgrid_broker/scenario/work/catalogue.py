"""The datasets of a scenario in one list, single ones and drawn ones, and what each task of a stream reads.

Draws of a population are keyed by its name and the rank of the dataset, those of a task by its stream and number, so
another population or stream moves none of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.data import Dataset, Population, dataset_names
from simgrid_broker.scenario.work.draws import draw, draw_number, holders
from simgrid_broker.schema.datasets import SecondaryInput

DRAW = "dataset_draw"
_FILES, _FILE_SIZE = range(2)
_INCOMPLETE, _PART, _SECONDARY, _LIFETIME = range(100, 500, 100)
"""Questions about a dataset; those about a replica count it in addition."""
_CHOICE = 48
"""Question about a task: which dataset of its container it reads."""
_LEAST, _MOST = 0.05, 0.95
"""Parts of the files that an incomplete replica may have."""

PlacedReplica = tuple[int, int, int, float, float, bool, bool]
"""Dataset, site, storage (-1 = the site has none), part, lifetime in s, whether on tape, whether virtual."""


@dataclass(frozen=True)
class Catalogue:
    """Datasets by number: names, files, bytes and popularity, (n,) each.

    members: numbers by container, and of the datasets of each stream with several masters.
    """

    names: tuple[str, ...] = ()
    n_files: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    bytes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    popularity: np.ndarray = field(default_factory=lambda: np.zeros(0))
    members: dict[str, np.ndarray] = field(default_factory=dict)
    replicas: tuple[PlacedReplica, ...] = ()


def catalogue(scenario: Scenario) -> Catalogue:
    """The datasets of a scenario: single ones first, then the populations."""
    data = scenario.data
    if not data.datasets and not data.populations:
        return Catalogue()
    single = list(data.datasets.values())
    drawn = [_Drawn(name, population, scenario) for name, population in data.populations.items()]
    names = dataset_names(data)
    members = {container: np.array([k for k, one in enumerate(single) if one.container == container])
               for container in dict.fromkeys(one.container for one in single if one.container is not None)}
    replicas, before = _placed(single, scenario), len(single)
    for each in drawn:
        members[each.name] = before + np.arange(len(each.rank))
        replicas += each.replicas(before)
        before += len(each.rank)
    for stream in scenario.workload.streams:
        if stream.datasets and set(stream.datasets) <= set(names):
            members[stream.read_whole or ""] = np.array([names.index(name) for name in stream.datasets])
    return Catalogue(
        names, np.concatenate([[one.files for one in single], *(each.files for each in drawn)]).astype(np.int64),
        np.concatenate([[one.bytes for one in single], *(each.bytes for each in drawn)]).astype(float),
        np.concatenate([[one.popularity for one in single], *(each.popularity for each in drawn)]).astype(float),
        members, tuple(replicas))


def _placed(datasets: list[Dataset], scenario: Scenario) -> list[PlacedReplica]:
    """The replicas of single datasets, as they are written."""
    sites, storages = list(scenario.grid.sites), list(scenario.grid.storages)
    found = []
    for number, dataset in enumerate(datasets):
        for replica in dataset.replicas:
            storage = scenario.grid.storages[replica.storage]
            lifetime = np.inf if replica.lifetime is None else replica.lifetime
            found.append((number, sites.index(storage.site), storages.index(replica.storage), replica.part, lifetime,
                          storage.tape, replica.virtual))
    return found


class _Drawn:
    """The datasets of a population; files, bytes, popularity: (n,) each."""

    def __init__(self, name: str, population: Population, scenario: Scenario):
        self.name, self.population, self.scenario, self.key = name, population, scenario, key_of("/data/" + name)
        self.rank = np.arange(1, population.datasets + 1)
        seed = scenario.seed
        self.files = draw_number(population.files, seed, self.key, self.rank, _FILES, DRAW)
        self.bytes = self.files * draw(population.file_size, seed, self.key, self.rank, _FILE_SIZE, DRAW)
        self.popularity = self.rank.astype(float)**-population.zipf

    def replicas(self, first: int) -> list[PlacedReplica]:
        """Replicas of the datasets, at sites drawn without repetition by the size of their storage.

        first: number of the first dataset.
        """
        rule, grid = self.population.replicas, self.scenario.grid
        names, sites, weight = holders(grid, rule.where)
        n, storages = min(rule.number, len(sites)), list(grid.storages)
        race = -np.log(self._luck(np.array([key_of(site) for site in names], np.int64))) / weight
        place = np.argsort(race, axis=1, kind="stable")[:, :n]
        further = np.arange(n)
        incomplete = (self._luck(_INCOMPLETE + further) < rule.incomplete) & (further > 0)
        part = np.where(incomplete, _LEAST + (_MOST - _LEAST) * self._luck(_PART + further), 1.0)
        secondary = (self._luck(_SECONDARY + further) < rule.secondary) & (further > 0)
        lifetime = np.where(secondary, rule.lifetime * self._luck(_LIFETIME + further), np.inf)
        own = {site: next((storages.index(name) for name in (grid.sites[site].storage, *(
            name for name, storage in grid.storages.items() if storage.site == site)) if name in grid.storages), -1)
            for site in names}
        return [(first + number, int(sites[k]), own[names[k]], float(part[number, r]), float(lifetime[number, r]),
                 False, False) for number in range(len(place)) for r, k in enumerate(place[number].tolist())]

    def _luck(self, question: np.ndarray) -> np.ndarray:
        """Numbers in (0, 1) for each dataset and each of several questions, (n, n_questions)."""
        return uniforms(self.scenario.seed, DRAW, self.key, self.rank[:, None], question)


def with_sizes(secondaries: Sequence[SecondaryInput], shared: Catalogue) -> list[SecondaryInput]:
    """Secondary datasets of a stream, those of `data` with the number and the mean size of their files."""
    numbers = [None if one.dataset is None else shared.names.index(one.dataset) for one in secondaries]
    return [one if number is None else one.model_copy(update=dict(
        files=int(shared.n_files[number]), file_size=float(shared.bytes[number] / shared.n_files[number])))
            for one, number in zip(secondaries, numbers, strict=True)]


def secondary_lists(scenario: Scenario) -> dict[str, tuple[SecondaryInput, ...]]:
    """Secondary datasets with replicas of their own, by the name of the stream whose tasks read them; in a world the
    list in place k has number k + 1."""
    found = {stream.name: tuple(one for one in stream.input.secondaries if one.dataset is not None)
             for stream in scenario.workload.streams if stream.input is not None}
    return {name: secondaries for name, secondaries in found.items() if secondaries}


def datasets_read(shared: Catalogue, dataset: str | None, container: str | None, seed: int, key: int,
                  index: np.ndarray) -> np.ndarray:
    """Number of the dataset that each task of a stream reads, (n,): the one named, or one of a container by popularity.

    key, index: of the stream's draws, and numbers of the tasks in it.
    """
    if dataset is not None:
        return np.full(len(index), shared.names.index(dataset))
    members = shared.members[container or ""]
    weight = np.cumsum(shared.popularity[members])
    luck = uniforms(seed, "task_draw", key, index, _CHOICE)
    return members[np.minimum(np.searchsorted(weight, luck * weight[-1], side="right"), len(members) - 1)]
