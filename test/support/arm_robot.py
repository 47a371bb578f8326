"""A two-joint arm, bolted down: the smallest robot to simulate and to control."""

URDF = """<robot name="arm">
  <link name="base"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><mass value="2"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <origin xyz="0.4 0 0"/><limit lower="-3" upper="3" effort="50" velocity="10"/></joint>
</robot>"""
JOINTS = ("shoulder", "elbow")
"""Torques that hold it at zero: the weights' levers by hand."""
HOLDING = {"elbow": -9.80665 * 1 * 0.1, "shoulder": -9.80665 * (2 * 0.2 + 1 * 0.5)}
