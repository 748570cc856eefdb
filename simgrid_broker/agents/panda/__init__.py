"""The PanDA server: it activates, brokers again, ends and counts jobs."""
