import numpy as np
import pytest

from inertial_estimation.control.health import inertia_health
from inertial_estimation.control.inertia_intake import MAX_PENDING, InertiaIntake
from inertial_estimation.signals import NANOSECONDS, HealthLevel, LinkInertia

LINKS = ("torso", "forearm")


def inertia(link: str, mass: float = 2.0, moments: tuple[float, ...] = (0.1, 0.1, 0.1)) -> LinkInertia:
    return LinkInertia(link, mass, np.zeros(3), np.diag(moments))


@pytest.fixture
def intake() -> InertiaIntake:
    return InertiaIntake(dict.fromkeys(LINKS, 2.0), total_mass=100.0)


def push_all(intake: InertiaIntake, stamp_ns: int, mass: float = 2.0) -> None:
    for link in LINKS:
        intake.push(stamp_ns, inertia(link, mass))


def health(intake: InertiaIntake, now_ns: int):
    return inertia_health(intake, 0.5, now_ns, used=True)


def test_a_set_is_given_once_all_its_links_are_there_and_only_once(intake) -> None:
    intake.push(NANOSECONDS, inertia("torso"))
    assert intake.pop() is None
    intake.push(NANOSECONDS, inertia("forearm"))
    assert set(intake.pop()) == set(LINKS)
    assert intake.pop() is None
    assert intake.applied_ns == NANOSECONDS


def test_links_of_different_stamps_are_never_mixed_and_the_newest_complete_set_wins(intake) -> None:
    intake.push(NANOSECONDS, inertia("torso"))
    intake.push(2 * NANOSECONDS, inertia("forearm"))
    assert intake.pop() is None
    intake.push(2 * NANOSECONDS, inertia("torso", 3.0))
    push_all(intake, 3 * NANOSECONDS, 4.0)
    assert intake.pop()["torso"].mass == 4.0
    assert intake.pop() is None
    assert intake.refused == {"link missing": 1}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (inertia("torso", mass=-1.0), "inconsistent"),
        (inertia("torso", moments=(0.1, 0.1, 0.3)), "inconsistent"),
        (LinkInertia("torso", 1.0, np.zeros(2), np.eye(3)), "inconsistent"),
        (inertia("torso", mass=1e4), "implausible"),
        (LinkInertia("torso", 2.0, np.array([50.0, 0.0, 0.0]), np.eye(3)), "implausible"),
        (inertia("nose"), "link not expected"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_bad_inertia_is_refused_with_its_set_whatever_the_order_and_said(
    intake, bad, reason, first
) -> None:
    push_all(intake, NANOSECONDS)
    assert intake.pop() is not None
    for one in (bad, inertia("forearm")) if first else (inertia("forearm"), bad):
        intake.push(2 * NANOSECONDS, one)
    if reason != "link not expected":
        intake.push(2 * NANOSECONDS, inertia("torso"))
    assert intake.pop() is None
    assert intake.applied_ns == NANOSECONDS
    assert intake.refused[reason] == 1
    assert reason in health(intake, 2 * NANOSECONDS).values["last refusal"]
    push_all(intake, 3 * NANOSECONDS)
    assert intake.pop() is not None


def test_a_stamp_an_hour_ahead_of_the_joints_does_not_shut_out_the_next_ones(intake) -> None:
    intake.push(3600 * NANOSECONDS, inertia("torso"), NANOSECONDS)
    push_all(intake, 2 * NANOSECONDS)
    assert intake.pop() is not None
    assert intake.refused == {"stamp ahead": 1}


def test_older_stamps_are_refused(intake) -> None:
    push_all(intake, 2 * NANOSECONDS)
    intake.pop()
    push_all(intake, NANOSECONDS)
    push_all(intake, 2 * NANOSECONDS)
    assert intake.pop() is None
    assert intake.refused["stamp not newer"] == 4


def test_health_tells_nominal_estimated_and_stopped(intake) -> None:
    assert health(intake, 0).level == HealthLevel.WARN
    push_all(intake, NANOSECONDS)
    intake.pop()
    assert health(intake, int(1.2 * NANOSECONDS)).level == HealthLevel.OK
    stopped = health(intake, 2 * NANOSECONDS)
    assert stopped.level == HealthLevel.WARN
    assert "stopped" in stopped.message
    assert "kept" in stopped.message


@pytest.mark.parametrize(("mass", "reason"), [(2.0, "link missing"), (-1.0, "inconsistent")])
def test_incomplete_and_bad_sets_do_not_pile_up(intake, mass, reason) -> None:
    for k in range(1, 1000):
        intake.push(k * NANOSECONDS, inertia("torso", mass))
    assert len(intake._sets) <= MAX_PENDING
    assert intake.refused[reason] >= 999 - MAX_PENDING
