"""Values, parameters and errors: copied in, checked once, and refused with what was expected."""

from dataclasses import dataclass

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.errors import MeasurementError, did_you_mean
from inertial_estimation.parameters import iterate_parameters, parameter, replace_value, section
from inertial_estimation.signals import ImuSample, JointReading, OrientationSample, WrenchSample


@dataclass(frozen=True)
class Gate:
    quantile: float = parameter(0.999, "Quantile of the gate.", lower=0.5, upper=0.999999, runtime=True)


@dataclass(frozen=True)
class Shared:
    contacts: tuple[str, ...] = parameter((), "Contacts.")
    mode: str = parameter("a", "Mode.", choices=("a", "b"))


@dataclass(frozen=True)
class Config:
    rate: float = parameter(500.0, "Rate.", unit="Hz", lower=1.0, upper=1e4)
    window: int = parameter(5, "Window.", lower=1)
    on: bool = parameter(True, "On.")
    gains: tuple[float, ...] = parameter((1.0, 2.0), "Gains.", lower=0.0)
    offsets: tuple[float, ...] = parameter((), "Offsets.")
    gate: Gate = section(Gate)
    shared: Shared = section(Shared, prefix="")


def test_names_are_dotted_and_merged_sections_have_none():
    assert [s.name for s in iterate_parameters(Config)] == [
        "rate", "window", "on", "gains", "offsets", "gate.quantile", "contacts", "mode",
    ]  # fmt: skip


def test_values_round_trip():
    config = ie.build_config(Config, {"rate": 100, "gate.quantile": 0.9, "contacts": ["l", "r"], "mode": "b"})
    assert config.rate == 100.0
    assert isinstance(config.rate, float)
    assert config.shared.contacts == ("l", "r")
    assert ie.build_config(Config, ie.parameter_values(config)) == config


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"gate.quantil": 0.9}, ["gate.quantil", "did you mean 'gate.quantile'"]),
        ({"rate": 0.0}, ["rate", "0.0", "[1, 10000] Hz"]),
        ({"rate": float("nan")}, ["rate", "finite"]),
        ({"rate": "fast"}, ["'fast'", "a number"]),
        ({"rate": True}, ["True", "a number"]),
        ({"window": 2.5}, ["2.5", "whole number"]),
        ({"on": 1}, ["1", "true or false"]),
        ({"mode": "c"}, ["'c'", "a, b"]),
        ({"contacts": "l"}, ["'l'", "list"]),
        ({"contacts": ["l", 2]}, ["mixes"]),
        ({"contacts": [1.0, 2.0]}, ["contacts", "expected strings"]),
        ({"offsets": ["x"]}, ["offsets", "expected numbers"]),
        ({"gains": [1.0, -1.0]}, ["-1.0", "at least 0"]),
        ({"gains": ["x"]}, ["('x',)"]),
    ],
)
def test_bad_values_are_named_with_what_was_expected(values, words):
    with pytest.raises(ie.ConfigurationError) as error:
        ie.build_config(Config, values, where="robot.yaml")
    for word in [*words, "robot.yaml"]:
        assert word in str(error.value)


def test_all_violations_are_listed_at_once():
    with pytest.raises(ie.ConfigurationError, match=r"2 bad parameter.*rate.*window"):
        ie.build_config(Config, {"rate": -1.0, "window": "x"})


def test_ros_writes_an_empty_list_as_one_empty_string():
    assert ie.build_config(Config, {"contacts": [""]}).shared.contacts == ()


def test_replacing_one_value_leaves_the_rest():
    config = ie.build_config(Config, {"window": 7})
    changed = replace_value(config, "gate.quantile", 0.75)
    assert (changed.gate.quantile, changed.window) == (0.75, 7)
    with pytest.raises(ie.ConfigurationError):
        replace_value(config, "gate.quantile", 2.0)


LINKS = ["base_link", "LeftFoot", "left_foot_imu_frame", "head"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("base_lnik", "base_link"), ("leftfoot", "LeftFoot"), ("imu", "left_foot_imu_frame"), ("HEAD", "head")],
)
def test_nearest_name_is_asked_for(given: str, meant: str) -> None:
    assert did_you_mean(given, LINKS, "the model has") == f", did you mean '{meant}'?"


def test_without_a_near_name_a_bounded_number_is_listed() -> None:
    end = did_you_mean("zzz", [f"link{i}" for i in range(40)], "the model has", limit=3)
    assert end == "; the model has link0, link1, link2, ... (37 more)"
    assert did_you_mean("", [], "it has") == "; it has none"


def test_arrays_are_copied_in_and_read_only():
    force = np.ones(3)
    sample = ImuSample(0, force, np.zeros(3))
    force[0] = 5.0
    assert sample.specific_force_I[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        sample.specific_force_I[0] = 2.0


@pytest.mark.parametrize(
    "build",
    [
        lambda: ImuSample(0, np.zeros(2), np.zeros(3)),
        lambda: WrenchSample(0, np.zeros(3)),
        lambda: OrientationSample(0, np.zeros(3)),
        lambda: JointReading(0, ("a", "b"), np.zeros(3)),
        lambda: JointReading(0, ("a", "b"), np.zeros(2), np.zeros(1)),
    ],
)
def test_a_wrong_shape_is_refused_with_both_shapes(build):
    with pytest.raises(MeasurementError, match=r"shape .* expected"):
        build()
