"""Rules about PanDA queues: zero share, functional tests and the queue filler."""
