"""The report section on users: who has the cores, and who waits."""

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Note, Plot, Section, TableBlock, drawn_by, plot_or_note
from simgrid_broker.report.context import Context

MOST = 20
"""Users in the plot and in the table."""


def users(view: Context) -> Section:
    """Cores and waits of users with analysis tasks; one sentence if there are none."""
    rows = wide(metrics.users(view.run))
    if not len(rows):
        return Section("users", "Users", (Note("No user has an analysis task."),))
    cores = metrics.user_cores(view.run)
    cores = cores[cores.user.isin(rows.user.head(MOST))]
    fair = metrics.fairness(rows.cores.to_numpy(float))
    held = rows.throttled.sum()
    return Section("users", "Users", (
        plot_or_note(Plot(
            "users", "Cores of the largest users", cores,
            drawn_by("bars.stacked_bars", rows="user", parts="share", xlabel="mean running cores", most=MOST),
            f"The {min(MOST, len(rows))} largest of {len(rows):,} users by share. Jain's index of all users' cores is "
            f"{fair['jain']:.2f} (1: all have the same); the ten largest have {100 * fair['largest_ten']:.0f} %.",
            (10, 1.2 + 0.25 * min(MOST, len(rows)))), "no analysis job ran in the window.", "cores"),
        TableBlock("Users by size", wide(metrics.users_by_size(view.run)), "Waits from activated to running, h, of the "
                   "jobs that started in the window; waiting: jobs activated at the end."),
        TableBlock("Largest users", rows.head(MOST), "Tasks of users were throttled for "
                   f"{held:,.0f} h together." if held else "No task of a user was throttled.")))
