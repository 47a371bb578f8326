"""Writes the tables of parameters in nodes.md: `python docs/parameter_table.py` after a change."""

import sys
from dataclasses import dataclass
from pathlib import Path

from inertial_estimation.configuration.node_configs import NODE_CONFIGS
from inertial_estimation.configuration.node_options import NodeOptions, PipelineNodeOptions
from inertial_estimation.models.robot_config import RobotConfig, RobotGeometryConfig
from inertial_estimation.models.stance_config import StanceConfig
from inertial_estimation.parameters import ParameterSpec, iterate_parameters, section

PAGE = Path(__file__).with_name("nodes.md")
MARK = "<!-- parameters: written by docs/parameter_table.py -->\n"


@dataclass(frozen=True)
class Standing:
    """What simulator and controller share."""

    stance: StanceConfig = section(StanceConfig)


SHARED: dict[str, tuple[type, ...]] = {
    "All nodes": (RobotGeometryConfig, NodeOptions),
    "All nodes but tilt_observer": (RobotConfig,),
    "tilt_observer, inertial_ekf, trunk_payload and whole_body_controller": (PipelineNodeOptions,),
    "simulator and whole_body_controller": (Standing,),
}


def tables() -> str:
    """Return the tables of all parameters."""
    shown: set[str] = set()  # in a table of what nodes share
    parts = []
    for title, classes in {**SHARED, **NODE_CONFIGS}.items():
        specs = [spec for cls in classes for spec in iterate_parameters(cls)]
        own = [spec for spec in specs if spec.name not in shown]
        if title in SHARED:
            shown |= {spec.name for spec in own}
        rows = "\n".join(row(spec) for spec in own)
        head = "| parameter | default | unit | bounds | while running | meaning |\n|---|---|---|---|---|---|"
        parts.append(f"### {title}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


def row(spec: ParameterSpec) -> str:
    """Return one row."""
    bounds = ", ".join(spec.choices)
    if spec.lower is not None or spec.upper is not None:
        low = "" if spec.lower is None else f"{spec.lower:g}"
        high = "" if spec.upper is None else f"{spec.upper:g}"
        bounds = f"{low} .. {high}"
    default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
    running = "yes" if spec.runtime else ""
    return f"| `{spec.name}` | `{default!r}` | {spec.unit} | {bounds} | {running} | {spec.description} |"


def main() -> int:
    """Write the tables below the mark."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(before + MARK + "\n" + tables(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
