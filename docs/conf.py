"""The documentation as a site: ``sphinx-build -W --keep-going docs build/site``, with the extra ``docs``.

Pages are Markdown (MyST), so that they read as well in the repository; the API pages come from the
docstrings. The file is used by rosdoc2, too.
"""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from inertial_estimation import __version__  # noqa: E402

project = "inertial_estimation"
author = copyright = "The inertial_estimation authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",  # equations without a network
    "sphinx_copybutton",
]
exclude_patterns = ["images"]

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4  # pages link to one another's headings

# API pages
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True
default_role = "code"  # `name` in a docstring

# Appearance
highlight_language = "none"
toc_object_entries = False
html_theme = "furo"
html_title = "inertial_estimation"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False

# `sphinx-build -b linkcheck`: addresses outside, once a night in the public CI
linkcheck_timeout = 20
linkcheck_anchors = False

SPECIAL = re.compile(r"([*|])|(?<=\w)(_)(?!\w)")  # mark-up of reStructuredText that stands in equations


def plain_equations(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Escape what an equation in a docstring has in common with mark-up: R* x, x_, |f|."""
    for index, line in enumerate(lines):
        parts = line.split("`")
        parts[::2] = [SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
        lines[index] = "`".join(parts)


def titles_of_pages(app: Any, doctree: nodes.document, _page: str) -> None:
    """Let a link that shows a file's name, which suits the repository, show the title of the page."""
    titles = {f"{name}.md": title.astext() for name, title in app.env.titles.items()}
    for reference in doctree.findall(nodes.reference):
        for text in list(reference.findall(nodes.Text)):
            if text in titles:
                text.parent.replace(text, nodes.Text(titles[text]))


def setup(app: Any) -> None:
    """Connect; the first before napoleon, which reads the sections of the docstrings."""
    app.connect("autodoc-process-docstring", plain_equations, priority=400)
    app.connect("doctree-resolved", titles_of_pages)
