"""Self-contained HTML pages for a phone or a printer: Jinja templates with autoescaping, no network."""

import base64
import math
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters

NO_NUMBER = "–"  # in place of a number that there is not
MINUS = "−"


def page_environment() -> Environment:
    """Return the templates of this package; every value is escaped unless it is marked as safe.

    Filters: ``number``, ``percent``, ``triple``, ``principal_moments``, ``file_name``, ``base64``.
    """
    environment = Environment(
        loader=PackageLoader("inertial_estimation.plots"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_number,
        percent=_percent,
        triple=_triple,
        principal_moments=_principal_moments,
        file_name=lambda path: Path(path).name,
        base64=lambda path: base64.b64encode(Path(path).read_bytes()).decode("ascii"),
    )
    return environment


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", MINUS) if math.isfinite(value) else NO_NUMBER


def _percent(value: float) -> str:
    return f"{100 * value:.2f}\N{THIN SPACE}%" if math.isfinite(value) else NO_NUMBER


def _triple(values: Iterable[float]) -> str:
    numbers = [float(value) for value in values]
    return ", ".join(f"{x:.3f}" if math.isfinite(x) else NO_NUMBER for x in numbers).replace("-", MINUS)


def _principal_moments(inertia: InertialParameters) -> str:
    return ", ".join(_number(float(moment)) for moment in linear_algebra.eigvalsh(inertia.inertia_Fcm))
