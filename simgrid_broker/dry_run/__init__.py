"""The operator's dry run: one decision of a broker on a snapshot of a grid, without a simulation.

What lives here: asking (`broker`), the answer (`decision`) and probabilities (`chances`). What does not: the
decision itself and its figures (agents, policy), and the shape of a snapshot (scenario).
"""

from simgrid_broker.dry_run.broker import broker
from simgrid_broker.dry_run.decision import Candidate, Decision, Step

__all__ = ["Candidate", "Decision", "Step", "broker"]
