"""The JSON of a decision: its version, and what each of its fields says."""

FORMAT = 3
"""Version; it grows whenever a field changes its meaning or goes."""

OF_DECISION = {
    "format": "version of this list, 3",
    "snapshot": "name of the snapshot",
    "time_s": "its time, s",
    "edition": "documented or deployed",
    "brokerage": "task_brokerage, job_brokerage or analysis_brokerage",
    "policy": "name of the policy that decided",
    "status": "SUCCEEDED, FAILED if there is no candidate, or FATAL if PanDA gives up the attempt for good",
    "error": "text with which the attempt ended; null if it succeeded",
    "drawn": "nucleus that task brokerage chose; null if none, and for job brokerage",
    "n_jobs": "jobs for which queues are sought; null in task brokerage",
    "task": "the task: jeditaskid, name, gshare, priority, prodsourcelabel, processingtype, nucleus",
    "funnel": "rules that refused candidates, in PanDA's order of removal: tag, refused, left, criterion, and label, "
              "the tag with the name of the rule where several share it",
    "candidates": "every candidate, in the order of the grid",
}
"""Fields of a decision."""

OF_CANDIDATE = {
    "name": "nucleus, or PanDA queue with its resource type, such as NORTH/SCORE",
    "queue": "PanDA queue; null for a nucleus",
    "kept": "whether it is used",
    "tag": "what PanDA logs for a refused candidate; null if it is kept",
    "criterion": "name of the rule that refused it; several may share a tag",
    "stage": "PanDA's name of the check in which it left the list; null if PanDA does not list it or has none",
    "temporary": "whether the problem is temporary: PanDA removes such candidates together, before the final check",
    "value": "figure that the rule compared; null if it has none",
    "limit": "what it was compared with",
    "unit": "unit of both",
    "reason": "the refusal in words; empty for a candidate that is kept",
    "weighed": "whether it got as far as the weight, kept or refused behind that",
    "weight": "weight of a candidate that was weighed, else 0; 0 of a kept one: it is used first and once",
    "factors": "multipliers of which the weight is the product, by name",
    "running": "running jobs as the weight counts them",
    "assigned": "assigned jobs, where the input is not local",
    "queued": "jobs that wait at the queue, as the draw counts them",
    "cap": "number that `queued` must stay below to be given more jobs; null = none",
    "network_weight": "weight of the link to the nucleus; null without a nucleus",
    "jumbo": "whether the queue takes jumbo jobs of the task",
    "longest": "jobs that the user may have queued there, of an analysis job",
    "room": "how many more that are",
    "order": "1 for the best of the candidates that are used; null for the others",
    "probability": "that the nucleus, or the first block of jobs, is drawn there",
}
"""Fields of each of its candidates; in task brokerage those of jobs are null."""
