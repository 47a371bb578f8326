"""What is varied, as it is given on the command line."""

import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tuning.variation import observer_override, parse_variations

CONFIGS = {
    "tilt_observer": TiltPipelineConfig(observer="two_stage"),
    "inertial_ekf": InertialPipelineConfig(),
}


def one(text, observer="two_stage"):
    configs = {**CONFIGS, "tilt_observer": TiltPipelineConfig(observer=observer)}
    (variation,) = parse_variations([text], configs)
    return variation


def test_gains_of_two_observers_are_refused():
    with pytest.raises(ConfigurationError, match="gains of filter, two_stage are varied"):
        observer_override(["filter.freedom", "two_stage.gamma"], CONFIGS)


@pytest.mark.parametrize(
    ("texts", "observer"),
    [
        (["two_stage.gamma=0.3:3:log", "noise.torque"], "two_stage"),
        (["rate", "tilt_observer.two_stage.alpha1"], "two_stage"),
        (["tilt_observer.filter.freedom=0.05:1"], "filter"),
        (["observer=filter,two_stage", "two_stage.gamma"], ""),
        (["contact.radius", "rate"], ""),
    ],
)
@pytest.mark.parametrize("used", ["two_stage", "filter"])
def test_gains_tell_whose_they_are(texts, observer, used):
    configs = {**CONFIGS, "tilt_observer": TiltPipelineConfig(observer=used)}
    expected = [("tilt_observer", "observer", observer)] if observer not in ("", used) else []
    assert observer_override(texts, configs) == expected
    assert observer_override(texts, {"inertial_ekf": CONFIGS["inertial_ekf"]}) == []


def test_ranges_choices_and_a_name_alone():
    gamma = one("two_stage.gamma=0.3:3:log")
    assert (gamma.node, gamma.low, gamma.high, gamma.log, gamma.shipped) == (
        "tilt_observer",
        0.3,
        3.0,
        True,
        1.0,
    )
    assert gamma.value_at(0.5) == pytest.approx(0.3**0.5 * 3.0**0.5)
    assert gamma.share_of(gamma.value_at(0.3)) == pytest.approx(0.3)
    assert one("tilt_observer.contact.radius=0:1").value_at(0.25) == 0.25
    assert one("point_contacts=true,false").choices == (True, False)
    assert one("observer=filter,two_stage").value_at(0.99) == "two_stage"
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
        ("two_stage.gamma=0:1:log", "positive for log"),
        ("two_stage.gamma=1:2:cubic", "no range"),
        ("two_stage.gamma=0:1", r"is 0.0, expected a value in \[0.001, 1000\]"),
        ("observer", "expected choices: observer=filter,two_stage"),
        ("observer=two_stage,luenberger", "is 'luenberger', expected one of"),
        ("noise.torque", "is -1, expected a range"),
    ],
)
def test_what_cannot_be_varied_is_named(text, message):
    with pytest.raises(ConfigurationError, match=message):
        one(text)


def test_a_parameter_is_varied_once():
    with pytest.raises(ConfigurationError, match="varied twice"):
        parse_variations(["prior.mass", "inertial_ekf.prior.mass=1:2"], CONFIGS)
