"""PanDA queues: activity, storages that they read and write, and slots of workers."""
