"""From files to a checked scenario or snapshot: reading, setting values, validating, origins of values."""
