"""Strays between the readings of one clock change nothing of what continues from stamp to stamp."""

from inertial_estimation.models.clock_branches import ClockBranches

MS = 1_000_000


class Memory:
    """Counts the stamps since it began."""

    def __init__(self):
        self.count = 0

    def reset(self):
        self.count = 0


def test_two_publishers_on_two_clocks_have_a_state_each():
    branches = ClockBranches(Memory, Memory.reset)
    for k in range(50):
        for clock_ns in (0, 10**12):
            assert branches.step_to(clock_ns + k * MS, 100 * MS) == (MS if k else 0)
            branches.current.count += 1
            assert branches.current.count == k + 1


def test_after_a_jump_the_state_begins_anew_and_late_stamps_are_refused():
    branches = ClockBranches(Memory, Memory.reset)
    for stamp_ns, expected in ((5, 0), (6, 1), (6, None), (3, None), (1000, 0), (1001, 1), (500, 0)):
        assert branches.step_to(stamp_ns, 100) == expected
