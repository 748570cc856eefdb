"""The data plane: one compiled loop over the tables, and the agents' operations on it; it never calls Python."""
