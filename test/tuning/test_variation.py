"""What is varied, as it is given on the command line."""

import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tuning.variation import parse_variations

CONFIGS = {
    "tilt_observer": TiltPipelineConfig(observer="two_stage"),
    "inertial_ekf": InertialPipelineConfig(),
}


def one(text, observer="two_stage"):
    configs = {**CONFIGS, "tilt_observer": TiltPipelineConfig(observer=observer)}
    (variation,) = parse_variations([text], configs)
    return variation


def test_gains_of_an_observer_that_is_not_in_use_are_refused():
    assert one("filter.freedom=0.05:1", observer="filter").node == "tilt_observer"
    with pytest.raises(ConfigurationError, match=r"no effect .* --param tilt_observer.observer=filter"):
        one("filter.freedom=0.05:1", observer="two_stage")


def test_ranges_and_a_name_alone():
    gamma = one("two_stage.gamma=0.3:3")
    assert (gamma.node, gamma.low, gamma.high, gamma.log, gamma.shipped) == (
        "tilt_observer",
        0.3,
        3.0,
        True,
        1.0,
    )
    assert gamma.value_at(0.5) == pytest.approx(0.3**0.5 * 3.0**0.5)
    assert gamma.share_of(gamma.value_at(0.3)) == pytest.approx(0.3)
    assert one("inertial_ekf.gate.reopen_after=0:1").value_at(0.25) == 0.25
    alone = one("prior.com")
    assert (alone.low, alone.high, alone.log) == (pytest.approx(0.01), pytest.approx(1.0), True)
    bounded = one("two_stage.gamma")
    assert bounded.high == 10.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("two_stage.gama=1:2", "did you mean 'two_stage.gamma'"),
        (
            "rate=100:200",
            "a parameter of tilt_observer, inertial_ekf, expected one of them: tilt_observer.rate",
        ),
        ("two_stage.gamma=3:1", "no range, expected LOW:HIGH"),
        ("two_stage.gamma=1:2:cubic", "no range"),
        ("two_stage.gamma=0:1", r"is 0.0, expected a value in \[0.001, 1000\]"),
        ("observer", "'observer' is no noise, prior or gain"),
        ("noise.torque", "is -1, expected a range"),
    ],
)
def test_what_cannot_be_varied_is_named(text, message):
    with pytest.raises(ConfigurationError, match=message):
        one(text)


def test_a_parameter_is_varied_once():
    with pytest.raises(ConfigurationError, match="varied twice"):
        parse_variations(["prior.mass", "inertial_ekf.prior.mass=1:2"], CONFIGS)
