"""Figures of a replay carry the data, have units and one time axis, and say what was not measured."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.payload.report import PayloadEvent
from inertial_estimation.recordings.truth_file import InertiaStep, TrueInertias
from inertial_estimation.replay.estimate_series import InertialSeries, LinkSeries, PayloadSeries, TiltSeries
from inertial_estimation.replay.metrics import TiltErrors, tilt_errors
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.replay.torque_errors import TorqueSeries
from inertial_estimation.signals import Decision, LinkInertia, OrientationSample

pytest.importorskip("plotly")
from inertial_estimation.figures import Figure, Mark, Series, Span
from inertial_estimation.plots.replay_figures import (
    TIME_LABEL,
    figure_of_coms,
    figure_of_masses,
    figure_of_nis,
    figure_of_tilt,
    figure_of_torques,
    figure_of_trunk,
    replay_figures,
    row_title,
)

N = 300
STAMPS = 1_700_000_000_000_000_000 + 10_000_000 * np.arange(N, dtype=np.int64)


def tilt() -> TiltSeries:
    lean = 0.1 * np.sin(0.05 * np.arange(N))
    tilts = np.stack([lean, 0 * lean, np.sqrt(1 - lean**2)], axis=1)
    quaternions = np.stack(
        [0 * lean, -np.sin(0.5 * np.arcsin(lean)), 0 * lean, np.cos(0.5 * np.arcsin(lean))], 1
    )
    contacts = tuple(() if 100 <= k < 120 else ("foot",) for k in range(N))
    bias = np.outer(np.linspace(0, 1, N), [1e-3, 2e-3, -3e-3])
    return tilt_of(STAMPS, quaternions, tilts, bias, contacts)


def tilt_of(
    stamps: np.ndarray, quaternions: np.ndarray, tilts: np.ndarray, bias: np.ndarray, contacts: tuple
) -> TiltSeries:
    n = len(stamps)
    aided, vectors = np.ones(n, dtype=bool), np.zeros((n, 3))
    covariances = np.tile(1e-4 * np.eye(3), (n, 1, 1))
    return TiltSeries(
        stamps, quaternions, tilts, bias, contacts, covariances, aided, vectors, vectors, vectors
    )


def no_tilt() -> TiltSeries:
    return tilt_of(STAMPS[:0], np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), ())


def prior(link: int) -> np.ndarray:
    """Measured are all masses, and of the first link the centre of mass along x and y."""
    sigmas = np.full(10, 0.1)
    sigmas[: 3 if link == 0 else 1] = 1.0
    return sigmas


def inertial(links: int = 2) -> InertialSeries:
    mass = np.linspace(2.0, 3.0, N)
    series = tuple(
        LinkSeries(
            *(f"link{k}", mass + k, np.full(N, 0.1), mass, np.zeros((N, 3)), np.zeros((N, 3, 3)), mass - 2.0),
            *(np.outer(mass, [1.0, 2.0, 3.0]), np.zeros((N, 3, 3)), np.full((N, 10), 0.1), prior(k)),
        )
        for k in range(links)
    )
    nis = np.full(N, 6.0)
    nis[50:60] = 100.0
    bounds = np.full(N, 22.0)
    accepted = nis < bounds
    accepted[200:] = False
    decisions = tuple(
        Decision.DISABLED if k >= 200 else Decision.REJECTED if 50 <= k < 60 else Decision.ACCEPTED
        for k in range(N)
    )
    return InertialSeries(STAMPS, series, nis, bounds, accepted, decisions, tuple("abcdef"), np.zeros((N, 6)))


def trunk() -> PayloadSeries:
    mass = np.linspace(61.0, 71.0, N)
    com, sigma = np.outer(mass - 61.0, [-0.01, 0.005, 0.0]), np.full((N, 3), np.inf)
    sigma[150:, :2] = 1e-3
    found = ((100, "loaded"), (200, "refused"), (250, "loaded"))
    events = tuple(PayloadEvent(int(STAMPS[k]), kind, kind) for k, kind in found)
    held = (np.arange(N) > 100) & (np.arange(N) < 200)
    return PayloadSeries(
        *("trunk", STAMPS, mass, np.full(N, 0.1), com, sigma, mass, com, np.zeros((N, 3, 3)), mass - 61.0),
        *(np.full(N, np.nan), ("watching",) * N, ~held, held, events),
    )


def held_out(second: float = 2.0) -> TimeAxis:
    """The recording starts 0.5 s before the first estimate; the hold-out begins later."""
    origin = int(STAMPS[0]) - 500_000_000
    return TimeAxis(origin, origin, int(STAMPS[-1]), origin + round(second * 1e9))


TIME = held_out()


def lines(figure: Figure, panel: int) -> dict[str, Series]:
    return {one.label: one for one in figure.panels[panel].series}


def against_reference() -> TiltErrors:
    reference = [OrientationSample(int(t), q) for t, q in zip(STAMPS, tilt().quaternions_xyzw, strict=True)]
    return tilt_errors(STAMPS, tilt().tilts_B, reference, np.arange(N) > 50)


def test_panels_have_units_one_time_and_the_hold_out() -> None:
    results = ReplayResults(tilt(), inertial(), TIME, {}, against_reference(), payload=trunk())
    figures = replay_figures(results)
    labels = {figure.title: [panel.y_label for panel in figure.panels] for figure in figures}
    assert labels == {
        "Tilt and contacts": ["inclination [deg]", "inclination [deg]", "error [deg]", ""],
        "Yaw, position and velocity of the base": ["yaw [deg]", "position [m]", "velocity [m/s]"],
        "Gyroscope bias": ["bias [mrad/s]"],
        "Masses": ["mass [kg]"] * 2,
        "Centres of mass": ["change from start [mm]"],
        "Moments of inertia": [],
        "Innovations and the gate": ["NIS [-]", ""],
        "The trunk": ["mass [kg]", "x [mm]", "y [mm]", "z [mm]"],
    }
    for panel in (panel for figure in figures for panel in figure.panels):
        assert panel.x_label == TIME_LABEL
        assert panel.x_limits == pytest.approx((0.0, 0.5 + 0.01 * (N - 1)))
        assert panel.marks[0] == Mark(2.0, "hold-out")


def test_curves_are_the_data() -> None:
    drawn = lines(figure_of_tilt(tilt(), None, TIME), 0)["estimate"]
    np.testing.assert_allclose(np.sin(np.radians(drawn.y)), tilt().tilts_B[:, 0], atol=1e-12)
    np.testing.assert_allclose(drawn.x, 0.5 + 0.01 * np.arange(N), atol=1e-9)
    mass = lines(figure_of_masses(inertial(), TIME), 1)["estimate, 2 sigma"]
    np.testing.assert_allclose(mass.y, inertial().links[1].masses)
    np.testing.assert_allclose(mass.high - mass.low, 4.0 * inertial().links[1].mass_sigmas)
    nis = lines(figure_of_nis(inertial(), TIME), 0)
    assert [len(nis[name].x) for name in ("accepted", "rejected", "not learning")] == [190, 10, 100]


def test_what_was_not_measured_is_drawn_or_named_as_such() -> None:
    figure = figure_of_coms(inertial(), TIME)
    assert [panel.title for panel in figure.panels] == ["link0"]
    assert ["not measured" in label for label in lines(figure, 0)] == [False, False, True]
    assert figure.note.endswith("so that the description's value stays: link1.")
    height = figure_of_trunk(trunk(), TIME)
    assert "identified, 2 sigma" not in lines(height, 3)
    assert np.isfinite(lines(height, 3)["description, not measured"].y).all()
    assert height.panels[3].title.endswith("not measured")


def test_the_trunk_is_drawn_with_what_happened_to_it() -> None:
    figure = figure_of_trunk(trunk(), TIME)
    np.testing.assert_allclose(lines(figure, 0)["identified, 2 sigma"].y, trunk().masses)
    assert [mark.label for mark in figure.panels[0].marks] == ["hold-out", "loaded", "refused", "loaded"]
    assert figure.panels[0].spans == [Span(pytest.approx(1.51), pytest.approx(2.5), "asked to hold")]
    np.testing.assert_allclose(lines(figure, 2)["published"].y, 1e3 * trunk().coms_L[:, 1])
    empty = InertialSeries(STAMPS[:0], (), *(np.zeros(0),) * 3, (), (), np.zeros((0, 0)))
    results = ReplayResults(no_tilt(), empty, TIME, {}, payload=trunk())
    assert [one.title for one in replay_figures(results)] == ["The trunk"]


def test_the_truth_is_drawn_from_when_it_holds() -> None:
    steps = [
        InertiaStep(at, LinkInertia("link0", mass, np.zeros(3), np.eye(3))) for at, mass in ((0, 2), (1.5, 7))
    ]
    true = lines(figure_of_masses(inertial(), TIME, TrueInertias({"link0": steps})), 0)["truth 7.000 kg"]
    assert (true.y[99], true.y[101]) == (2.0, 7.0)  # at 0.5 + 0.99 and 0.5 + 1.01 s


def test_untrusted_reference_is_not_drawn() -> None:
    error = lines(figure_of_tilt(tilt(), against_reference(), TIME), 2)["error"]
    assert np.isnan(error.y[:51]).all()
    assert np.isfinite(error.y[51:]).all()


def test_forces_and_contacts_are_drawn_under_the_tilt() -> None:
    forces = {"foot": (STAMPS, np.linspace(0.0, 100.0, N))}
    figure = figure_of_tilt(tilt(), None, TIME, forces)
    np.testing.assert_allclose(lines(figure, 3)["foot"].y, forces["foot"][1])
    contacts = figure.panels[4]
    assert contacts.rows == ["foot"]
    (bar,) = contacts.series
    assert np.isnan(bar.y).sum() == 2  # two bars, before and after the flight
    assert bar.x[1] == pytest.approx(0.5 + 1.0)


def test_predicted_torques_are_measured_minus_innovation() -> None:
    measured = np.column_stack([np.full(N, np.nan), np.linspace(0.0, 10.0, N)])
    series = TorqueSeries(STAMPS, ("base_force_x", "elbow"), measured, np.full((N, 2), 0.5))
    figure = figure_of_torques(series, TIME)
    assert np.all(lines(figure, 0)["measured minus predicted"].y == 0.5)
    np.testing.assert_allclose(lines(figure, 1)["predicted"].y, measured[:, 1] - 0.5)
    assert figure.panels[1].title.startswith("elbow: rms error after the hold-out 0.5 Nm")
    assert figure.panels[0].title.startswith("force on the base, x: ")


def test_a_row_that_is_no_joint_is_described() -> None:
    assert row_title("projected_06") == "combination 7 of joints and base that no contact force enters"


def test_an_open_gate_is_not_drawn() -> None:
    open_gate = replace(inertial(9), nis_bounds=np.full(N, np.inf))
    assert "gate" not in lines(figure_of_nis(open_gate, TIME), 0)
