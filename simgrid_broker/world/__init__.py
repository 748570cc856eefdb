"""The state of the simulated grid: tables, their building, the only writer of statuses and counts, and the checks.

What lives here: `World`, the arrays it is made of, `transitions`, rows and their reuse, counts, invariants, the share
tree. What does not: anything that decides (policy), moves time (fabric) or wakes up (agents).
"""
