"""Motors, friction, stops; sensors' noise and delays; disturbances; what is refused."""

import dataclasses

import numpy as np
import pytest
from support.simulated_robots import ON_GROUND, block_simulation, talos_simulation

import inertial_estimation as ie
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.simulation.disturbances import (
    WAVES,
    MassWaveform,
    Push,
    attached_ball,
    parse_disturbance,
)

FLYWHEEL_INERTIA = 0.02
FLYWHEEL = f"""<robot name="flywheel"><link name="stand"/>
<link name="wheel"><inertial><mass value="1"/><inertia ixx="0.011" iyy="0.011" izz="{FLYWHEEL_INERTIA}"
ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="spin" type="{{kind}}"><parent link="stand"/><child link="wheel"/><axis xyz="0 0 1"/>
<limit lower="-0.5" upper="0.8" effort="2" velocity="100"/>
<dynamics damping="0.4" friction="0.1"/></joint></robot>"""
REALISTIC_VALUES = {f"sensors.{name}": value for name, value in ie.parameter_values(ie.REALISTIC).items()}
FOOT = "left_foot"


def friction_of_all(**terms):
    """The same friction of every joint, as parameters."""
    values = {"joints": ("*",), "terms": tuple(terms), "values": tuple(terms.values())}
    return {f"nominal_friction.{name}": value for name, value in values.items()}


def flywheel(kind="continuous", values=None, **friction):
    """A wheel with a vertical axis: gravity does nothing."""
    named = {"floating_base": False, **(values or {}), **(friction_of_all(**friction) if friction else {})}
    return ie.Simulation(ie.build_config(ie.SimulationConfig, named), FLYWHEEL.format(kind=kind))


def spin(simulation, torque, duration_s):
    simulation.apply(np.array([torque]))
    simulation.advance(round(duration_s * 1e9))
    return simulation.truth()


@pytest.mark.parametrize("rubbing", [{}, {"viscous": 1e-12}])
def test_torque_accelerates_wheel_and_rotor(rubbing):
    truth = spin(flywheel(armature=0.03, **rubbing), 1.0, 0.1)
    assert truth.v[0] == pytest.approx(1.0 / (FLYWHEEL_INERTIA + 0.03) * 0.1, rel=1e-9)
    assert truth.tau_link[0] == pytest.approx(FLYWHEEL_INERTIA * truth.a[0], rel=1e-9)
    assert truth.tau_motor[0] == 1.0


def test_viscous_friction_sets_the_final_speed():
    assert spin(flywheel(viscous=0.5), 1.0, 2.0).v[0] == pytest.approx(2.0, rel=1e-6)


def test_coulomb_friction_holds_what_it_can_and_stops_a_free_wheel():
    slow = spin(flywheel(coulomb=0.3), 0.25, 1.0)
    assert abs(slow.v[0]) < 0.05  # creep at the speed over which the sign is smoothed
    simulation = flywheel(coulomb=0.3)
    spin(simulation, 1.0, 0.2)
    assert spin(simulation, 0.0, 2.0).v[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("torque", "stop"), [(1.0, 0.8), (-1.0, -0.5)])
def test_joint_stops_at_its_limit(torque, stop):
    truth = spin(flywheel("revolute"), torque, 3.0)
    assert truth.q[0] == pytest.approx(stop + torque / 1000.0, abs=1e-6)  # a spring of 1000 Nm/rad
    assert spin(flywheel(), torque, 3.0).q[0] / stop > 5.0


def spin_and_read(simulation):
    simulation.apply(np.array([1.0]))
    return simulation.advance(30_000_000)[-1].joints


@pytest.mark.parametrize(("kind", "seen"), [("link", 0.4), ("motor", 1.0)])
def test_effort_is_sensed_where_the_config_says(kind, seen):
    simulation = flywheel(values={"sensors.effort_at": kind}, armature=0.03)
    assert spin_and_read(simulation).effort[0] == pytest.approx(seen, rel=1e-9)


