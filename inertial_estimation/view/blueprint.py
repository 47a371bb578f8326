"""Layout of a recording in the viewer: the robot on the left, time series and events on the right."""

from collections.abc import Collection, Sequence

import numpy as np
import rerun as rr
import rerun.blueprint as rrb

from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.robot_model import RobotModel

ROOT = "robot"  # entity of the only robot of a recording

TIMELINE = "time"  # since the start of the recording
SERIES = "series"  # entity below which the time series are
FRONT = 2.8  # distance in front of several robots, in multiples of the extent of one
SHAPES = (rr.Boxes3D, rr.Cylinders3D, rr.Ellipsoids3D)  # of a URDF, drawn as wires otherwise
EYE = (1.3, -1.3, 0.6)  # seen from there, in multiples of the extent of the robot: it fills the view


PANELS = {  # entity below `SERIES` and title of each panel, from the top
    "elbow": "elbow: angle less reference [deg]",
    "tilt": "roll and pitch of the base [deg]",
    "tilt_error": "tilt error and its sigma [deg]",
    "force": "vertical contact force [N]",
    "nis": "normalised innovation squared (NIS)",
    "payload": "payload: estimated less nominal mass, 2 sigma [kg]",
}


def blueprint(
    panels: Collection[str], eye: rrb.EyeControls3D, *, roots: Sequence[str] = (ROOT,)
) -> rrb.Blueprint:
    """Lay out a recording.

    Args:
        panels: Those of `PANELS` that have time series.
        eye: Where the robot is seen from.
        roots: Entity of each robot.
    """
    scene = rrb.Spatial3DView(
        origin="/",
        contents=[f"/{root}/**" for root in roots],
        name="robot",
        line_grid=rrb.LineGrid3D(visible=True, spacing=0.5),
        eye_controls=eye,
        defaults=[kind.from_fields(fill_mode="solid") for kind in SHAPES],
    )
    legend = rrb.PlotLegend(rrb.Corner2D.LeftTop)
    series = [
        rrb.TimeSeriesView(origin=f"/{SERIES}/{entity}", name=title, plot_legend=legend)
        for entity, title in PANELS.items()
        if entity in panels
    ]
    kinds = rrb.encodings.TextLogColumnKind
    shown = [rrb.encodings.TextLogColumn(kinds.LogLevel), rrb.encodings.TextLogColumn(kinds.Body)]
    columns = rrb.TextLogColumns(text_log_columns=shown)
    events = rrb.TextLogView(origin="/events", name="events", columns=columns)
    right = rrb.Vertical(*series, events, row_shares=[*(3.0 for _ in series), 4.0])
    return rrb.Blueprint(
        rrb.Horizontal(scene, right, column_shares=[3.0, 2.0]),
        rrb.SelectionPanel(state="hidden"),
        rrb.BlueprintPanel(state="hidden"),
        rrb.TimePanel(state="collapsed", timeline=TIMELINE),
    )


def eye_of(robot: RobotModel) -> rrb.EyeControls3D:
    """Return where the only robot is seen from: a distance that fits its size, following a floating base.

    Args:
        robot: Its model.
    """
    bodies = BodyPlacements(robot)
    target = np.zeros(3) if robot.floating_base else np.nan_to_num(bodies.com_B())
    return rrb.EyeControls3D(
        position=target + bodies.extent * np.array(EYE),
        look_target=target,
        eye_up=(0.0, 0.0, 1.0),
        tracking_entity=f"/{ROOT}/centre_of_mass/nominal" if robot.floating_base else None,
    )


def front_eye(robot: RobotModel) -> rrb.EyeControls3D:
    """Return where several robots that stand side by side are seen from: in front of them.

    Args:
        robot: Model of one of them.
    """
    extent = BodyPlacements(robot).extent
    return rrb.EyeControls3D(
        position=(FRONT * extent, 0.0, extent), look_target=(0.0, 0.0, 0.8 * extent), eye_up=(0.0, 0.0, 1.0)
    )
