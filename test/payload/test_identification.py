"""The phases of an identification, with a method that does what the test wants."""

import math
from functools import partial

import numpy as np
import pytest
from support.standing_hyq import config

from inertial_estimation.payload.com_methods import ComStep
from inertial_estimation.payload.config import METHODS
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.payload.identification import Identification
from inertial_estimation.payload.readings import TrunkObservation, TrunkReading
from inertial_estimation.payload.statics import StaticMeasurement
from inertial_estimation.payload.trunk import IdentifiedTrunk, TrunkValue
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

NOMINAL_MASS, NOMINAL_COM = 60.0, np.array([0.05, 0.02, 0.0])
SIZE, ROBOT_MASS = 0.4, 80.0  # radius of gyration [m], [kg]: 2 kg are a load
FOUND = np.array([-0.05, 0.07, 0.01])
DT = 0.02


class Method:
    """Gives a result after some steps, by way of what `script` says."""

    def __init__(self, script, com_B, trunk_mass):
        self.script = list(script)
        self.began = com_B, trunk_mass
        self.steps = []

    def update(self, measurement, h):
        self.steps.append(h)
        return self.script[min(len(self.steps), len(self.script)) - 1]


def step(com_B=FOUND, **fields):
    return ComStep(com_B, np.full(3, 1e-3), 2e-3, **fields)


class Robot:
    """Shows an identification a robot."""

    def __init__(self, script, **changes):
        self.made = []
        self.script = script

        def factory(name, _config, com_B, trunk_mass):
            self.made.append((name, Method(self.script, com_B, trunk_mass)))
            return self.made[-1][1]

        methods = {name: partial(factory, name) for name in METHODS}
        nominal = TrunkValue(NOMINAL_MASS, NOMINAL_COM)
        trunk = IdentifiedTrunk(nominal, SIZE, nominal, nominal)
        self.identification = Identification(config(**changes), trunk, ROBOT_MASS, methods)
        self.mass = NOMINAL_MASS
        self.com_B = NOMINAL_COM
        self.tilt = (0.0, 0.0)
        self.at_rest = True
        self.arrived = True
        self.phases = []
        self.changes = []

    @property
    def method(self):
        return self.made[-1][1]

    def reading(self):
        R_WB = rotation_from_roll_pitch_yaw(*self.tilt, 0.0)
        seen_W = R_WB @ self.com_B
        seen_W[2] = 0.0
        forces = np.full(4, 0.25 * 9.81 * self.mass)
        forces_W = np.outer(forces, [0.0, 0.0, 1.0])
        measurement = StaticMeasurement(R_WB, np.zeros((4, 3)), forces_W, 20.0, np.zeros(3))
        return TrunkReading(measurement, self.mass, R_WB.T @ seen_W, self.tilt, 0.6)

    def run(self, duration, *, until=None):
        for _ in range(round(duration / DT)):
            reading = self.reading() if self.at_rest else None
            why = "" if reading else "the base moves with 0.2 m/s"
            observation = TrunkObservation(0, DT, self.at_rest, reading, why, self.arrived)
            change = self.identification.update(observation)
            if change is not None:
                self.changes.append(change.kind)
            if not self.phases or self.phases[-1] is not self.identification.phase:
                self.phases.append(self.identification.phase)
            if until is not None and self.identification.phase is until:
                return
        assert until is None, f"never {until}, phases {self.phases}"


def test_a_request_goes_through_all_phases():
    robot = Robot([step()] * 4 + [step(done=True)])
    robot.run(0.2)
    robot.identification.start()
    assert robot.identification.hold
    robot.mass = 61.0
    robot.run(2.0)
    assert robot.phases == [Phase.WATCHING, Phase.MASS, Phase.COM, Phase.RETURNING, Phase.WATCHING]
    identification = robot.identification
    assert identification.converged
    assert not identification.hold
    assert identification.posture.reference is None, "a method that asks no tilt moves no base"
    assert identification.trunk.value.mass == pytest.approx(61.0)
    np.testing.assert_array_equal(identification.trunk.value.com_B, FOUND)
    assert identification.trunk.target is identification.trunk.value
    assert robot.method.began[1] == pytest.approx(61.0), "the method is told the measured mass"
    assert sum(robot.method.steps) == pytest.approx(5 * DT)