def test_sensors_send_what_the_corrections_of_the_parameter_file_make_true():
    values = {"joint_offsets.joints": ("spin",), "joint_offsets.values": (0.3,)}
    values |= {"drive_gains.joints": ("spin",), "drive_gains.values": (0.5,)}
    sent, true = (spin_and_read(flywheel(values=given)) for given in (values, {}))
    assert sent.position[0] + 0.3 == pytest.approx(true.position[0], abs=1e-12)
    assert sent.effort[0] * 0.5 == pytest.approx(true.effort[0]) == pytest.approx(1.0)


def test_noise_has_the_sigmas_and_biases_declared():
    simulation = talos_simulation(REALISTIC_VALUES)
    truth = simulation.truth()
    readings = simulation.advance(3_000_000 * 2000)
    wrench = np.array([r.wrenches[FOOT].wrench_F for r in readings]) - truth.wrenches_C[FOOT]
    errors = {
        "angular_rate": np.array([r.imu.angular_rate_I for r in readings]) - ie.REALISTIC.angular_rate_bias,
        "position": np.array([r.joints.position for r in readings]) - truth.q,
        "velocity": np.array([r.joints.velocity for r in readings]),
        "effort": np.array([r.joints.effort for r in readings]) - truth.tau_link,
        "force": wrench[:, :3],
        "torque": wrench[:, 3:],
    }
    for name, error in errors.items():
        sigma = getattr(ie.REALISTIC, name)
        assert np.abs(error.mean(axis=0)).max() < 5 * sigma / np.sqrt(len(readings)), name
        np.testing.assert_allclose(error.std(axis=0), sigma, rtol=0.1, err_msg=name)


@pytest.mark.parametrize("kind", ["imu", "joint", "wrench"])
def test_delayed_reading_was_true_that_much_earlier(kind):
    delay_ns = 8_000_000  # no multiple of the period: it is measured between two stamps
    runs = []
    for values in ({"sensors.rate": 1000.0}, {f"sensors.{kind}_delay_s": 0.008}):
        simulation = talos_simulation(values)
        simulation.apply(np.full(simulation.robot.n_joints, 5.0))
        runs.append({r.stamp_ns: r for r in simulation.advance(60_000_000)})
    plain, delayed = runs

    def seen(reading):
        sample = {"imu": reading.imu, "joint": reading.joints, "wrench": reading.wrenches.get(FOOT)}[kind]
        names = {"imu": "specific_force_I", "joint": "velocity", "wrench": "wrench_F"}
        return sample.stamp_ns, getattr(sample, names[kind])

    assert len(delayed) == 20
    for stamp_ns, reading in delayed.items():
        stamp, value = seen(reading)
        assert stamp == stamp_ns
        if stamp_ns > delay_ns:
            np.testing.assert_array_equal(value, seen(plain[stamp_ns - delay_ns])[1])


ANKLES = ("leg_left_5_joint", "leg_right_5_joint")
BENT_BACK = {"stance.joints": ("arm_left_4_joint",), "stance.positions": (1.0,)}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"sensors.rate": 300.0}, ie.ConfigurationError, "sensors.rate.*whole number of steps.*0.003 s"),
        (BENT_BACK, ie.ConfigurationError, "arm_left_4_joint at 1"),
        ({"stance.joints": ANKLES, "stance.positions": (0.5, 0.5)}, ie.ModelError, "cannot stand"),
    ],
)
def test_bad_config_is_refused_with_its_name(values, error, message):
    with pytest.raises(error, match=message):
        talos_simulation(values)


def test_diverged_motion_is_an_error_not_a_number():
    simulation = talos_simulation({"actuators.torque_limit_scale": 0.0})
    simulation.apply(np.full(simulation.robot.n_joints, 1e7))
    with pytest.raises(ie.InertialEstimationError, match="diverges 0 s after"):
        simulation.advance(30_000_000)


