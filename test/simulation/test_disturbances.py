"""Disturbances: what a YAML mapping builds, what is refused, the shape of waves, one wave at a time."""

import dataclasses

import numpy as np
import pytest
from support.simulated_robots import ON_GROUND, block_simulation

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.simulation.disturbances import (
    WAVES,
    MassWaveform,
    Push,
    attached_ball,
    parse_disturbance,
)

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
