"""Systems of workload management behind two doors: `WorkerMode`, how workers come to jobs, and `Dispatch`, where jobs
wait for workers and which of them a worker gets."""
