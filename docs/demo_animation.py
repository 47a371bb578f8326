"""Draws the animation of the demo, docs/images/demo.gif: Talos takes a weight with and without adaptation.

    MUJOCO_GL=egl python docs/demo_animation.py [--output FILE]

Runs the scene of `inertial-estimation demo` twice in one process, draws the robots without a display, and the
elbow and the estimated mass below them. Needs the extras standalone, sim, tools and robots.
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.marker_messages import payload_radius
from inertial_estimation.signals import BaseState
from inertial_estimation.simulation.disturbances import parse_disturbance
from inertial_estimation.simulation.robot_build import build_robot, robot_spec

ROOT = Path(__file__).resolve().parents[1]
WEIGHT = (
    "{kind: ball, link: arm_left_5_link, mass: 5.44, at: [0, 0, 0.1], start: 1.5}"  # as payload_demo.yaml
)
LINK, ELBOW, ATTACHED_S, PAYLOAD = "arm_left_5_link", "arm_left_4_joint", 1.5, 5.44
DURATION_S, FRAME_S = 6.0, 0.1
WIDTH, HEIGHT, CURVES = 400, 360, 190  # of a robot, and height of the curves [pixel]
COLOURS = ("#D55E00", "#0072B2")  # without and with adaptation, as in the other figures
NAMES = ("the described inertias", "the estimated inertias")
GREY, BALL = (0.72, 0.74, 0.78, 1.0), (0.9, 0.62, 0.0, 1.0)
BALL_COLOUR = "#e69e00"
MOST_COLOURS = 64


@dataclass
class Run:
    """States of one run, one a frame.

    Attributes:
        robot: The robot.
        urdf: Text of its description.
        poses: Base and joint positions.
        curves: Time [s], angle of the elbow from its posture [deg], and estimated payload [kg].
    """

    robot: RobotModel
    urdf: str
    poses: list[tuple[BaseState, np.ndarray]] = field(default_factory=list)
    curves: list[tuple[float, float, float]] = field(default_factory=list)


def main() -> int:
    """Simulate twice, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images" / "demo.gif")
    args = parser.parse_args()
    runs = [simulated(adaptation) for adaptation in (False, True)]
    pictures = [list(drawn(run)) for run in runs]
    frames = [Image.new("RGB", (2 * WIDTH, HEIGHT + CURVES), "white") for _ in runs[0].poses]
    for number, frame in enumerate(frames):
        for place, robot in enumerate(pictures):
            frame.paste(robot[number], (place * WIDTH, 0))
            pen, at = ImageDraw.Draw(frame), (place * WIDTH + WIDTH // 2, 12)
            pen.text(at, f"controller with {NAMES[place]}", COLOURS[place], anchor="mm", font_size=15)
        frame.paste(curves(runs, number), (0, HEIGHT))
    palette = palette_of(frames[-1])
    small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [round(1e3 * FRAME_S)] * (len(small) - 1) + [2500]  # the end stays
    small[0].save(args.output, save_all=True, append_images=small[1:], duration=times, loop=0, optimize=True)
    print(f"{args.output}: {len(small)} frames, {args.output.stat().st_size / 1e6:.2f} MB")
    return 0


def palette_of(frame: Image.Image) -> Image.Image:
    """Return the colours of a frame; those of the curves and of the weight are among them."""
    sample = frame.copy()
    for place, colour in enumerate((*COLOURS, BALL_COLOUR)):
        sample.paste(colour, (100 * place, 0, 100 * place + 100, 100))
    return sample.quantize(MOST_COLOURS)


def simulated(adaptation: bool) -> Run:
    """Run the scene from the release on."""
    builder = RobotLoop(("talos", "payload_demo"))
    loop = builder.build(disturbances=[parse_disturbance(WEIGHT)], adaptation=adaptation)
    run = Run(loop.simulation.robot, builder.urdf)
    elbow = run.robot.joint_index(ELBOW)
    loop.release(1.0)
    home = None
    while loop.time_s < DURATION_S:
        loop.run(FRAME_S)
        truth = loop.simulation.truth([])
        q = np.array(truth.q)
        home = q[elbow] if home is None else home
        run.poses.append((truth.base, q))
        assert loop.inertias is not None
        payload = next(link.payload.mass for link in loop.inertias.links if link.payload.link == LINK)
        run.curves.append((loop.time_s, float(np.degrees(q[elbow] - home)), payload))
    return run


def drawn(run: Run) -> Any:
    """Yield a picture of the robot at each frame."""
    spec, bodies = robot_spec(run.robot, 0.001)
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.35] * 3, [0.45] * 3
    sky = {"type": mujoco.mjtTexture.mjTEXTURE_SKYBOX, "builtin": mujoco.mjtBuiltin.mjBUILTIN_FLAT}
    spec.add_texture(name="sky", rgb1=[1.0, 1.0, 1.0], width=64, height=64, **sky)
    add_meshes(spec, bodies, run)
    link = run.robot.model.frames[run.robot.frame_id(LINK)]
    at = link.placement.act(np.array([0.0, 0.0, 0.1]))
    bodies[link.parentJoint].add_geom(
        name="weight",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[payload_radius(PAYLOAD), 0, 0],
        pos=at,
        rgba=BALL,
    )
    spec.worldbody.add_light(pos=[2.0, 1.0, 4.0], dir=[-0.4, -0.2, -1.0], diffuse=[0.5, 0.5, 0.5])
    model = spec.compile()
    data, places = mujoco.MjData(model), build_robot(run.robot, 0.001).qpos
    renderer = mujoco.Renderer(model, HEIGHT, WIDTH)
    camera = mujoco.MjvCamera()
    camera.azimuth, camera.elevation, camera.distance = 125.0, -8.0, 1.7
    camera.lookat[:] = (0.12, 0.1, 1.12)
    for (base, q), (time_s, _angle, _payload) in zip(run.poses, run.curves, strict=True):
        x, y, z, w = base.quaternion_xyzw
        data.qpos[:7] = [*base.p_WB, w, x, y, z]
        data.qpos[places] = q
        model.geom("weight").rgba = BALL if time_s >= ATTACHED_S else (0.0, 0.0, 0.0, 0.0)
        mujoco.mj_forward(model, data)
        renderer.update_scene(data, camera)
        yield Image.fromarray(renderer.render())


