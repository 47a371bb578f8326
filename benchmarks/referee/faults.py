"""Faults in the readings: counts of the fault campaign for all pipelines, also from the first reading on."""

from benchmarks.fault_campaign import run_campaign
from benchmarks.referee.row import Better, Row

CASES = 2  # number of cases of each kind
COLUMNS = {  # columns of the campaign, and their names in the table
    "escapes": "exceptions that escaped",
    "wrongly_ok": "wrong while health says OK",
    "moved": "masses or estimates moved beyond their bound",
    "silent": "silent",
    "not_recovered": "not recovered",
    "late": "with steps longer than a period",
    "time_wrong_s": "time wrong",
}


def campaign_rows(seed: int, early: bool, jobs: int) -> list[Row]:
    """Run the campaign and return its counts for each pipeline.

    The spread of a count of rare cases is its square root, by which it varies from seed to seed; the time in
    which outputs are wrong varies by a third.
    """
    rows = []
    for pipeline, found in run_campaign(seed, CASES, early, jobs).items():
        note = f"of {found['counted']:g} cases, {CASES} of a kind"
        for column, text in COLUMNS.items():
            value, timed = float(found[column]), column == "time_wrong_s"
            spread = value / 3.0 if timed else max(1.0, value**0.5)
            key = f"{'from the first reading on, ' * early}{pipeline}: {text}"
            rows.append(Row(key, value, "s" * timed, Better.LOWER, spread, note))
    return rows