def test_a_load_change_starts_it_or_is_only_told():
    for start, phase in (("on_change", Phase.SETTLING), ("on_request", Phase.WATCHING)):
        robot = Robot([step(done=True)], start=start)
        robot.mass = 70.0
        robot.run(0.1)
        assert robot.changes == ["loaded"]
        assert robot.identification.phase is phase
        assert (robot.identification.load_changes.unidentified is not None) or phase is Phase.SETTLING


def test_nothing_is_published_before_it_has_converged_unless_the_method_works_through_the_controller():
    for through in (False, True):
        robot = Robot([step(to_controller=through)])
        robot.identification.start()
        robot.run(2.0)
        assert robot.identification.phase is Phase.COM
        published = robot.identification.trunk.target.com_B
        np.testing.assert_array_equal(published, FOUND if through else NOMINAL_COM)


def test_a_method_through_the_controller_waits_for_its_value_to_arrive():
    robot = Robot([step(to_controller=True)])
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.run(0.04)
    robot.arrived = False
    fed = len(robot.method.steps)
    robot.run(1.0)
    assert len(robot.method.steps) == fed


def test_a_robot_never_at_rest_gives_up_says_why_and_keeps_its_trunk():
    robot = Robot([step(done=True)])
    robot.at_rest = False
    robot.identification.start()
    robot.run(9.9)
    assert robot.identification.phase is Phase.SETTLING
    robot.run(0.3)
    identification = robot.identification
    assert identification.phase is Phase.WATCHING, "nothing to return from, so no rest is waited for"
    assert "the base moves with 0.2 m/s" in identification.refusal
    assert not identification.converged
    assert identification.trunk.value.mass == NOMINAL_MASS


def test_flickering_rest_does_not_wait_for_ever():
    robot = Robot([step(done=True)])
    robot.identification.start()
    for _ in range(52):
        robot.at_rest = True
        robot.run(0.2)
        robot.at_rest = False
        robot.run(0.2)
    assert "for 10 s" in robot.identification.refusal


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (step(refusal="the posture controller integrates"), "integrates"),
        (step(np.array([math.nan, 0.0, 0.0]), done=True), "no number"),
        (step(), "has not converged in 60 s, 2.0 mm are left"),
    ],
)
def test_what_a_method_does_not_find_leaves_what_was_before(last, words):
    robot = Robot([step(to_controller=True), last], start="on_request")
    robot.identification.start()
    robot.mass = 70.0
    robot.run(62.0)
    identification = robot.identification
    assert words in identification.refusal
    assert identification.phase is Phase.WATCHING
    assert not identification.converged
    for trunk in (identification.trunk.value, identification.trunk.target):
        assert trunk.mass == NOMINAL_MASS
        np.testing.assert_array_equal(trunk.com_B, NOMINAL_COM)


@pytest.mark.parametrize(("mass", "words"), [(0.01, "stand"), (15.0, "hoist"), (190.0, "unit and sign")])
def test_an_impossible_mass_is_refused_with_its_likely_cause(mass, words):
    robot = Robot([step(done=True)])
    robot.mass = mass
    robot.identification.start()
    robot.run(1.0)
    assert words in robot.identification.refusal
    assert robot.made == []
    assert robot.changes == [], "what cannot be is no load either"
    assert robot.identification.trunk.value.mass == NOMINAL_MASS


def test_cancelling_keeps_what_was_before_without_a_refusal():
    robot = Robot([step(to_controller=True)])
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.run(0.1)
    robot.identification.cancel()
    robot.run(0.1)
    identification = robot.identification
    assert (identification.phase, identification.refusal) == (Phase.WATCHING, "")
    np.testing.assert_array_equal(identification.trunk.target.com_B, NOMINAL_COM)


def test_a_load_that_comes_during_an_identification_begins_it_anew():
    robot = Robot([step()] * 60 + [step(done=True)], start="on_request")
    robot.identification.start("static_poses")
    robot.run(1.0, until=Phase.COM)
    robot.mass = 66.0
    robot.run(0.1)
    assert robot.changes == ["loaded"]
    assert robot.identification.phase is Phase.SETTLING
    robot.run(3.0, until=Phase.RETURNING)
    assert [name for name, _ in robot.made] == ["static_poses"] * 2
    assert robot.identification.trunk.value.mass == pytest.approx(66.0)


