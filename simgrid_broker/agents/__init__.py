"""The control plane: one SimPy process a file, named as in JEDI, PanDA and Harvester.

What lives here: agents that wake, look, ask a policy and act, and what they share (`control`). What does not: any
computing of decisions (policy), and what happens between two of their moments (fabric).

Of agents that wake at the same time, those that were started first come first; the order is that of `AGENTS`.
"""

from simgrid_broker.agents.adder import adder
from simgrid_broker.agents.contents_feeder import contents_feeder
from simgrid_broker.agents.copy_archive import copy_archive
from simgrid_broker.agents.job_generator import job_generator
from simgrid_broker.agents.merger import merger
from simgrid_broker.agents.network_metrics import network_metrics
from simgrid_broker.agents.pilot_streaming import pilot_streaming
from simgrid_broker.agents.post_processor import post_processor
from simgrid_broker.agents.priority_massage import priority_massage
from simgrid_broker.agents.production_watch_dog import production_watch_dog
from simgrid_broker.agents.sampler import sampler
from simgrid_broker.agents.setupper import setupper
from simgrid_broker.agents.snapshots import snapshots
from simgrid_broker.agents.statistics import statistics
from simgrid_broker.agents.task_broker import task_broker
from simgrid_broker.agents.task_commando import task_commando
from simgrid_broker.agents.task_refiner import task_refiner
from simgrid_broker.agents.task_source import task_source
from simgrid_broker.agents.timeline import timeline
from simgrid_broker.agents.watch_dog import watch_dog

AGENTS = (timeline, network_metrics, statistics, task_source, task_commando, task_refiner, contents_feeder, task_broker,
          adder, post_processor, watch_dog, production_watch_dog, copy_archive, priority_massage, merger,
          job_generator, setupper, pilot_streaming, sampler, snapshots)
"""Functions that take the control plane and give the generators of their processes, in the order of an instant."""


def start_agents(control) -> None:
    """Start every agent as SimPy processes of `control.env`."""
    for agent in AGENTS:
        for process in agent(control):
            control.env.process(process)
