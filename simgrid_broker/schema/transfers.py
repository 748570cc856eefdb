"""The table of transfers, of those in the world and of recorded ones."""

from simgrid_broker.schema.attribute import Column, Table

OURS = "simulator"

TRANSFERS = Table("transfers", "files that move together over one link", (
    Column("transfer_id", "i8", "", OURS, "Identifier, counted from 1"),
    Column("bytes", "f8", "bytes", OURS, "Size of the files that have arrived or will; of a job that ended before, "
           "what it had read"),
    Column("submitted_s", "f8", "s", OURS, "When the transfer was asked for"),
    Column("started_s", "f8", "s", OURS, "When its first byte moved; null = none did"),
    Column("ended_s", "f8", "s", OURS, "When its last file had arrived, or the rest was given up; null = it was under "
           "way at the end"),
    Column("finish_tag", "f8", "bytes/file", OURS, "Value of the link's clock at which it ends", recorded=False),
    Column("attempt_s", "f8", "s", OURS, "When the first byte of the present attempt moved", recorded=False),
    Column("left_bytes", "f8", "bytes", OURS, "Size of the files that have not arrived yet", recorded=False),
    Column("source_bytes", "f8", "bytes", OURS, "Size of its files of output that take space at its source",
           recorded=False),
    Column("jeditaskid", "i8", "", OURS, "Task"),
    Column("luck", "i8", "", OURS, "Key of its random draws, from the task, chunk and attempt of its first job",
           recorded=False),
    Column("look_sequence", "i8", "", OURS, "Sequence number of the server's next look for its output; 0 = none",
           zero_means="none", recorded=False),
    Column("link", "i4", "", OURS, "Link", recorded=False),
    Column("subdataset", "i4", "", OURS, "Sub-dataset of its output; -1 = none", recorded=False),
    Column("dataset", "i4", "", OURS, "Shared dataset to which the files belong; -1 = none", recorded=False),
    Column("first_job", "i4", "", OURS, "First job that awaits it; -1 = none", recorded=False),
    Column("next", "i4", "", OURS, "Next transfer in its list", recorded=False),
    Column("n_files", "i4", "files", OURS, "Files that have arrived or will"),
    Column("n_jobs", "i4", "jobs", OURS, "Jobs that await it"),
    Column("left_files", "i4", "files", OURS, "Files that have not arrived yet", recorded=False),
    Column("width", "i4", "files", OURS, "Files of it that move at once", recorded=False),
    Column("failed_files", "i4", "files", "FTS", "Attempts at its files that failed"),
    Column("attempt", "i4", "", OURS, "Attempts made so far"),
    Column("source", "i2", "", OURS, "Site it comes from", codes="sites"),
    Column("destination", "i2", "", OURS, "Site it goes to", codes="sites"),
    Column("kind", "i2", "", OURS, "Input, output, or reading by a running job", codes="transfer_kind"),
    Column("activity", "i2", "", "FTS", "Activity under which it uses its link", codes="activity"),
))
