"""Cases of the benchmark: a function each, which returns its figures by name."""
