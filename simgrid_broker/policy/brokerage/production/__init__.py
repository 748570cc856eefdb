"""Production job brokerage: from a task to the queues that its jobs go to; each edition is a chain in `editions`."""
