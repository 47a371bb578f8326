"""Self-contained HTML pages for a phone or a printer: Jinja templates with autoescaping, no network."""

import base64
import io
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

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


def render(template: str, environment: Environment | None = None, **values: Any) -> str:
    """Return a page: a template of this package with its values.

    Args:
        template: Name of the template.
        environment: With further filters or tests; None: as `page_environment` gives it.
        values: What the template names.
    """
    return str((environment or page_environment()).get_template(template).render(**values))


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", MINUS) if math.isfinite(value) else NO_NUMBER


def _percent(value: float) -> str:
    return f"{100 * value:.2f}\N{THIN SPACE}%" if math.isfinite(value) else NO_NUMBER


def _triple(values: Iterable[float]) -> str:
    numbers = [float(value) for value in values]
    return ", ".join(f"{x:.3f}" if math.isfinite(x) else NO_NUMBER for x in numbers).replace("-", MINUS)


def _principal_moments(inertia: InertialParameters) -> str:
    return ", ".join(_number(float(moment)) for moment in linear_algebra.eigvalsh(inertia.inertia_Fcm))


def svg(figure: Any, name: str) -> Markup:
    """Return a figure as an SVG element for an HTML page, with text as text elements.

    Args:
        figure: The figure.
        name: Unique in the page: identifiers inside the SVG derive from it.
    """
    buffer = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}
    with mpl.rc_context(settings):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, tail = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    identifiers = sorted(set(re.findall(r' id="([^"]+)"', tail)), key=len, reverse=True)
    for identifier in identifiers:
        for before, after in (('id="', '"'), ("url(#", ")"), ('href="#', '"')):
            tail = tail.replace(f"{before}{identifier}{after}", f"{before}{name}-{identifier}{after}")
    return Markup(f'{head} role="img">{tail.rstrip()}')  # matplotlib escapes its text
