"""Base of nodes that own one pipeline: push the inputs, tick, publish the results of the tick."""

import math
import os
import pickle
import subprocess
import sys
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from inertial_estimation.configuration.node_options import TIMER
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.parameters import iterate_parameters
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.recordings.watch_record import REPORT_PERIOD
from inertial_estimation.ros.diagnostics import WAITING_PERIODS
from inertial_estimation.ros.messages import deserializer, message_class
from inertial_estimation.ros.node_inputs import NodeInput
from inertial_estimation.ros.qos import sensor_input
from inertial_estimation.ros.robot_node import RobotNode
from inertial_estimation.signals import Health, seconds

ResultT = TypeVar("ResultT")
LONGEST_DELAY = 0.0003  # of a poll after the message that completes a step [s]
LOCK_GAIN, LARGEST_SHIFT = 0.3, 0.02  # share of the deviation corrected in a period, and of a period at most
CODE = (
    "import os, pickle, sys; os.nice(19); "
    "result = pickle.load(sys.stdin.buffer)(); pickle.dump(result, sys.stdout.buffer)"
)


class PipelineNode(RobotNode):
    """A node that owns one pipeline, polled at the pipeline's rate, or woken by every arrival.

    Steps depend on the stamps of the data and the order of the messages, so the trigger does not change the
    results. Polling needs less processor time: waiting for a message costs as much as a step of an estimator,
    while reading a message that has arrived takes a microsecond.

    The pipeline ticks after every message, as in a replay: a step whose wait for an input expires then does
    so at the same message, regardless of the number of messages read at once.

    Attributes:
        pipeline: The pipeline, once the node is configured.
    """

    pipeline: Any  # TiltPipeline, InertialPipeline, TrunkPayloadPipeline or ControllerPipeline

    @abstractmethod
    def _build(self, urdf: str) -> None:
        """Build the pipeline."""

    @abstractmethod
    def _advertise(self) -> None:
        """Create publishers and services."""

    @abstractmethod
    def _publish(self, results: Sequence[Any]) -> None:
        """Publish the results of one tick, in order."""

    def _start(self, urdf: str) -> None:
        self._of_node = {spec.name for spec in iterate_parameters(type(self.config.options))}
        self._now_ns = self._completed_ns = 0
        self._build(urdf)
        self._polled = self.config.options.trigger == TIMER
        self._period = 1.0 / self.config.pipeline.rate if self._polled else 0.0
        self._inputs.woken = None if self._polled else self._take_inputs
        simulated = self.get_parameter("use_sim_time").value
        self._now = self._simulated_now if simulated else time.time_ns
        # By the clock of the stamps: that of the machine, which the middleware has, or a simulated one.
        self._inputs.arrival = lambda at: self._now_ns if simulated or not at else at
        # A simulation in lockstep waits for the answer to each reading: none is too old, or dropped.
        self._answered = simulated and not self._polled
        self.pipeline.inputs.clocks.arrivals_tell = not self._answered  # a backlog has been waited for
        self._inputs.sensor_qos = sensor_input(period=self._period)
        self._inputs.delay.period = self._period
        # A backlog of this age is dropped unread; no result is as old as that, either.
        self._inputs.delay.timeout = math.inf if self._answered else self.pipeline.inputs.aligner.timeout
        self._advertise()
        self.add_trigger("~/reset", self._reset)
        if getattr(self.pipeline, "checks", None) is not None:  # the controller has none
            self.pipeline.checks.execute = beside
            self.add_trigger("~/check_data", self._check_data)
        self._subscribe()

    def _subscribe(self) -> None:
        """Subscribe to every input of the pipeline."""
        self._connected: dict[str, tuple[str, NodeInput]] = {}  # type and subscription by name
        for name in self.pipeline.inputs.topics:
            self._connect(name)

    def _connect(self, name: str) -> None:
        """Subscribe to an input with the type that is published, or else the first that it may have."""
        inputs, types = self.pipeline.inputs, self.pipeline.inputs.topics[name][0]
        topic = "/".join(map(topic_token, name.split("/")))
        publishers = self.get_publishers_info_by_topic(self.resolve_topic_name(topic))
        published = [one.topic_type for one in publishers]
        chosen = next((kind for kind in published if kind in types), types[0])
        if published and chosen not in published:
            try:
                inputs.connect(name, published[0])
            except ConfigurationError as error:  # says which types it may have, and perhaps what to set
                self.get_logger().warning(str(error), throttle_duration_sec=WAITING_PERIODS * REPORT_PERIOD)
        known = self._connected.get(name)
        if known is not None:
            if known[0] == chosen or known[1].counter.received:
                return
            self._inputs.remove(known[1])
            self.destroy_subscription(known[1].subscription)
        kind = message_class(chosen)
        node_input = self.subscribe(kind, topic, inputs.connect(name, chosen, deserializer(kind)))
        spec = inputs.streams[name].spec if name in inputs.streams else None  # none of a part, or a map
        node_input.counter.required = spec is None or (spec.required and not spec.holds)
        self._connected[name] = chosen, node_input

    def poll(self) -> float | None:
        """Read the inputs; return the time until the next poll [s], None while there is none."""
        if not (self._configured and self._polled):
            return None
        begin_ns, self._completed_ns = time.time_ns(), 0
        self._take_inputs()
        late_s = seconds(begin_ns - self._completed_ns) if self._completed_ns else None
        return next_period(late_s, self._period)

    def _report(self) -> None:
        if self._configured:
            for name in self._connected:
                self._connect(name)
        super()._report()

    def _take_inputs(self) -> None:
        self._now_ns = self._now()
        super()._take_inputs()

    def _simulated_now(self) -> int:
        if not self._answered:
            take_clock(self)
        return int(self.get_clock().now().nanoseconds)

    def _on_message(self) -> None:
        if self.pipeline.inputs.waiting:
            self._tick()

    @property
    def _tick_ns(self) -> int:
        """Time of a tick; where every reading is answered zero, for which nothing is old."""
        return 0 if self._answered else self._now_ns

    def _tick(self) -> None:
        results = self.pipeline.tick(self._tick_ns)
        if results:
            self._completed_ns = self._completed_ns or self._inputs.received_ns
            self._now_ns = self._now()  # last: a backlog takes long to read, or the process was stopped
            stale = self.pipeline.inputs.aligner.is_stale
            fresh = [result for result in results if not stale(result.stamp_ns, self._tick_ns)]
            if fresh and self.active:
                self._publish(fresh)

    def _reset(self) -> str:
        self.pipeline.reset()
        return "reset"

    def _check_data(self) -> str:
        self.pipeline.checks.begin()
        return "checking five seconds of data: the result is the part 'data checks' of /diagnostics"

    def _set_parameter(self, name: str, value: Any) -> None:
        if name not in self._of_node:
            self.pipeline.set_parameter(name, value)

    def _health(self, now_ns: int) -> list[Health]:
        parts: list[Health] = self.pipeline.health(now_ns)
        return parts


