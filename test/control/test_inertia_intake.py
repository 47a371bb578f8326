import numpy as np
import pytest

from inertial_estimation.control.inertia_intake import InertiaIntake
from inertial_estimation.control.inertia_limits import InertiaLimits
from inertial_estimation.control.safety_config import InertiaLimitsConfig
from inertial_estimation.signals import NANOSECONDS, HealthLevel, LinkInertia

LINKS = ("torso", "forearm")


def inertia(link: str, mass: float = 2.0, moments: tuple[float, ...] = (0.1, 0.1, 0.1)) -> LinkInertia:
    return LinkInertia(link, mass, np.zeros(3), np.diag(moments))


@pytest.fixture
def intake() -> InertiaIntake:
    limits = InertiaLimits(dict.fromkeys(LINKS, 2.0), total_mass=100.0, config=InertiaLimitsConfig())
    return InertiaIntake(limits, timeout=0.5)


def push_all(intake: InertiaIntake, stamp_ns: int, mass: float = 2.0) -> None:
    for link in LINKS:
        intake.push(stamp_ns, inertia(link, mass))


def test_a_set_is_given_once_all_its_links_are_there_and_only_once(intake) -> None:
    intake.push(NANOSECONDS, inertia("torso"))
    assert intake.pop() is None
    intake.push(NANOSECONDS, inertia("forearm"))
    assert set(intake.pop()) == set(LINKS)
    assert intake.pop() is None
    assert intake.applied_stamp_ns == NANOSECONDS


def test_links_of_different_stamps_are_never_mixed(intake) -> None:
    intake.push(NANOSECONDS, inertia("torso"))
    intake.push(2 * NANOSECONDS, inertia("forearm"))
    assert intake.pop() is None
    intake.push(2 * NANOSECONDS, inertia("torso", 3.0))
    assert intake.pop()["torso"].mass == 3.0
    assert intake.refused["link missing"] == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (inertia("torso", mass=-1.0), "inconsistent"),
        (inertia("torso", moments=(0.1, 0.1, 0.3)), "inconsistent"),
        (inertia("torso", mass=np.nan), "inconsistent"),
        (LinkInertia("torso", 1.0, np.zeros(2), np.eye(3)), "inconsistent"),
        (inertia("nose"), "link not expected"),
    ],
)
def test_a_bad_inertia_is_refused_and_said(intake, bad, reason) -> None:
    push_all(intake, NANOSECONDS)
    kept = intake.pop()
    intake.push(2 * NANOSECONDS, bad)
    intake.push(2 * NANOSECONDS, inertia("forearm"))
    assert intake.pop() is None
    assert intake.applied_stamp_ns == NANOSECONDS
    assert kept is not None
    assert intake.refused[reason] == 1
    assert reason in intake.health(2 * NANOSECONDS).values["last refusal"]


def test_one_bad_link_spoils_its_stamp_whatever_the_order(intake) -> None:
    intake.push(NANOSECONDS, inertia("forearm"))
    intake.push(NANOSECONDS, inertia("torso", mass=-1.0))
    intake.push(NANOSECONDS, inertia("torso"))
    assert intake.pop() is None
    push_all(intake, 2 * NANOSECONDS)
    assert intake.pop() is not None


def test_older_stamps_are_refused(intake) -> None:
    push_all(intake, 2 * NANOSECONDS)
    intake.pop()
    push_all(intake, NANOSECONDS)
    push_all(intake, 2 * NANOSECONDS)
    assert intake.pop() is None
    assert intake.refused["stamp not newer"] == 4


def test_the_newest_of_several_sets_wins(intake) -> None:
    push_all(intake, NANOSECONDS, 1.0)
    push_all(intake, 2 * NANOSECONDS, 2.0)
    assert intake.pop()["torso"].mass == 2.0
    assert intake.pop() is None


def test_health_tells_nominal_estimated_and_stopped(intake) -> None:
    assert intake.health(0).level == HealthLevel.WARN
    push_all(intake, NANOSECONDS)
    intake.pop()
    assert intake.health(int(1.2 * NANOSECONDS)).level == HealthLevel.OK
    stopped = intake.health(2 * NANOSECONDS)
    assert stopped.level == HealthLevel.WARN
    assert "stopped" in stopped.message
    assert "kept" in stopped.message


def test_a_set_that_was_refused_is_told_of_but_newer_ones_are_in_force(intake) -> None:
    intake.push(NANOSECONDS, inertia("torso"))
    push_all(intake, 2 * NANOSECONDS)
    intake.pop()
    push_all(intake, 2 * NANOSECONDS + 1000)
    intake.pop()
    health = intake.health(2 * NANOSECONDS + 2000)
    assert health.level == HealthLevel.WARN
    assert health.message.startswith("newer inertias are in force, lately refused link missing")


def test_incomplete_sets_do_not_pile_up(intake) -> None:
    for k in range(500):
        intake.push(k + 1, inertia("torso"))
    assert intake.refused["link missing"] > 400


def test_a_burst_of_complete_sets_is_no_fault(intake) -> None:
    for k in range(1, 200):
        push_all(intake, k * NANOSECONDS, mass=1.0 + k)
    assert not intake.refused
    assert intake.pop()["torso"].mass == 200.0


def test_bad_sets_do_not_pile_up(intake) -> None:
    for k in range(1, 1000):
        intake.push(k * NANOSECONDS, inertia("torso", mass=-1.0))
    assert len(intake._bad) <= 32
    assert intake.refused["inconsistent"] == 999
    intake.push(999 * NANOSECONDS, inertia("forearm"))
    assert intake.pop() is None, "its partner was bad"
