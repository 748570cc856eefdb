"""Task brokerage: from a task to the nucleus that collects its output; each edition is a chain in `editions`."""
