"""The data plane: one compiled loop over the tables, and the operations by which agents act on it.

What lives here: the heap of events, batch slots, pilots, dispatch, payloads, transfers, ends of attempts, and the seam
to SimPy. What does not: any decision; the fabric follows the share order, the queues and the priorities it is given.
Nothing here calls Python from compiled code; the fabric leaves state, counters and outboxes for agents to read.
"""
