"""The phases of an identification, with a method that does what the test wants."""

import math
from functools import partial

import numpy as np
import pytest
from support.standing_robot import config

from inertial_estimation.payload.com_methods import ComStep
from inertial_estimation.payload.config import METHODS
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.payload.identification import MOST_PASSES, Identification
from inertial_estimation.payload.statics import StaticMeasurement, TrunkObservation, TrunkReading
from inertial_estimation.payload.trunk import IdentifiedTrunk, TrunkValue
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

NOMINAL_MASS, NOMINAL_COM = 60.0, np.array([0.05, 0.02, 0.0])
SIZE, ROBOT_MASS = 0.4, 80.0  # radius of gyration [m], [kg]: 2 kg are a load
FOUND = np.array([-0.05, 0.07, 0.01])
LEVEL = (0.0, 0.0)
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


DONE, REFUSED = step(done=True), step(refusal="no")


class Robot:
    """Shows an identification a robot."""

    def __init__(self, *script, **changes):
        self.made, self.script = [], script

        def factory(name, com_B, trunk_mass):
            self.made.append((name, Method(self.script, com_B, trunk_mass)))
            return self.made[-1][1]

        methods = {name: partial(factory, name) for name in METHODS}
        nominal = TrunkValue(NOMINAL_MASS, NOMINAL_COM)
        trunk = IdentifiedTrunk(nominal, SIZE, nominal, nominal)
        self.identification = Identification(config(**changes), trunk, ROBOT_MASS, methods)
        self.mass, self.com_B, self.tilt = NOMINAL_MASS, NOMINAL_COM, LEVEL
        self.at_rest = self.arrived = True
        self.phases, self.changes = [], []

    @property
    def method(self):
        return self.made[-1][1]

    @property
    def phase(self):
        return self.identification.phase

    @property
    def asked(self):
        reference = self.identification.posture.reference
        return None if reference is None else (reference.roll, reference.pitch)

    def reading(self):
        R_WB = rotation_from_roll_pitch_yaw(*self.tilt, 0.0)
        seen_W = R_WB @ self.com_B
        seen_W[2] = 0.0
        forces_W = np.outer(np.full(4, 0.25 * 9.81 * self.mass), [0.0, 0.0, 1.0])
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
            if not self.phases or self.phases[-1] is not self.phase:
                self.phases.append(self.phase)
            if until is not None and self.phase is until:
                return self
        assert until is None, f"never {until}, phases {self.phases}"
        return self

    def start(self, method="", *, until=None):
        self.identification.start(method)
        return self if until is None else self.run(1.0, until=until)


def assert_nominal(robot):
    for trunk in (robot.identification.trunk.value, robot.identification.trunk.target):
        assert trunk.mass == NOMINAL_MASS
        np.testing.assert_array_equal(trunk.com_B, NOMINAL_COM)


def test_a_request_goes_through_all_phases():
    robot = Robot(*[step()] * 4, DONE).run(0.2).start()
    identification = robot.identification
    assert identification.hold
    robot.mass = 61.0
    robot.run(2.0)
    assert robot.phases == [Phase.WATCHING, Phase.MASS, Phase.COM, Phase.RETURNING, Phase.WATCHING]
    assert (identification.converged, identification.hold) == (True, False)
    assert robot.asked is None, "a method that asks no tilt moves no base"
    assert identification.trunk.value.mass == pytest.approx(61.0)
    np.testing.assert_array_equal(identification.trunk.value.com_B, FOUND)
    assert identification.trunk.target is identification.trunk.value
    assert robot.method.began[1] == pytest.approx(61.0), "the method is told the measured mass"
    assert sum(robot.method.steps) == pytest.approx(5 * DT)


@pytest.mark.parametrize("through", [False, True])
def test_nothing_is_published_before_it_has_converged_unless_the_method_works_through_the_controller(through):
    robot = Robot(step(to_controller=through)).start(until=Phase.COM).run(0.1)
    published = robot.identification.trunk.target.com_B
    np.testing.assert_array_equal(published, FOUND if through else NOMINAL_COM)
    fed, robot.arrived = len(robot.method.steps), False
    robot.run(1.0)
    assert (len(robot.method.steps) == fed) == through, "it waits for its value to arrive"
    robot.identification.cancel()
    robot.arrived = True
    robot.run(0.1).identification.cancel()  # nothing is under way
    assert (robot.phase, robot.identification.refusal) == (Phase.WATCHING, "")
    assert robot.identification.ended == "cancelled"
    assert_nominal(robot)