def beside(call: Callable[[], ResultT]) -> Callable[[], ResultT | None]:
    """Execute a call in a process of its own, at the lowest priority, and here if that fails.

    Return what returns the result, None until there is one. The call and its result, which must be short, are
    pickled.
    """
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # loading compiled functions takes longer
    with tempfile.TemporaryFile() as given:
        pickle.dump(call, given)
        given.seek(0)
        command, quiet = [sys.executable, "-c", CODE], subprocess.DEVNULL
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.PIPE, stderr=quiet, env=environment
        )

    def result() -> ResultT | None:
        if process.poll() is None:
            return None
        found: ResultT = call() if process.returncode else pickle.loads(process.communicate()[0])
        return found

    return result


def next_period(late_s: float | None, period: float) -> float:
    """Return the time until the next poll [s], which keeps polls a fixed delay behind the messages.

    At the rate of the inputs they would drift against them: where a poll is at about the time of their
    arrival, one gives no estimate and the next one two; where it is long after, every estimate waits.

    Given are the time from the arrival of the message that completed a step to the poll (None: there was no
    step), and the nominal period [s].
    """
    if late_s is None:
        return period
    half, largest = 0.5 * period, LARGEST_SHIFT * period
    late = late_s - min(0.1 * period, LONGEST_DELAY)  # known but for whole periods
    return period + min(max(-LOCK_GAIN * ((late + half) % period - half), -largest), largest)


def take_clock(node: Any) -> None:
    """Take the waiting messages of ``/clock``, which the executor brings only after a due timer."""
    source = node._time_source
    if (subscription := source._clock_sub) is not None:  # use_sim_time may be set to false meanwhile
        while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
            source.clock_callback(taken[0])