def test_a_load_during_the_averaging_is_not_averaged_in():
    robot = Robot([step(done=True)], start="on_request")
    robot.identification.start()
    robot.run(0.06)
    assert robot.identification.phase is Phase.MASS
    robot.mass = 70.0
    robot.run(2.0, until=Phase.RETURNING)
    assert robot.identification.trunk.value.mass == pytest.approx(70.0)


def test_a_reset_while_the_base_is_tilted_asks_it_back():
    robot = Robot([step(tilt=(0.1, 0.0))] * 50)
    robot.run(0.1)
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.run(DT)
    assert robot.identification.posture.reference.roll == 0.1
    robot.identification.reset()
    asked = robot.identification.posture.reference
    assert (asked.height, asked.roll, asked.pitch) == (pytest.approx(0.6), 0.0, 0.0)
    robot.identification.reset()
    assert robot.identification.posture.reference is None, "nothing was asked since"


def test_a_tilt_is_asked_for_at_the_height_before_and_the_end_is_level():
    robot = Robot([step(tilt=(0.1, 0.0))] * 3 + [step(done=True, tilt=(0.1, 0.0))])
    robot.run(0.1)
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.run(DT)
    asked = robot.identification.posture.reference
    assert (asked.height, asked.roll, asked.pitch) == (pytest.approx(0.6), 0.1, 0.0)
    robot.tilt = (0.1, 0.0)
    robot.run(3.0, until=Phase.RETURNING)
    assert robot.identification.posture.reference.roll == 0.0
    robot.run(2.0)
    assert robot.identification.phase is Phase.RETURNING, "the base is still tilted"
    robot.tilt = (0.0, 0.0)
    robot.run(0.1)
    assert robot.identification.phase is Phase.WATCHING
    assert robot.identification.converged


def test_a_load_up_high_does_not_shift_by_the_tilt_that_is_asked_for():
    asked = step(tilt=(0.3, 0.0))
    robot = Robot([asked] * 20 + [step(done=True)], start="on_request")
    robot.com_B = NOMINAL_COM + np.array([0.0, 0.0, 0.2])  # 0.2 sin(0.3) is twice what counts as a shift
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.run(DT)
    robot.tilt = (0.3, 0.0)
    robot.run(3.0, until=Phase.RETURNING)
    robot.tilt = (0.0, 0.0)
    robot.run(1.0)
    assert robot.changes == []
    assert robot.identification.converged


def test_a_base_at_rest_in_its_old_posture_is_not_taken_for_one_in_the_new():
    robot = Robot([step(tilt=(0.1, 0.0))] * 1000)
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.run(0.5)
    assert len(robot.method.steps) == 1, "the controller has not even begun to tilt"
    robot.at_rest = False
    robot.run(0.2)
    robot.at_rest = True
    robot.run(0.2)
    assert len(robot.method.steps) > 5


def test_a_result_that_turns_the_base_is_found_again_there():
    robot = Robot([step(done=True)])
    robot.tilt = (0.15, -0.05)
    robot.identification.start()
    robot.run(1.0, until=Phase.RETURNING)
    assert not robot.identification.converged, "one result is not the last"
    robot.tilt = (0.0, 0.0)
    robot.run(2.0)
    assert robot.identification.converged
    assert len(robot.made) == 2
    np.testing.assert_array_equal(robot.method.began[0], FOUND)


def test_a_robot_whose_legs_are_modelled_wrong_is_identified_once():
    robot = Robot([step(done=True)])
    robot.mass, robot.com_B = 70.0, FOUND + np.array([0.05, 0.0, 0.0])  # not what the method says
    robot.run(10.0)
    assert robot.changes == ["loaded"]
    assert robot.identification.phase is Phase.WATCHING


def test_method_of_a_request_holds_this_time_only():
    robot = Robot([step(done=True)], method="contact_forces")
    robot.identification.start("static_poses")
    robot.run(2.0)
    robot.identification.start()
    robot.run(2.0)
    assert [name for name, _ in robot.made] == ["static_poses", "contact_forces"]


def test_a_gap_begins_the_identification_anew():
    robot = Robot([step()])
    robot.identification.start()
    robot.run(1.0, until=Phase.COM)
    robot.identification.interrupt()
    assert robot.identification.phase is Phase.SETTLING


