"""`match`: the answers of DIRAC's matcher to a resource, without a simulation."""
