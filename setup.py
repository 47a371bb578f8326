"""Build of the ROS 2 package; the same file serves pip and colcon.

`ros2 run` and launch files look for executables in PREFIX/lib/inertial_estimation. colcon puts the console
scripts there (setup.cfg); pip puts them in PREFIX/bin, so a wheel carries forwarders in that folder.
"""

import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "inertial_estimation"
FOR_WHEEL = "bdist_wheel" in sys.argv

ROS_WHEELS = [
    "ros-jazzy-rclpy[fastrtps]==7.1.6",
    *(
        f"ros-{name}==5.3.6"
        for name in (
            "sensor-msgs",
            "geometry-msgs",
            "std-msgs",
            "std-srvs",
            "nav-msgs",
            "diagnostic-msgs",
            "visualization-msgs",
        )
    ),
    "ros-rosgraph-msgs==2.0.3",
]

VQF = "vqf; python_version < '3.14'"  # an observer to compare with; there are no wheels for 3.14

setup(
    name=PACKAGE,
    version="0.2.0",
    description="Base orientation and link inertias of robots, online, as ROS 2 nodes",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="The inertial_estimation authors",
    maintainer="The inertial_estimation authors",
    maintainer_email="maintainers@inertial-estimation.invalid",
    license="Apache-2.0",
    classifiers=[
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={PACKAGE: ["py.typed", "__init__.pyi", "plots/templates/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/launch", sorted(glob("launch/*.py"))),
        (f"share/{PACKAGE}/config", sorted(glob("config/*.yaml"))),
        (f"share/{PACKAGE}/config/layouts", sorted(glob("config/layouts/*"))),
        (f"share/{PACKAGE}/config/maps", sorted(glob("config/maps/*.yaml"))),
        (f"share/{PACKAGE}/config/sros2", sorted(glob("config/sros2/*"))),
        *([(f"lib/{PACKAGE}", sorted(glob("resource/forwarders/*")))] if FOR_WHEEL else []),
    ],
    python_requires=">=3.10",
    install_requires=["setuptools", "numpy", "scipy", "pyyaml"],
    extras_require={
        "standalone": ["pin>=3.4", "numba>=0.60", *ROS_WHEELS],
        "sim": ["mujoco>=3.2", "proxsuite", VQF],
        "tools": [
            "rosbags>=0.11",
            "joblib>=1.5",  # --jobs
            "jinja2>=3.0",
            "plotly>=6",  # graphs of the reports
            "rich>=12",
        ],
        "robots": ["example-robot-data>=5,<6"],  # 420 MB; its loaders are for the tests alone
        "docs": [
            "sphinx>=8",
            "myst-parser>=4",
            "furo",
            "sphinx-copybutton",
            "sphinx-mathjax-offline",
            "matplotlib>=3.6",
        ],
        "view": ["rerun-sdk>=0.41"],  # --rrd: 90 MB, with the viewer
        "test": [
            "pytest>=7",
            "pytest-xdist>=3.2",
            "hypothesis>=6",
            "ruff",
            "mypy>=1.11",
            VQF,
            "ahrs",
            "example-robot-data-loaders>=5,<6",
            "scipy-stubs",
            "types-PyYAML",
        ],
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "inertial-estimation = inertial_estimation.commands.main:main",
            "tilt_observer = inertial_estimation.ros.node_runner:tilt_observer",
            "inertial_ekf = inertial_estimation.ros.node_runner:inertial_ekf",
            "trunk_payload = inertial_estimation.ros.node_runner:trunk_payload",
            "simulator = inertial_estimation.ros.node_runner:simulator",
            "whole_body_controller = inertial_estimation.ros.node_runner:whole_body_controller",
        ],
    },
)
