"""Jobs: transitions of status, counts, and the work that waits at queues."""
