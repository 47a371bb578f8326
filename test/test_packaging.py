"""Package metadata, installation, and what a user imports from the package itself."""

import ast
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from support.scripts import script

import inertial_estimation

ROOT = Path(__file__).resolve().parents[1]


def setup_arguments():
    """Return the keyword arguments of setup() that are literals."""
    tree = ast.parse((ROOT / "setup.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    (call,) = [node for node in calls if getattr(node.func, "id", "") == "setup"]
    found = {}
    for keyword in call.keywords:
        try:
            found[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            found[keyword.arg] = ast.unparse(keyword.value)
    return found


def test_package_xml_and_setup_agree():
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    setup = setup_arguments()
    assert package.get("format") == "3"
    assert package.findtext("license") == setup["license"] == "Apache-2.0"
    assert package.findtext("export/build_type") == "ament_python"
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_all_files_name_one_version():
    version = inertial_estimation.__version__
    assert setup_arguments()["version"] == version
    assert ElementTree.parse(ROOT / "package.xml").getroot().findtext("version") == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert f"The version is {version};" in (ROOT / "QUALITY_DECLARATION.md").read_text()
    assert re.search(
        rf"^{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.rst").read_text(), re.M
    )


def test_every_ros_package_imported_is_a_dependency():
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    declared = {element.text for element in package.findall("exec_depend")}
    imported = set()
    for path in [*(ROOT / "inertial_estimation" / "ros").glob("*.py"), *(ROOT / "launch").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    known = {"yaml": "python3-yaml", "numpy": "python3-numpy"}
    foreign = imported - set(sys.stdlib_module_names) - {"inertial_estimation"}
    assert "rclpy" in foreign
    assert {known.get(name, name) for name in foreign} <= declared


def test_forwarders_of_a_wheel_cover_the_console_scripts():
    scripts = setup_arguments()["entry_points"]["console_scripts"]
    names = {script.partition("=")[0].strip() for script in scripts}
    forwarders = {path.name: path for path in (ROOT / "resource" / "forwarders").iterdir()}
    assert set(forwarders) == names
    for name, path in forwarders.items():
        assert os.access(path, os.X_OK)
        assert f"bin/{name}" in path.read_text()


def test_the_documentation_has_the_parameters_as_declared():
    module = script("docs/parameter_table.py")
    for page, expected in module.lists().items():
        _, _, written = (ROOT / "docs" / page).read_text().partition(module.MARK)
        assert written.strip() == expected.strip(), f"{page}: run python docs/parameter_table.py"


MODULES = inertial_estimation._modules()


def test_the_tilt_observer_starts_without_the_libraries_of_the_other_nodes():
    """They would double the time that a robot is without its tilt after a restart.

    Without numba, which imports SciPy itself.
    """
    pytest.importorskip("rclpy")
    code = (
        "import os, sys\n"
        "os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "import inertial_estimation.ros.tilt_observer_node\n"
        "loaded = {'scipy', 'mujoco', 'proxsuite', 'matplotlib'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_name_that_type_checkers_know_is_loaded():
    stub = Path(inertial_estimation.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert stub.count(" as ") == len(MODULES) > 50
    assert set(inertial_estimation.__all__) == {*MODULES, "__version__"}


def test_every_name_is_the_one_of_its_module():
    for package in ("pinocchio", "mujoco", "proxsuite"):
        pytest.importorskip(package)
    for name, module in MODULES.items():
        assert getattr(inertial_estimation, name) is getattr(sys.modules[module], name)
