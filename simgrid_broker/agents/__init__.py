"""Agents: the SimPy processes of JEDI, PanDA and Harvester; each wakes, looks, asks a policy and acts."""

from collections.abc import Callable, Iterable

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.data.data_carousel import data_carousel
from simgrid_broker.agents.data.network import (
    jobless_transfers,
    network_metrics,
    network_troubles,
    reaper,
    transfer_optimiser,
)
from simgrid_broker.agents.harvester.workers import (
    harvester_monitor,
    harvester_slots,
    harvester_submitter,
    job_fetcher,
    slot_windows,
)
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.merger import merger
from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.queue_filler import queue_filler
from simgrid_broker.agents.jedi.task_broker import task_broker
from simgrid_broker.agents.jedi.task_commando import task_commando
from simgrid_broker.agents.jedi.task_refiner import contents_feeder, task_refiner
from simgrid_broker.agents.jedi.watchdogs import production_watch_dog, task_withholder, watch_dog
from simgrid_broker.agents.panda.copy_archive import copy_archive
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.queue_tests import queue_tests
from simgrid_broker.agents.panda.statistics import gdpconfig_cache, share_order, share_tree_cache, statistics
from simgrid_broker.agents.run.samples import sampler, snapshots
from simgrid_broker.agents.run.timeline import task_source, timeline, trace_source
from simgrid_broker.agents.users.analysis_watch_dog import analysis_watch_dog
from simgrid_broker.agents.users.metric_collector import metric_collector, task_evaluator
from simgrid_broker.agents.users.priority_massage import priority_massage

Agent = Callable[[Control], Process]
"""An agent: a generator function that yields SimPy events."""


def agents_of_dispatch(control: Control) -> Process:
    """Start the agents of the dispatcher, which ask for workers."""
    processes = [control.env.process(agent(control)) for agent in control.policies.dispatch.agents]
    yield control.env.all_of(processes)


AGENTS: tuple[Agent, ...] = (
    timeline, reaper, harvester_slots, slot_windows, network_troubles, transfer_optimiser, network_metrics,
    jobless_transfers,
    share_tree_cache, gdpconfig_cache, statistics, share_order, task_source, trace_source, task_commando, task_refiner,
    contents_feeder, data_carousel, task_withholder, queue_filler,
    task_broker, adder, post_processor, watch_dog, production_watch_dog, metric_collector, task_evaluator,
    analysis_watch_dog, copy_archive, priority_massage, merger, job_generator, setupper, agents_of_dispatch,
    job_fetcher, harvester_submitter, harvester_monitor, queue_tests, sampler, snapshots)
"""Agents of the package, in the order in which they act at the same instant."""


def start_agents(control: Control, agents: Iterable[Agent] = AGENTS) -> None:
    """Start agents as SimPy processes at the current time; each begins after those before it, and what they start."""
    control.env.process(_started(control, agents))


def _started(control: Control, agents: Iterable[Agent]) -> Process:
    for agent in agents:
        control.env.process(agent(control))
        yield control.env.timeout(0)                 # SimPy begins new processes before it ends a wait
