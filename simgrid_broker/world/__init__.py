"""The state of the simulated grid: tables, the only writers of statuses and counts, views, and invariants."""