def test_a_robot_never_at_rest_gives_up_says_why_and_keeps_its_trunk():
    robot = Robot(DONE).start()
    robot.at_rest = False
    assert robot.run(9.9).phase is Phase.SETTLING
    robot.run(0.3)
    assert robot.phase is Phase.WATCHING, "nothing to return from, so no rest is waited for"
    assert "the base moves with 0.2 m/s" in robot.identification.refusal
    assert not robot.identification.converged
    assert_nominal(robot)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (step(refusal="the posture controller integrates"), "integrates"),
        (step(np.array([math.nan, 0.0, 0.0]), done=True), "not finite"),
        (step(), "has not converged in 60 s, 2.0 mm are left"),
    ],
)
def test_what_a_method_does_not_find_leaves_what_was_before(last, words):
    robot = Robot(step(to_controller=True), last, start="on_request").start()
    robot.mass = 70.0
    robot.run(60.0)
    assert (robot.phase is Phase.COM) == ("60 s" in words), "it has as much time as it says"
    robot.run(1.0)
    assert words in robot.identification.refusal
    assert (robot.phase, robot.identification.converged) == (Phase.WATCHING, False)
    assert_nominal(robot)


@pytest.mark.parametrize(("mass", "words"), [(15.0, "hoist"), (190.0, "unit and sign")])
def test_an_impossible_mass_is_refused_with_its_likely_cause(mass, words):
    robot = Robot(DONE)
    robot.mass = mass
    robot.start().run(1.0)
    assert words in robot.identification.refusal
    assert (robot.made, robot.changes) == ([], []), "what cannot be is no load either"
    assert_nominal(robot)
    trunk = robot.identification.trunk
    assert not any(trunk.implausible(mass) for mass in (3.0 * NOMINAL_MASS, NOMINAL_MASS / 3.0)), "not beyond"


def test_an_unknown_height_that_shows_on_a_base_still_tilted_after_cancelling_is_no_load_but_weight_is():
    robot = Robot(step(tilt=(0.1, 0.0)), start="on_request")
    robot.com_B = np.array([*NOMINAL_COM[:2], 0.5])
    robot.run(0.2).start(until=Phase.COM).run(DT)
    robot.tilt = (0.1, 0.0)
    robot.run(0.5).identification.cancel()
    assert robot.run(3.0).phase is Phase.RETURNING
    assert robot.changes == []
    robot.mass += 10.0
    assert robot.run(1.0).changes == ["loaded"]


@pytest.mark.parametrize("during", [Phase.MASS, Phase.COM])
def test_a_load_that_comes_during_an_identification_begins_it_anew(during):
    robot = Robot(*[step()] * 20, DONE, start="on_request").start("static_poses", until=during)
    robot.run(0.06)
    robot.mass = 70.0
    robot.run(0.1)
    assert (robot.changes, robot.phase) == (["loaded"], Phase.SETTLING)
    robot.run(3.0, until=Phase.RETURNING)
    assert {name for name, _ in robot.made} == {"static_poses"}
    assert robot.identification.trunk.value.mass == pytest.approx(70.0), "not averaged with the mass before"


def test_a_load_that_comes_while_the_posture_is_returned_to_begins_it_anew_where_there_is_a_result():
    tilted = (0.1, 0.0)
    robot = Robot(step(tilt=tilted), step(done=True, tilt=tilted), start="on_request")
    robot.run(0.1).start(until=Phase.COM).run(DT)
    robot.tilt = tilted
    robot.run(3.0, until=Phase.RETURNING).mass = 70.0
    robot.run(1.0, until=Phase.SETTLING).run(2.0, until=Phase.COM)
    assert robot.changes == ["loaded"]
    robot.identification.cancel()
    robot.mass = NOMINAL_MASS
    assert robot.run(2.0).phase is Phase.RETURNING
    assert (robot.changes, len(robot.made)) == (["loaded", "unloaded"], 2)


@pytest.mark.parametrize("anew", ["asked for again", "another load"])
def test_what_is_begun_anew_falls_back_to_what_was_before_the_first_time(anew):
    robot = Robot(step(to_controller=True), start="on_request").run(0.1).start(until=Phase.COM).run(0.1)
    robot.script, robot.mass = [REFUSED], 70.0 if anew == "another load" else NOMINAL_MASS
    if anew == "asked for again":
        robot.start()
    robot.run(2.0)
    assert robot.identification.refusal == "no"
    assert_nominal(robot)