def test_a_robot_that_stood_tilted_is_given_that_posture_back_not_the_one_a_load_left_it_in():
    slope, sag = (0.02, -0.17), (0.05, -0.3)
    robot = Robot([step(tilt=(0.0, 0.0))] * 3 + [step(done=True, tilt=(0.0, 0.0))])
    robot.tilt = slope
    robot.run(0.2)
    robot.tilt, robot.mass = sag, 70.0
    robot.run(1.0, until=Phase.COM)
    robot.run(DT)
    asked = robot.identification.posture.reference
    assert (asked.roll, asked.pitch) == (0.0, 0.0), "the method wants it level"
    robot.tilt = (0.0, 0.0)
    robot.run(3.0, until=Phase.RETURNING)
    robot.run(1.0)
    asked = robot.identification.posture.reference
    assert (asked.roll, asked.pitch) == slope
    assert robot.identification.phase is Phase.RETURNING
    robot.tilt = slope
    robot.run(0.1)
    assert robot.identification.converged


def test_a_posture_under_a_load_that_was_refused_is_none_to_return_to():
    asks = step(tilt=(0.1, 0.0))
    robot = Robot([step(refusal="no")])
    robot.run(0.2)
    robot.mass, robot.tilt = 70.0, (0.0, 0.2)
    robot.run(2.0)
    assert robot.identification.refusal == "no"
    robot.script = [asks, step(refusal="no")]
    robot.identification.start()
    robot.run(2.0, until=Phase.RETURNING)
    assert (robot.identification.posture.reference.roll, robot.identification.posture.reference.pitch) == (
        0.0,
        0.0,
    )


@pytest.mark.parametrize("disturbance", ["load", "gap"])
def test_what_goes_on_changing_holds_no_robot_for_ever(disturbance):
    robot = Robot([step()], start="on_request")
    robot.identification.start()
    for k in range(30):
        robot.run(1.0)
        if disturbance == "load":
            robot.mass = 60.0 + 10.0 * (k % 2)
        else:
            robot.identification.interrupt()
        robot.run(0.5)
        if not robot.identification.hold:
            break
    assert not robot.identification.hold
    assert "begun anew 10 times" in robot.identification.refusal
    assert robot.identification.trunk.target.mass == NOMINAL_MASS


def test_a_slow_hand_over_is_waited_for():
    robot = Robot([step(done=True)])
    robot.identification.start()
    robot.run(1.0, until=Phase.RETURNING)
    robot.arrived = False
    robot.run(20.0)
    assert not robot.identification.converged, "converged means published"
    robot.arrived = True
    robot.run(0.1)
    assert robot.identification.converged


def test_a_request_repeated_and_cancelled_does_not_hide_a_difference():
    robot = Robot([step()], start="on_request")
    robot.identification.start()
    robot.mass = 70.0
    robot.run(0.2)
    assert robot.identification.phase is Phase.MASS
    robot.identification.start()
    robot.run(0.2)
    robot.identification.cancel()
    robot.run(1.0)
    assert robot.changes == ["loaded"]


def test_a_second_look_that_fails_leaves_the_first_result_in_force():
    robot = Robot([step(done=True)])
    robot.run(0.1)
    robot.mass, robot.com_B, robot.tilt = 70.0, FOUND, (0.1, 0.0)
    robot.run(2.0, until=Phase.RETURNING)
    robot.script = [step(refusal="no")]
    robot.tilt = (0.0, 0.0)
    robot.run(3.0)
    identification = robot.identification
    assert identification.refusal == "no"
    assert identification.trunk.target.mass == pytest.approx(70.0)
    assert identification.load_changes.unidentified is None
    assert robot.changes == ["loaded"]


def test_a_refused_load_taken_off_again_leaves_nothing_to_identify():
    robot = Robot([step(refusal="no")])
    robot.run(0.2)
    robot.mass = 70.0
    robot.run(2.0)
    assert robot.identification.refusal == "no"
    robot.mass = NOMINAL_MASS
    robot.run(2.0)
    assert robot.changes == ["loaded", "unloaded"]
    assert len(robot.made) == 1
    assert robot.identification.refusal == ""
