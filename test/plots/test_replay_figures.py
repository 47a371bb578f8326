"""Figures of a replay and of a check carry the data, have units, and say what was not measured."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.recorded_robots import ARMS, recorded

from inertial_estimation.commands.demo import PayloadResponse, PayloadScene, demo_page, demo_panels
from inertial_estimation.figures import Figure, Mark, Series, Span
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.payload.report import KIND, LOAD
from inertial_estimation.plots.check_report import FIGURES
from inertial_estimation.plots.page import write_page
from inertial_estimation.plots.replay_figures import (
    TIME_LABEL,
    figure_of_coms,
    figure_of_masses,
    figure_of_nis,
    figure_of_tilt,
    figure_of_torques,
    figure_of_trunk,
    replay_figures,
)
from inertial_estimation.recordings.truth_file import InertiaStep, TrueInertias
from inertial_estimation.replay.reference import tilt_errors
from inertial_estimation.replay.results import ReplayResults
from inertial_estimation.replay.tables import LINK_PARAMETERS, TimeAxis, link_tables
from inertial_estimation.replay.torque_errors import TorqueSeries
from inertial_estimation.signals import (
    Decision,
    Health,
    HealthLevel,
    InertialEstimate,
    LinkEstimate,
    LinkInertia,
    OrientationSample,
)
from inertial_estimation.telemetry import DECISIONS

N = 300
STAMPS = 1_700_000_000_000_000_000 + 10_000_000 * np.arange(N, dtype=np.int64)


ORIGIN = int(STAMPS[0]) - 500_000_000  # the recording starts 0.5 s before the first estimate
TIME = TimeAxis(ORIGIN, ORIGIN, int(STAMPS[-1]), ORIGIN + 2_000_000_000)
LEAN = 0.1 * np.sin(0.05 * np.arange(N))
QUATERNIONS = np.stack([0 * LEAN, -np.sin(0.5 * np.arcsin(LEAN)), 0 * LEAN, np.cos(0.5 * np.arcsin(LEAN))], 1)
MASS = np.linspace(2.0, 3.0, N)


def filled(*names: str, **columns: Any) -> dict[str, Any]:
    """A table whose columns are zero but those that are given."""
    return {"stamp_ns": STAMPS, **{name: np.zeros(N) for name in names}, **columns}


def links() -> dict[str, dict[str, Any]]:
    """The tables of two links of which the second weighs 1 kg more."""

    def body(name: str, mass: float) -> LinkInertia:
        return LinkInertia(name, mass, np.array([0.0, 2.0 * mass, 0.0]), np.eye(3))

    return link_tables(
        [
            InertialEstimate(
                int(stamp),
                [
                    LinkEstimate(body(name, m), body(name, m + added), body(name, m - 2.0), 0.01 * np.eye(10))
                    for name, added in (("link0", 0.0), ("link1", 1.0))
                ],
                *((), np.zeros(0), 6.0, 22.0, True, Decision.ACCEPTED, np.zeros(0), 0),
            )
            for stamp, m in zip(STAMPS, MASS, strict=True)
        ]
    )


def trunk() -> dict[str, Any]:
    mass = np.linspace(61.0, 71.0, N)
    sigma = np.where(np.arange(N) < 150, np.inf, 1e-3)
    held = (np.arange(N) > 100) & (np.arange(N) < 200)
    coms = {f"{prefix}com_y": 0.005 * (mass - 61.0) for prefix in ("", "identified_")}
    masses = {"mass": mass, "identified_mass": mass, "mass_sigma": np.full(N, 0.1)}
    sigmas = {"com_sigma_x": sigma, "com_sigma_y": sigma, "com_sigma_z": np.full(N, np.inf)}
    names = ("com_x", "com_z", "identified_com_x", "identified_com_z")
    return filled(*names, **masses, **coms, **sigmas, link=["trunk"] * N, hold=held)


def results() -> ReplayResults:
    """Both estimators, two links of which all masses and x and y of the first centre are measured."""
    nis = np.where((np.arange(N) >= 50) & (np.arange(N) < 60), 100.0, 6.0)
    decisions = np.full(N, DECISIONS.index(Decision.ACCEPTED))
    decisions[50:60], decisions[200:] = map(DECISIONS.index, (Decision.REJECTED, Decision.DISABLED))
    accepted = (decisions == DECISIONS.index(Decision.ACCEPTED)).astype(float)
    gate = {"learning/decision": decisions.astype(float), "learning/accepted": accepted}
    contacts = ["" if 100 <= k < 120 else "foot" for k in range(N)]
    tilts = {"tilt_x": LEAN, "tilt_z": np.sqrt(1 - LEAN**2), "contacts": contacts}
    unknown = {"link0": ["com_z", *LINK_PARAMETERS[4:]], "link1": list(LINK_PARAMETERS[1:])}
    found = ((100, "loaded"), (200, "refused"), (250, "loaded"))
    reference = [OrientationSample(int(t), q) for t, q in zip(STAMPS, QUATERNIONS, strict=True)]
    columns = np.stack([LEAN, 0 * LEAN, tilts["tilt_z"]], 1)
    errors = tilt_errors(STAMPS, columns, reference, np.arange(N) > 50)
    return ReplayResults(
        TIME,
        {"links": {name: {"not_informed": names} for name, names in unknown.items()}, "nis": {"expected": 6}},
        {
            "base_orientation.csv": filled("tilt_y", *(f"gyro_bias_{axis}" for axis in "xyz"), **tilts),
            "base_state.csv": filled(*"xyz", "yaw", "vx", "vy", "vz"),
            "tilt_observer.csv": {"tilt/sigma [rad]": np.full(N, 1e-2)},
            "inertial_ekf.csv": filled(nis=nis, nis_bound=np.full(N, 22.0), **gate),
            "trunk_inertia.csv": trunk(),
        },
        links(),
        {"tilt": errors},
        events=[(int(STAMPS[k]), Health(LOAD, HealthLevel.WARN, kind, {KIND: kind})) for k, kind in found],
    )


def lines(figure: Figure, panel: int) -> dict[str, Series]:
    return {one.label: one for one in figure.panels[panel].series}


def test_panels_have_units_one_time_and_the_hold_out() -> None:
    figures = replay_figures(results())
    labels = {figure.title: [panel.y_label for panel in figure.panels] for figure in figures}
    assert labels == {
        "Tilt and contacts": ["inclination [deg]", "inclination [deg]", "error [deg]", ""],
        "Yaw, position, velocity and gyroscope bias": [
            "yaw [deg]",
            "position [m]",
            "velocity [m/s]",
            "bias [mrad/s]",
        ],
        "Masses": ["mass [kg]"] * 2,
        "Centres of mass": ["change from start [mm]"],
        "Moments of inertia": [],
        "Innovations and decisions": ["NIS [-]", ""],
        "The trunk": ["mass [kg]", "x [mm]", "y [mm]", "z [mm]"],
    }
    for panel in (panel for figure in figures for panel in figure.panels):
        assert panel.x_label == TIME_LABEL
        assert panel.x_limits == pytest.approx((0.0, 0.5 + 0.01 * (N - 1)))
        assert panel.marks[0] == Mark(2.0, "hold-out")


def test_curves_are_the_data() -> None:
    drawn = lines(figure_of_tilt(replace(results(), errors={})), 0)["estimate"]
    np.testing.assert_allclose(np.sin(np.radians(drawn.y)), LEAN, atol=1e-12)
    np.testing.assert_allclose(drawn.x, 0.5 + 0.01 * np.arange(N), atol=1e-9)
    mass = lines(figure_of_masses(results()), 1)["estimate, 2 sigma"]
    np.testing.assert_allclose(mass.y, MASS + 1.0)
    np.testing.assert_allclose(mass.high - mass.low, 0.4)
    found = results()
    nis = lines(figure_of_nis(found), 0)
    assert [len(nis[name].x) for name in ("accepted", "rejected", "not learning")] == [190, 10, 100]
    found.tables["inertial_ekf.csv"]["nis_bound"] = np.full(N, np.inf)
    assert "99.9 % quantile" in nis.keys() - lines(figure_of_nis(found), 0).keys(), "an open one is not drawn"


def test_what_was_not_measured_is_drawn_or_named_as_such() -> None:
    figure = figure_of_coms(results())
    assert [panel.title for panel in figure.panels] == ["link0"]
    assert ["not measured" in label for label in lines(figure, 0)] == [False, False, True]
    assert figure.note.endswith("so that the description's value stays: link1.")
    height = figure_of_trunk(results())
    assert "identified, 2 sigma" not in lines(height, 3)
    assert np.isfinite(lines(height, 3)["description, not measured"].y).all()
    assert height.panels[3].title.endswith("not measured")


def test_the_trunk_is_drawn_with_what_happened_to_it() -> None:
    figure = figure_of_trunk(results())
    np.testing.assert_allclose(lines(figure, 0)["identified, 2 sigma"].y, trunk()["mass"])
    assert [mark.label for mark in figure.panels[0].marks] == ["hold-out", "loaded", "refused", "loaded"]
    assert figure.panels[0].spans == [Span(pytest.approx(1.51), pytest.approx(2.5), "requested to hold")]
    np.testing.assert_allclose(lines(figure, 2)["published"].y, 1e3 * trunk()["com_y"])
    alone = ReplayResults(TIME, tables={"trunk_inertia.csv": trunk()})
    assert [one.title for one in replay_figures(alone)] == ["The trunk"]


def test_the_truth_is_drawn_from_when_it_holds() -> None:
    steps = [
        InertiaStep(at, LinkInertia("link0", mass, np.zeros(3), np.eye(3))) for at, mass in ((0, 2), (1.5, 7))
    ]
    known = replace(results(), truth=TrueInertias({"link0": steps}))
    true = lines(figure_of_masses(known), 0)["truth 7.000 kg"]
    assert (true.y[99], true.y[101]) == (2.0, 7.0)  # at 0.5 + 0.99 and 0.5 + 1.01 s


def test_trusted_errors_forces_and_contacts_are_drawn_under_the_tilt() -> None:
    found, forces = results(), np.linspace(0.0, 100.0, N)
    found.tables["tilt_observer.csv"]["contact_force/foot [N]"] = forces
    figure = figure_of_tilt(found)
    error = lines(figure, 2)["error"]
    assert np.isnan(error.y[:51]).all()
    assert np.isfinite(error.y[51:]).all()
    np.testing.assert_allclose(lines(figure, 3)["foot"].y, forces)
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


SCENE = PayloadScene("elbow", -1.2, "forearm", 5.44, 1.78, 1.0, 5.0)


@pytest.mark.parametrize("n", [0, 1, 100])
def test_figure_of_both_runs(tmp_path: Path, n: int) -> None:
    t = np.linspace(0.0, 5.0, n)
    responses = [PayloadResponse(on, t, np.cos(t), t, t) for on in (False, True)]
    elbow, mass = demo_panels(SCENE, responses)
    assert write_page(tmp_path / "demo.html", demo_page(SCENE, responses)).stat().st_size > 10_000
    assert [one.label for one in elbow.series] == ["without adaptation", "with adaptation"]
    assert mass.series[-1].label == "truth"
    np.testing.assert_allclose(elbow.series[1].y, np.degrees(np.cos(t)))


def drawn(robot, mass, wrong):
    """Curves by figure and panel, then by their labels, of a check with a wrong mass in the description."""
    urdf = robot.urdf.replace(f'<mass value="{mass}"', f'<mass value="{wrong}"')
    assert urdf != robot.urdf
    diagnosis = robot.diagnosis(urdf=urdf)
    return {
        title: {panel.title: {one.label: one for one in panel.series} for panel in draw(diagnosis)}
        for title, draw in FIGURES.items()
    }


@pytest.fixture(scope="module")
def standing():
    """TALOS moves on its feet; its torso weighs 7 kg more than described."""
    return drawn(recorded("talos", 8.0, locked_joints=ARMS), 17.55011, 10.55011)


def test_feet_carry_what_weight_and_motion_need_and_the_mass_that_the_description_lacks(standing):
    (forces,) = standing["Contact forces"].values()
    both = forces["left_foot"].y + forces["right_foot"].y
    np.testing.assert_allclose(both, forces["sum"].y)
    assert np.mean(both - forces["needed"].y) == pytest.approx(7.0 * STANDARD_GRAVITY, rel=0.01)
    assert (both - forces["needed"].y).std() < 5.0


def test_gyroscope_and_efforts_are_drawn_over_what_feet_and_description_say(standing):
    assert len(standing["Angular rates"]) == 3
    assert len(standing["Efforts"]) == 4
    pairs = [(c["as recorded"], c["from the feet"]) for c in standing["Angular rates"].values()]
    pairs += [(c["as recorded"], c["predicted"]) for c in standing["Efforts"].values()]
    for seen, expected in pairs:
        np.testing.assert_array_equal(seen.x, expected.x)
        known = np.isfinite(expected.y)
        assert known.mean() > 0.5
        assert np.std((seen.y - expected.y)[known]) < 0.5 * np.std(expected.y[known])


def test_the_mass_that_is_named_is_apart_from_the_others_with_its_error_inside_its_bar():
    (masses,) = drawn(recorded("panda", 8.0), 1.666555, 2.566555)["Masses"].values()
    (low,), (high,) = masses["named above"].low, masses["named above"].high
    assert low < -0.9 < high < 0.0
    assert len(masses["others"].x) > 3
    assert not set(masses["named above"].y) & set(masses["others"].y)
