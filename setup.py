"""Build of the ROS 2 package; the same file serves pip and colcon."""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = "inertial_estimation"

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
        )
    ),
]

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={PACKAGE: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/launch", glob("launch/*.launch.py")),
        (f"share/{PACKAGE}/config", glob("config/*.yaml")),
    ],
    python_requires=">=3.10",
    install_requires=["setuptools", "numpy", "scipy", "pyyaml"],
    extras_require={
        "standalone": ["pin>=3.4", *ROS_WHEELS],
        "sim": ["mujoco>=3.2", "proxsuite"],
        "tools": [
            "rosbags>=0.10",
            "matplotlib>=3.6",
            "tqdm",
            "example-robot-data",
            "example-robot-data-loaders",
        ],
        "test": [
            "pytest>=7",
            "hypothesis>=6",
            "ruff",
            "mypy>=1.11",
            "vqf",
            "ahrs",
            "scipy-stubs",
            "types-PyYAML",
        ],
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "inertial-estimation = inertial_estimation.commands.main:main",
            "tilt_observer = inertial_estimation.ros.tilt_observer_node:main",
            "inertial_ekf = inertial_estimation.ros.inertial_ekf_node:main",
        ],
    },
)
