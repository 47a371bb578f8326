"""A trunk with an IMU on one leg, as small as a robot can be."""

URDF = """<robot name="hopper">
  <link name="trunk"><inertial><mass value="8"/><origin xyz="0 0 0.1"/>
    <inertia ixx="0.2" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="imu"/>
  <joint name="imu_joint" type="fixed"><parent link="trunk"/><child link="imu"/></joint>
  <link name="leg"><inertial><mass value="2"/><origin xyz="0 0 -0.2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="50" velocity="5"/></joint>
  <link name="sole"/>
  <joint name="sole_joint" type="fixed"><parent link="leg"/><child link="sole"/>
    <origin xyz="0 0 -0.4"/></joint>
</robot>"""