TEXTS = [
    (
        "{kind: mass, link: arm, wave: square, offset: 4.5, amplitude: 3, frequency: 2, phase: 0.1, "
        "start: 8, stop: 1.2e1}",
        MassWaveform("arm", "square", 4.5, 3.0, 2.0, 0.1, 8.0, 12.0),
    ),
    (
        "{kind: ball, link: hand, mass: 5.44, at: [0, 0.1, 0.05], start: 2}",
        attached_ball("hand", 5.44, (0.0, 0.1, 0.05), 2.0),
    ),
    (
        "kind: push\nlink: torso\nforce: [100, 0, -5]\nstart: 4\nduration: 0.2\nat: [0, 0, 0.3]\nframe: link",
        Push("torso", (100, 0, -5), 4.0, 0.2, (0, 0, 0.3), "link"),
    ),
]


def values_of(disturbance):
    """Every number and name of a disturbance; arrays as lists, so that they compare."""
    found = dataclasses.asdict(disturbance)
    flat = {**found, **found.pop("body", {})}
    return {key: np.asarray(value).tolist() for key, value in flat.items() if key != "body"}


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_a_text_holds_what_the_value_holds(text, expected):
    found = parse_disturbance(text)
    assert type(found) is type(expected)
    assert values_of(found) == values_of(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "is no disturbance, expected a mapping"),
        ("{link: a}", "kind 'None'.*there are mass, ball, push"),
        ("{kind: push, link: a, colour: red}", "unknown colour in .*'push' has link, force, start"),
        ("{kind: mass, link: a, offset: x}", "'offset' is 'x', expected a number in {kind: mass"),
        ("{kind: push, link: a, force: [1, 2], start: 0}", r"'force' is \[1, 2\], expected three numbers"),
        ("{kind: push, link: a, force: [1, 2, 3], start: 0, duration: 0}", "lasts 0 s"),
        ("{kind: ball, link: a, mass: 0}", "mass is 0.0 kg, expected a positive"),
        ("{kind: mass, link: a, offset: 3, amplitude: 3}", "falls to 0 kg.*above zero"),
        ("{kind: mass, link: a, offset: 3, start: 2, stop: 1}", "from 2 to 1 s"),
    ],
)
def test_a_bad_disturbance_is_refused_with_what_was_expected(text, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_disturbance(text)


def test_waves_have_their_shape():
    times = np.arange(0, 2000) * 0.001
    masses = {w: np.array([MassWaveform("a", w, 5.0, 2.0, 1.0).mass(t) for t in times]) for w in WAVES}
    np.testing.assert_array_equal(masses["square"].reshape(4, 500), [[7.0] * 500, [3.0] * 500] * 2)
    np.testing.assert_allclose(masses["sine"], 5.0 + 2.0 * np.sin(2.0 * np.pi * times), atol=1e-9)
    shifted = MassWaveform("a", "sine", 5.0, 2.0, 1.0, phase=np.pi / 2, start=3.0, stop=4.0)
    assert [shifted.mass(t) for t in (2.9, 4.0)] == [None, None]
    assert shifted.mass(3.0) == pytest.approx(7.0)


def test_two_waves_of_one_body_take_turns():
    first = MassWaveform("block", offset=2.0, stop=0.1)
    simulation = block_simulation(ON_GROUND, [MassWaveform("block", offset=3.0, start=0.1), first])
    simulation.apply(np.zeros(0))
    assert simulation.truth().total_mass == pytest.approx(2.0)
    simulation.advance(100_000_000)
    assert simulation.truth().total_mass == pytest.approx(3.0)
    for link in ("block", "imu"):  # another link of the same body
        with pytest.raises(ConfigurationError, match="overlap"):
            block_simulation(ON_GROUND, [first, MassWaveform(link, offset=3.0, start=0.09)])
