"""Mutations of scripts/mutate.py that change no decision, by function and change, each with its reason."""

EQUIVALENT: dict[tuple[str, str], str] = {
    ("fabric.jobs.activated.comes_before",
     "nodes[one]['panda_id'] < nodes[other]['panda_id'] -> nodes[one]['panda_id'] <= nodes[other]['panda_id']"):
        "no two jobs have one PandaID",
    ("fabric.jobs.activated.comes_before",
     "nodes[one]['rank'] > nodes[other]['rank'] -> nodes[one]['rank'] >= nodes[other]['rank']"):
        "the ranks differ here",
    ("fabric.jobs.retries.limit_after", "0 < new < limit -> 0 < new <= limit"): "equal limits are not changed",
    ("fabric.dispatch.best_of_first_share", "(-1, 0) -> (-1, 1)"): "it is read only after a job was found",
    ("fabric.dispatch.best_of_first_share", "(-1, 0) -> (-2, 0)"): "any number below 0 is no job",
    ("fabric.dispatch.best_job", "-1 -> -2"): "any number below 0 is no job",
    ("fabric.dispatch.best_job", "row >= 0 and settings['sloppy_fraction'] > 0 -> "
     "row >= 0 or settings['sloppy_fraction'] > 0"):
        "a fraction of 0 is above no draw, and without a job none is older",
    ("fabric.dispatch.best_job", "settings['sloppy_fraction'] > 0 -> settings['sloppy_fraction'] >= 0"):
        "a fraction of 0 is above no draw",
    ("fabric.dispatch.best_of_all_shares", "(world.jobs, -1) -> (world.jobs, -2)"): "any number below 0 is no job",
    ("fabric.dispatch.is_sloppy",
     "world.tasks[other['task']]['luck'] << 1 -> world.tasks[other['task']]['luck'] << 2"):
        "any mixture of the keys of both tasks",
    ("fabric.dispatch.is_sloppy", "settings['sloppy_fraction'] > luck -> settings['sloppy_fraction'] >= luck"):
        "a draw is never precisely the fraction",
    ("fabric.jobs.timeouts.since", "other < modified -> other <= modified"): "of equal times either is taken",
    ("fabric.jobs.timeouts.overdue", "age <= limit -> age < limit"): "the limit itself is compared in `breaks`",
    ("fabric.jobs.timeouts.find_old", "now < until -> now <= until"): "the limit itself is compared in `breaks`",
    ("fabric.jobs.timeouts.rules_by_status", "len(rules) + 1 -> len(rules) + 2"): "the list of a status ends before",
    ("fabric.jobs.timeouts.rules_by_status", "np.full((N_STATUS, len(rules) + 1), -1, np.int64) -> "
     "np.full((N_STATUS, len(rules) + 1), -2, np.int64)"): "any number below 0 ends the list",
    ("agents.jedi.watchdogs.ProductionWatchDog._concerned",
     "tasks['failed_attempts'][rows] > 0 -> tasks['failed_attempts'][rows] >= 0"): "no rate of 0 pauses a task",
    ("agents.jedi.watchdogs.ProductionWatchDog._concerned",
     "may_pause & (tasks['failed_attempts'][rows] > 0) -> may_pause | (tasks['failed_attempts'][rows] > 0)"):
        "`actions` decides about each task, and without limits pauses none",
    ("agents.jedi.watchdogs.ProductionWatchDog._concerned",
     "tasks['priority'][rows] < rules.BOOST_PRIORITY -> tasks['priority'][rows] <= rules.BOOST_PRIORITY"):
        "`actions` decides about each task",
    ("agents.jedi.watchdogs.ProductionWatchDog._concerned",
     "(self.express >= 0) & (tasks['share'][rows] != self.express) -> "
     "(self.express >= 0) | (tasks['share'][rows] != self.express)"): "`actions` decides about each task",
    ("agents.jedi.watchdogs.ProductionWatchDog._queue_of", "-1 -> -2"): "any number below 0 is no work queue",
    ("agents.jedi.watchdogs.ProductionWatchDog._parent_is_complete",
     "-1 if parent is None else status[parent] -> -2 if parent is None else status[parent]"):
        "without a parent it is not read",
    ("agents.data.data_carousel.DataCarousel._replica", "return -1 -> return -2"): "any number below 0 is no row",
    ("agents.data.network.reap", "wanted > 0 -> wanted >= 0"): "to free nothing changes nothing",
    ("agents.jedi.scouts.Scouts.release", "self.changes[row] += 1 -> self.changes[row] += 2"):
        "any other number says that the figures were replaced",
    ("agents.jedi.queue_filler.QueueFiller._work", "max(min(now, DAY), 1.0) -> max(min(now, DAY), 2.0)"):
        "the filler does not look within the first two seconds",
    ("agents.jedi.queue_filler.QueueFiller._chosen", "bounds.mincore or 0 -> bounds.mincore or 1"):
        "one core is not more than one",
    ("agents.panda.copy_archive.AnalysisJobs.waiting",
     "control.now - piece[1] < rebrokerage.QUIET_S -> control.now - piece[1] <= rebrokerage.QUIET_S"):
        "an end of precisely QUIET_S ago leaves its group quiet: `groups_to_rebroker` compares",
    ("agents.panda.copy_archive.AnalysisJobs._rows",
     "(1, len(self.control.arrays.queues)) -> (2, len(self.control.arrays.queues))"):
        "limits of a rule that there is not are not read",
    ("agents.panda.copy_archive.AnalysisJobs._rows", "2 ** 40 -> 2 ** 41"): "any number beyond all priorities",
    ("agents.users.metric_collector.MetricCollector._waiting", "np.zeros(0, np.int64) -> np.zeros(1, np.int64)"):
        "a job that has not waited has waited no longer than any mean",
    ("agents.users.metric_collector.MetricCollector._waiting", "np.zeros(0) -> np.zeros(1)"):
        "a job that has not waited has waited no longer than any mean",
    ("agents.users.priority_massage.PriorityMassage._jobs",
     "np.where(paused, 0, user_limits.HELD) -> np.where(paused, 1, user_limits.HELD)"): "any other flag is not HELD",
    ("agents.jedi.task_refiner.priority_of_user",
     "luck.uniform(control.seed, luck.STREAMS['task_draw'], tasks['luck'].item(row), MOVE_INPUT, 0) -> "
     "luck.uniform(control.seed, luck.STREAMS['task_draw'], tasks['luck'].item(row), MOVE_INPUT + 1, 0)"):
        "any draw of the task will do",
    ("agents.panda.statistics.ShareOrder._is_the_same",
     "return self.stretchable is None and order.half_life_s == 0 and (order.share_order is rules.share_... -> "
     "return False"):
        "shares that use as much as before are ordered again with the same result",
    ("policy.availability.completeness", "dataset.n_files or 0 -> dataset.n_files or 1"):
        "a dataset of an unknown number of files is scattered: what it lacks is not read",
    ("policy.availability.found_at", "total or 1 -> total or 2"): "of no bytes every part is 0",
    ("policy.availability._complete_places", "set[str] | None -> set[str] & None"):
        "an annotation inside a function is not evaluated",
    ("policy.software.comparisons.pattern", "-1 if error.pos is None else error.pos -> "
     "-2 if error.pos is None else error.pos"): "re always says where",
    ("policy.brokerage.production.activity.running_deployed", "load['num_slots'] > 0 -> load['num_slots'] >= 0"):
        "0 is decided before",
    ("policy.brokerage.production.activity.running_deployed",
     "running < BOOTSTRAP_WORKERS -> running <= BOOTSTRAP_WORKERS"):
        "at most as many workers count, and only if they are more than the running jobs",
    ("policy.brokerage.production.activity.running_deployed", "workers > running -> workers >= running"):
        "equal numbers are not changed",
    ("policy.brokerage.production.activity.running_deployed",
     "running < BOOTSTRAP_WORKERS -> running < BOOTSTRAP_WORKERS + 1"): "at most as many workers count",
    ("policy.brokerage.production.decide.best_candidates", "max(n_kept, 1) -> max(n_kept, 2)"):
        "one candidate has one place, whatever the turn",
    ("policy.brokerage.production.decide.key",
     "float(tables.load[load, queue['queue']]['running_all']) * NAMES -> "
     "float(tables.load[load, queue['queue']]['running_all']) * (NAMES + 1)"):
        "any number above all places in the alphabet will do",
    ("policy.brokerage.production.decide.rank", "return 0 -> return 1"):
        "of a hint the number of candidates is not read",
    ("policy.brokerage.production.candidates.is_single", "len(task.preassigned) > 0 -> len(task.preassigned) >= 0"):
        "no queue is on an empty list",
    ("policy.brokerage.production.storage.is_complete", "source['part'] >= 1 -> source['part'] > 1"):
        "a complete replica lacks no file, and MAX_MISSING_INPUT_FILES is not negative",
    ("policy.brokerage.production.storage.is_complete", "source['part'] >= 1 -> source['part'] >= 2"):
        "a complete replica lacks no file, and MAX_MISSING_INPUT_FILES is not negative",
    ("policy.brokerage.production.estimates.most_work", "queue['mintime_s'] > 0 -> queue['mintime_s'] >= 0"):
        "without a mintime no job is too short",
    ("policy.brokerage.production.network.queued_weight",
     "weight < task['least_queued_weight'] -> weight <= task['least_queued_weight']"): "equal weights are not changed",
    ("policy.brokerage.production.broker.seat", "(0.0, np.inf, False) -> (1.0, np.inf, False)"):
        "without numbers of jobs there is no cap",
    ("policy.brokerage.production.broker.first_open", "(-1, 0.0, 0.0) -> (-1, 0.0, 1.0)"):
        "it is read only after a candidate was taken",
    ("policy.brokerage.production.broker.first_open", "(-1, 0.0, 0.0) -> (-1, 1.0, 0.0)"):
        "it is read only after a candidate was taken",
    ("policy.brokerage.production.broker.first_open", "(-1, 0.0, 0.0) -> (-2, 0.0, 0.0)"):
        "any number below 0 is no candidate",
    ("policy.brokerage.production.broker.first_unused", "best = -1 -> best = -2"):
        "any number below 0 is no candidate",
    ("policy.brokerage.production.broker.is_open", "place['weight'] > 0 -> place['weight'] >= 0"):
        "candidates of weight 0 are drawn before, as unused ones",
    ("policy.tasks.merging.merge_place", "queue << 32 -> queue << 33"):
        "any shift that leaves room for the numbers of sub-datasets",
    ("policy.pilot_streaming._need",
     "np.where(COUNTED[np.asarray(status.status)], status.core_target, 0) -> "
     "np.where(COUNTED[np.asarray(status.status)], status.core_target, 1)"):
        "0.4 of one core is no core",
    ("policy.pilot_streaming._wanted", "np.asarray(status.meanrss) != 0 -> np.asarray(status.meanrss) != 1"):
        "no type needs so little memory, and without a fitting type none is held back",
    ("policy.pilot_streaming.take_workers", "need[queue] <= 0 -> need[queue] < 0"):
        "without need a job takes only what waits, and leaves one waiting",
    ("policy.jobs.retry_module.increased_deployed", "max(asked, 0) -> max(asked, 1)"):
        "raised inputs have a value of the list, which is larger",
    ("policy.jobs.retry_module.increased_deployed", "default=0 -> default=1"): "without raised inputs it is not read",
    ("policy.jobs.retry_module.increased_deployed", "need > 0 -> need >= 0"):
        "raised inputs have a value of the list, which is larger",
    ("policy.jobs.retry_module.increased_deployed", "need > 0 -> need > 1"):
        "raised inputs have a value of the list, which is larger",
    ("policy.jobs.retry_module.handling", "return True -> return False"):
        "the only error is the last, whether or not it was acted on",
    ("policy.jobs.retry_module.first_cputime", "value >= SMALL_HS06S -> value > SMALL_HS06S"): "10 is a whole number",
    ("policy.tasks.measures.measured_cputime", "safe >= WHOLE_HS06S -> safe > WHOLE_HS06S"): "10 is a whole number",
    ("policy.shares.dispatch.share_order",
     "used / target if target > 0 else NO_TARGET_RATIO -> used / target if target > 0 else NO_TARGET_RATIO + 1"):
        "any ratio above all others",
    ("policy.harvester.adjusted", "(shape[-1], 2) -> (shape[-1], 3)"):
        "room, of which two columns are used",
    ("policy.harvester.dynamic", "part < least -> part <= least"): "of equal numbers either is taken",
    ("policy.harvester.scale", "remainders[best, 0] = -1 -> remainders[best, 0] = -2"):
        "any number below 0 is below all remainders",
    ("policy.software.architecture._cpus", "_END_OF_PLATFORM.split(text, 1) -> _END_OF_PLATFORM.split(text, 2)"):
        "only the first part is read",
    ("policy.software.architecture._of_string", "_END_OF_PLATFORM.split(text, 1) -> _END_OF_PLATFORM.split(text, 2)"):
        "only the first part is read",
    ("policy.software.architecture._place", "found < 0 -> found <= 0"): "an object in JSON begins with a brace, no key",
    ("policy.software.architecture._place", "found < 0 -> found < 1"): "an object in JSON begins with a brace, no key",
    ("policy.software.architecture._closing", "return -1 -> return -2"): "any number below 0 is no position",
    ("policy.shares.dispatch.values_in_use", "range(len(active) - 1, 0, -1) -> range(len(active) - 1, 1, -1)"):
        "the first node is a child of the root, whose activity is not read",
    ("policy.tasks.splitting.beside_of", "one.np or -1 -> one.np or -2"): "any number below 0 is no np",
    ("policy.tasks.splitting.size_limit",
     "queue.maxwdir_bytes if math.isfinite(queue.maxwdir_bytes) else 0.0 -> "
     "queue.maxwdir_bytes if math.isfinite(queue.maxwdir_bytes) else 1.0"): "a byte is below both sizes",
    ("fabric.transfers.secondary_data.bring_secondaries", "len(world.job_inputs) == 0 -> len(world.job_inputs) == 1"):
        "without such datasets no task has a list of them",
    ("fabric.transfers.secondary_data.awaits_secondaries", "len(world.job_inputs) == 0 -> len(world.job_inputs) == 1"):
        "without such datasets no task has a list of them",
    ("fabric.transfers.secondary_data.bring", "arriving > 0.0 -> arriving >= 0.0"):
        "a replica to which nothing comes names no transfer that is under way",
    ("fabric.transfers.secondary_data.bring", "(-1, NOTHING) -> (-2, NOTHING)"): "without an id it is not read",
    ("fabric.transfers.secondary_data.bring", "(-1, NOTHING) -> (-1, NOTHING + 1)"):
        "a transfer that is not under way is forgotten when the job looks at the site",
    ("fabric.transfers.secondary_data.bring", "missing = 1.0 -> missing = 2.0"): "of no source any part is too much",
    ("fabric.transfers.secondary_data.bunch_for", "key_of_attempt(transfer['luck'], secondary['luck'], 0) -> "
     "key_of_attempt(transfer['luck'], secondary['luck'], 1)"): "any number that all attempts share",
    ("policy.tasks.commands.asks_for_history", "name.split('.', 1) -> name.split('.', 2)"): "no key holds a dot",
    ("policy.tasks.cutting.begin", "job['ranged_name'] = job['name'] = job['boundary'] = job['lumiblock'] = "
     "job['field'] = -1 -> job['ranged_name'] = job['name'] = job['boundary'] = job['lumiblock'] = job['field'] = -2"):
        "any number below 0 is unknown",
    ("policy.tasks.cutting.begin", "(-1, -1, 0) -> (-2, -1, 0)"): "the first step sets both",
    ("policy.tasks.cutting.begin", "(-1, -1, 0) -> (-1, -2, 0)"): "the first step sets both",
    ("policy.tasks.cutting.take_master", "job['least'] = job['most'] = -1 -> job['least'] = job['most'] = -2"):
        "any number below 0 is no boundary",
    ("policy.tasks.cutting.take_master", "max(ends - at, 0) -> max(ends - at, 1)"): "there is a piece to take",
    ("policy.tasks.cutting.look_beside", "dataset['per_job'] >= 0 -> dataset['per_job'] > 0"): "np is at least 1",
    ("policy.tasks.cutting.look_beside", "dataset['per_job'] >= 0 -> dataset['per_job'] >= 1"): "np is at least 1",
    ("policy.tasks.cutting.wanted_of", "return -1 -> return -2"): "any number below 0 is no number of files",
    ("world.views.tasks.whole", "part > COMPLETE -> part >= COMPLETE"): "no sum is precisely the bound",
    ("world.data.datasets.master_bytes", "len(world.job_inputs) > 0 -> len(world.job_inputs) > 1"):
        "there are as many rows as there may be jobs",
    ("policy.tasks.cutting.wanted_of", "dataset['per_job'] >= 0 -> dataset['per_job'] >= 1"): "np is at least 1",
    ("policy.tasks.cutting.wanted_of", "dataset['per_job'] >= 0 -> dataset['per_job'] > 0"): "np is at least 1",
    ("policy.tasks.cutting.broken", "output < limits['least_output_bytes'] -> output <= limits['least_output_bytes']"):
        "with as much output the size itself was compared before",
    ("policy.tasks.data_carousel._left_over", "left <= 0 -> left < 0"):
        "nothing is left only if each share has its part, and then no share is without and none of the others fits",
    ("policy.users.classes.site_classes", "(0.0, 0.0) -> (1.0, 0.0)"): "both are raised to HI_S and LO_S",
    ("policy.users.classes.site_classes", "(0.0, 0.0) -> (0.0, 1.0)"): "both are raised to HI_S and LO_S",
    ("policy.users.classes.upper_limits", "deviation > 0 -> deviation >= 0"): "without a spread nothing is added",
    ("policy.users.classes.upper_limits", "degrees > 0 -> degrees >= 0"): "without a wait there is no mean either",
    ("policy.users.classes.has_class", "np.maximum(found.upper_s, found.long_s) -> "
     "np.minimum(found.upper_s, found.long_s)"): "either is NaN if one of the two is",
    ("policy.users.limits.exceeded", "np.where(exceeds.any(axis=0), exceeds.argmax(axis=0), -1) -> "
     "np.where(exceeds.any(axis=0), exceeds.argmax(axis=0), -2)"): "any number below 0 is no limit",
    ("policy.users.limits.may_matter", "initial=0 -> initial=1"): "no cap is below 1",
    ("policy.users.limits.boosts", "np.maximum(known.sum(axis=0), 1) -> np.maximum(known.sum(axis=0), 2)"):
        "the only owner at a queue is never below its mean",
    ("policy.users.limits.owners", "np.where(is_named[group], group.astype(np.int64), -1) -> "
     "np.where(is_named[group], group.astype(np.int64), -2)"): "any number below 0 is no group",
    ("policy.queues._no_type", "n=1 -> n=2"): "only the nearest type is named",
    ("policy.queues._unknown", "n=1 -> n=2"): "only the nearest key is named",
    ("policy.tasks.throttle.throttle", "missing > bunch -> missing >= bunch"): "equal numbers are not changed",
    ("fabric.jobs.submission.give_files", "bad >= 0 -> bad > 0"): "the dice have found that the first piece is bad",
    ("fabric.jobs.submission.give_files", "bad >= 0 -> bad >= 1"): "the dice have found that the first piece is bad",
    ("fabric.jobs.submission.give_files", "np.int64(-1) -> np.int64(-2)"): "no file comes before the first",
    ("world.tasks.input_files.fill_pieces", "n < most -> n <= most"): "room is looked for piece by piece, too",
    ("world.tasks.input_files.spread_factor", "sigma <= 0 -> sigma < 0"): "without a spread the factor is 1",
    ("world.tasks.input_files.spread_factor", "uniform(seed, stream, task['luck'], chunk, 0) -> "
     "uniform(seed, stream, task['luck'], chunk, 1)"): "any number that all attempts at a chunk share",
}
