"""DIRAC's task-queue matching: identity of task queues, priorities, matching of a request, and the draw of a job."""