def test_a_tilt_is_asked_for_at_the_height_before_and_the_end_is_level():
    robot = Robot(*[step(tilt=(0.1, 0.0))] * 3, step(done=True, tilt=(0.1, 0.0)))
    robot.run(0.1).start(until=Phase.COM).run(DT)
    assert robot.asked == (0.1, 0.0)
    assert robot.identification.posture.reference.height == pytest.approx(0.6)
    robot.tilt = (0.1, 0.0)
    robot.run(3.0, until=Phase.RETURNING)
    assert robot.asked == LEVEL
    assert robot.run(2.0).phase is Phase.RETURNING, "the base is still tilted"
    robot.tilt, robot.at_rest = LEVEL, False
    assert robot.run(2.0).phase is Phase.RETURNING, "and now it moves"
    robot.at_rest = True
    assert robot.run(0.1).phase is Phase.WATCHING
    assert robot.identification.converged


def test_a_base_at_rest_in_its_old_posture_is_not_taken_for_one_in_the_new():
    robot = Robot(step(tilt=(0.1, 0.0))).start(until=Phase.COM).run(0.5)
    assert len(robot.method.steps) == 1, "the controller has not even begun to tilt"
    for robot.at_rest in (False, True):
        robot.run(0.2)
    assert len(robot.method.steps) > 5


@pytest.mark.parametrize("turns", [1, MOST_PASSES - 1])
def test_a_result_that_turns_the_base_is_found_again_there_but_not_for_ever(turns):
    robot = Robot(DONE).start(until=Phase.RETURNING)
    for k in range(1, turns + 1):
        assert not robot.identification.converged, "one result is not the last"
        robot.tilt = (0.1 * k, -0.05)
        assert robot.run(0.06).phase is Phase.MASS
        robot.run(1.0, until=Phase.RETURNING)
        np.testing.assert_array_equal(robot.method.began[0], FOUND)
    if turns > 1:
        robot.tilt = LEVEL
    assert robot.run(0.06).identification.converged
    assert len(robot.made) == turns + 1


def test_a_second_look_that_fails_leaves_the_first_result_in_force():
    robot = Robot(DONE).run(0.1)
    robot.mass, robot.com_B, robot.tilt = 70.0, FOUND, (0.1, 0.0)
    robot.run(2.0, until=Phase.RETURNING)
    robot.script, robot.tilt = [REFUSED], LEVEL
    robot.run(3.0)
    assert robot.identification.refusal == "no"
    assert robot.identification.trunk.target.mass == pytest.approx(70.0)
    assert robot.identification.load_changes.unidentified is None
    assert robot.changes == ["loaded"]


def test_a_robot_that_stood_tilted_is_given_that_posture_back_not_the_one_a_load_left_it_in():
    slope, sag = (0.02, -0.17), (0.05, -0.3)
    robot = Robot(*[step(tilt=LEVEL)] * 3, step(done=True, tilt=LEVEL))
    robot.tilt = slope
    robot.run(0.2)
    robot.tilt, robot.mass = sag, 70.0
    robot.run(1.0, until=Phase.COM).run(DT)
    assert robot.asked == LEVEL, "the method wants it level"
    robot.tilt = LEVEL
    robot.run(3.0, until=Phase.RETURNING).run(1.0)
    assert (robot.asked, robot.phase) == (slope, Phase.RETURNING)
    robot.tilt = slope
    assert robot.run(0.1).identification.converged


@pytest.mark.parametrize("disturbance", ["load", "gap"])
def test_what_goes_on_changing_holds_no_robot_for_ever(disturbance):
    robot = Robot(step(), start="on_request").start()
    for k in range(30):
        robot.run(1.0)
        if disturbance == "load":
            robot.mass = 60.0 + 10.0 * (k % 2)
        else:
            robot.identification.interrupt()
        if not robot.run(0.5).identification.hold:
            break
    assert "restarted 10 times" in robot.identification.refusal
    assert robot.identification.trunk.target.mass == NOMINAL_MASS


def test_a_robot_that_never_rests_again_keeps_its_result_and_has_no_load_left_to_identify():
    robot = Robot(DONE).run(0.1)
    robot.mass = 70.0
    robot.run(2.0, until=Phase.RETURNING)
    assert robot.identification.load_changes.unidentified is not None
    robot.at_rest = False
    assert robot.run(11.0).phase is Phase.WATCHING
    assert robot.identification.converged
    assert robot.identification.trunk.target.mass == pytest.approx(70.0)
    assert robot.identification.load_changes.unidentified is None


def test_a_slow_hand_over_is_waited_for():
    robot = Robot(DONE).start(until=Phase.RETURNING)
    robot.arrived = False
    assert not robot.run(20.0).identification.converged, "converged means published"
    robot.arrived = True
    assert robot.run(0.1).identification.converged