def add_meshes(spec: Any, bodies: list[Any], run: Run) -> None:
    """Add the visual meshes of the description to the bodies."""
    full = pin.buildModelFromXML(run.urdf, pin.JointModelFreeFlyer())
    folders = [str(folder) for folder in mesh_folders()]
    shapes = pin.buildGeomFromUrdfString(full, run.urdf, pin.GeometryType.VISUAL, package_dirs=folders)
    for number, shape in enumerate(shapes.geometryObjects):
        if not Path(shape.meshPath).is_file():  # a primitive shape
            continue
        described = full.frames[shape.parentFrame]
        frame = run.robot.model.frames[run.robot.frame_id(described.name)]
        place = frame.placement * described.placement.actInv(shape.placement)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, place.rotation.ravel())
        spec.add_mesh(name=f"mesh_{number}", file=shape.meshPath, scale=shape.meshScale)
        bodies[frame.parentJoint].add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=f"mesh_{number}",
            pos=place.translation,
            quat=quaternion,
            rgba=GREY,
        )


def curves(runs: list[Run], number: int) -> Image.Image:
    """Return the curves until a frame."""
    dpi = 100
    figure = Figure(figsize=(2 * WIDTH / dpi, CURVES / dpi), dpi=dpi, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for run, name, colour in zip(runs, NAMES, COLOURS, strict=True):
        t, angle, payload = np.array(run.curves).T
        left.plot(t[: number + 1], angle[: number + 1], color=colour, lw=2.0, label=f"with {name}")
        right.plot(t[: number + 1], payload[: number + 1], color=colour, lw=2.0)
    right.plot(
        [0, ATTACHED_S, ATTACHED_S, DURATION_S], [0, 0, PAYLOAD, PAYLOAD], "k--", lw=1.0, label="truth"
    )
    angles = np.array([run.curves for run in runs])[..., 1]
    left.set(ylim=(angles.min() - 3.0, angles.max() + 6.0), title="elbow, from its posture [deg]")
    right.set(ylim=(-0.5, 1.25 * PAYLOAD), title="estimated weight on the forearm [kg]")
    for axis in (left, right):
        axis.set_xlim(0.0, DURATION_S)
        axis.title.set_fontsize(9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=8, frameon=False, loc="center right" if axis is left else "lower right")
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


if __name__ == "__main__":
    sys.exit(main())
