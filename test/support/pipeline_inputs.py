"""Messages of a recording as the readings of a pipeline, or of the checks of the data."""

from inertial_estimation.signals import ContactSample, ImuSample, JointReading, WrenchSample


def push(pipeline, topic, sample):
    if isinstance(sample, ImuSample):
        pipeline.push_imu(sample)
    elif isinstance(sample, JointReading):
        pipeline.push_joints(sample)
    elif isinstance(sample, WrenchSample):
        pipeline.push_wrench(topic.split("/")[1], sample)
    elif isinstance(sample, ContactSample):
        pipeline.inputs.push(topic[1:], sample)
