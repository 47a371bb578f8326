"""The monitor's table, without ROS: what is heard is seen, in 80 columns, with and without colour."""

import io
import math

import pytest
from rich.console import Console

from inertial_estimation.commands.monitor import monitor_view
from inertial_estimation.recordings.watch_record import WatchRecord
from inertial_estimation.signals import Decision, Health, HealthLevel
from inertial_estimation.telemetry import AGE, DECISIONS, inertial_figures, tilt_figures

NOW = 100.0
LINKS = ("torso_2_link", "arm_left_5_link")


def text_of(record, now_s=NOW, *, width=80, colour=False):
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    console.print(monitor_view(record, now_s, "title"))
    return out.getvalue()


def figures(names, **known):
    values = dict.fromkeys((*names, AGE), 0.0)
    for name, value in known.items():
        (full,) = (n for n in values if n.partition(" [")[0] == name.replace("__", "/"))
        values[full] = value
    return values


def estimating(name, message="estimating", level=HealthLevel.OK):
    arriving = {"received": "9", "rate [Hz]": "500.0", "age [s]": "0.004"}
    return [Health("imu/data", HealthLevel.OK, "arriving", arriving), Health(name, level, message)]


@pytest.fixture
def record():
    heard = WatchRecord()
    tilt, inertial = heard.node("tilt_observer"), heard.node("inertial_ekf")
    tilt.add_report(NOW, estimating("estimator"))
    names = tilt_figures(("left_foot", "right_foot")).names
    known = {"tilt__roll": 3.0, "tilt__pitch": -12.5, "tilt__sigma": 0.4}  # [deg]
    known = {name: math.radians(value) for name, value in known.items()}
    tilt.add_telemetry(NOW, figures(names, **known, contacts__right_foot=1.0, gyro_bias__x=0.0042))
    inertial.add_report(NOW, estimating("estimator"))
    masses = {f"mass__{LINKS[1]}": 7.22, f"mass_nominal__{LINKS[1]}": 1.78, f"mass_sigma__{LINKS[1]}": 0.25}
    known = {"nis": 61.5, "nis_bound": 70.7, "learning__decision": float(DECISIONS.index(Decision.REJECTED))}
    inertial.add_telemetry(NOW, figures(inertial_figures(LINKS).names, **masses, **known))
    return heard


def line_with(text, word):
    (line,) = (line for line in text.splitlines() if word in line)
    return line


def test_tilt_masses_and_gate_are_shown(record):
    text = text_of(record)
    assert "roll   +3.00  pitch  -12.50  +- 0.40 deg   contacts right_foot" in text
    assert "gyro bias +4.20" in text
    assert line_with(text, "arm_left_5_link").split()[1:5] == ["7.22", "0.50", "1.78", "0.00"]
    assert "measurement rejected   NIS 61.5 of at most 70.7" in text
    assert line_with(text, "imu/data").split() == ["imu/data", "500", "4", "arriving"]
    assert "age [ms]" in text, "a header lost its unit as markup"
    assert "!" not in text


def test_it_keeps_to_80_columns_and_has_colour_only_on_a_terminal(record):
    record.nodes["tilt_observer"].add_report(NOW, estimating("estimator", "w" * 200, HealthLevel.WARN))
    plain = text_of(record)
    assert max(map(len, plain.splitlines())) <= 80
    assert plain.replace("\n", "").count("w") >= 200, "a warning was cut off"
    assert "\x1b[" not in plain
    assert "\x1b[" in text_of(record, colour=True)
    assert plain.isascii()


def test_ages_grow_when_a_node_falls_silent(record):
    text = text_of(record, NOW + 7.0)
    assert line_with(text, "tilt_observer  ").split()[-1] == "7000"
    assert "silent for 7 s" in text
    assert "! inertial_ekf: no report for 7 s" in text
    assert line_with(text, "imu/data").split()[2] == "7004"


def test_what_a_node_warns_of_is_shown(record):
    lost = Health("joint_states", HealthLevel.ERROR, "lost: last reading 1.20 s ago", {})
    waits = Health("estimator", HealthLevel.STALE, "waiting for joint_states")
    silent = Health("topic joint_states", HealthLevel.ERROR, "no message for 2 s, by the machine's own clock")
    record.nodes["tilt_observer"].add_report(NOW, [lost, waits, silent])
    text = text_of(record)
    assert text.count("!") == 1, "an input that is missing is named once"
    assert "! tilt_observer: joint_states: lost: last reading 1.20 s ago" in text
    assert "waiting for joint_states" in line_with(text, "tilt_observer  ")


def test_before_anything_was_found_it_says_so():
    assert "no nodes found yet" in text_of(WatchRecord())
    record = WatchRecord()
    record.node("tilt_observer")
    assert "no report yet" in text_of(record)
