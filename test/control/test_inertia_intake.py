"""Which inertias are applied; references are approached within their bounds."""

import numpy as np
import pytest

from inertial_estimation.control.health import REPORTED_NS, StepTimes, inertia_health
from inertial_estimation.control.inertia_intake import MAX_PENDING, InertiaIntake
from inertial_estimation.control.references import GAP_S, SmoothReference
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
def test_a_bad_inertia_is_refused_with_its_set_whatever_the_order_and_said(intake, bad, reason, first):
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


def test_a_stamp_an_hour_ahead_of_the_joints_shuts_out_no_next_ones_and_older_ones_are_refused(intake):
    intake.push(3600 * NANOSECONDS, inertia("torso"), NANOSECONDS)
    push_all(intake, 2 * NANOSECONDS)
    assert intake.pop() is not None
    push_all(intake, NANOSECONDS)
    push_all(intake, 2 * NANOSECONDS)
    assert intake.pop() is None
    assert intake.refused == {"stamp ahead": 1, "stamp not newer": 4}


def test_after_the_clock_was_set_back_inertias_are_taken_and_awaited_again(intake) -> None:
    back_ns, ages = -3600 * NANOSECONDS, (0.01, 0.02, 0.09, 0.11)
    push_all(intake, 3 * NANOSECONDS)
    assert intake.pop() is not None
    intake.push(4 * NANOSECONDS, inertia("torso"))
    push_all(intake, back_ns)
    assert intake.pop() is not None
    awaited = [intake.is_awaited(back_ns + round(age * NANOSECONDS), 0.015, 0.1) for age in ages]
    assert awaited == [False, True, True, False]
    intake.push(4 * NANOSECONDS, inertia("forearm"))
    assert intake.pop() is None, "the first of its links is of the clock before"


def test_health_tells_nominal_estimated_and_stopped(intake) -> None:
    assert health(intake, 0).level == HealthLevel.WARN
    push_all(intake, NANOSECONDS)
    intake.pop()
    assert health(intake, int(1.2 * NANOSECONDS)).level == HealthLevel.OK
    stopped = health(intake, 2 * NANOSECONDS)
    assert stopped.level == HealthLevel.WARN
    assert all(word in stopped.message for word in ("stopped", "kept"))


@pytest.mark.parametrize(
    ("what", "largest"), [("mass", 202.0), ("distance", 2.0), ("radius of gyration", 2.0)]
)
def test_inertias_are_plausible_up_to_twice_the_robot_and_two_metres(what, largest) -> None:
    for value, fits in ((0.99 * largest, True), (1.01 * largest, False)):
        intake = InertiaIntake({"torso": 2.0}, total_mass=100.0)
        mass, distance, radius = (
            value if what == name else usual
            for name, usual in (("mass", 2.0), ("distance", 0.1), ("radius of gyration", 0.1))
        )
        moments = mass * radius**2 / 3.0 * np.eye(3)
        intake.push(1, LinkInertia("torso", mass, np.array([0.0, -distance, 0.0]), moments))
        assert (intake.pop() is not None) == fits
        assert fits or what in intake.refusal


def test_steps_longer_than_a_period_are_told_while_they_are_recent() -> None:
    times = StepTimes(0.003)
    for k in range(200):
        times.add(0.02 if k == 0 else 0.002, k)
    health = times.health(200)
    expected = {"overruns": "1", "longest [ms]": "20.00", "p99 [ms]": "2.00"}
    assert (health.level, health.values) == (HealthLevel.WARN, expected)
    assert times.health(REPORTED_NS + 1).level is HealthLevel.OK


@pytest.mark.parametrize(("mass", "reason"), [(2.0, "link missing"), (-1.0, "inconsistent")])
def test_incomplete_and_bad_sets_do_not_pile_up(intake, mass, reason) -> None:
    for k in range(1, 1000):
        intake.push(k * NANOSECONDS, inertia("torso", mass))
    assert len(intake._sets) <= MAX_PENDING
    assert intake.refused[reason] >= 999 - MAX_PENDING


H = 0.003
MAX_RATE, MAX_ACCELERATION = 2.0, 8.0


def positions(reference: SmoothReference, n: int) -> np.ndarray:
    found = []
    for _ in range(n):
        reference.step(H)
        found.append(reference.position.copy())
    return np.array(found)


@pytest.mark.parametrize("jump", [1e-3, 0.02, 0.5, 3.0])
def test_a_jump_is_approached_within_the_bounds_without_overshoot(jump: float) -> None:
    reference = SmoothReference(np.zeros(2), MAX_RATE, MAX_ACCELERATION)
    reference.set_target(np.array([jump, -jump]))
    path = positions(reference, 1000)
    rates = np.diff(path, axis=0, prepend=0.0) / H
    accelerations = np.diff(rates, axis=0, prepend=0.0) / H
    assert np.abs(path).max() <= jump + 1e-12
    assert np.abs(rates).max() <= MAX_RATE + 1e-9
    assert np.abs(accelerations).max() <= 1.25 * MAX_ACCELERATION  # the last step lands on the target
    np.testing.assert_array_equal(path[-1], [jump, -jump])
    np.testing.assert_array_equal(reference.rate, 0.0)


def test_a_jump_takes_about_the_shortest_time() -> None:
    reference = SmoothReference(np.zeros(1), MAX_RATE, MAX_ACCELERATION)
    reference.set_target(np.ones(1))
    arrival = H * np.argmax(positions(reference, 1000)[:, 0] == 1.0)
    assert arrival == pytest.approx(1.0 / MAX_RATE + MAX_RATE / MAX_ACCELERATION, abs=0.05)


def test_a_target_slower_than_the_bounds_is_followed_without_lag() -> None:
    reference = SmoothReference(np.zeros(1), MAX_RATE, MAX_ACCELERATION)
    lag, acceleration_error = [], []
    for k in range(1500):
        t = k * H
        target = 0.5 * np.sin(2.0 * t)
        reference.set_target(np.array([target]), np.array([np.cos(2.0 * t)]))
        reference.step(H)
        lag.append(abs(reference.position[0] - target))
        acceleration_error.append(abs(reference.acceleration[0] + 2.0 * np.sin(2.0 * t)))
    assert max(lag[500:]) < 1e-12
    assert max(acceleration_error[500:]) < 0.01
    assert max(lag) > 1e-3  # it had to catch up first


def test_the_rate_of_a_target_that_is_not_renewed_runs_out() -> None:
    reference = SmoothReference(np.zeros(2), MAX_RATE, MAX_ACCELERATION)
    reference.set_target(np.zeros(2), np.array([0.02, 0.0]))
    reference.step(H)
    assert reference.rate[0] == pytest.approx(0.02)
    for _ in range(int(3 * GAP_S / H)):
        reference.set_target(np.array([0.1]), which=np.array([1]))  # another one is
        reference.step(H)
    np.testing.assert_array_equal(reference.rate, 0.0)
    np.testing.assert_array_equal(reference.position, [0.0, 0.1])
