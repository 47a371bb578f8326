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
LONGEST_DELAY = 0.0003  # longest delay of a poll after the message that completes a step [s]
LOCK_GAIN, LARGEST_SHIFT = 0.3, 0.02  # share of a deviation corrected in a period; bound, share of a period
CODE = (
    "import os, pickle, sys; os.nice(19); "
    "result = pickle.load(sys.stdin.buffer)(); pickle.dump(result, sys.stdout.buffer)"
)


class PipelineNode(RobotNode):
    """A node that owns one pipeline and polls its inputs at the pipeline's rate, or is woken by each arrival.

    Steps depend on the stamps of the data and the order of the messages, so the trigger does not change the
    results. Polling needs less processor time: waiting for a message costs as much as a step of an estimator,
    while reading a message that has arrived takes a microsecond.

    The pipeline ticks after every message, as in a replay: the wait of a step for an input therefore expires
    at the same message, regardless of how many messages are read at once.

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
        # Arrivals on the clock of the stamps: that of the machine, as in the middleware, or a simulated one.
        self._inputs.arrival = lambda at: self._now_ns if simulated or not at else at
        # A simulation in lockstep waits for the answer to each reading: no reading is too old, or dropped.
        self._lockstep = simulated and not self._polled
        self.pipeline.inputs.clocks.arrivals_tell = not self._lockstep  # a backlog has been waited for
        self._inputs.sensor_qos = sensor_input(period=self._period)
        self._inputs.delay.period = self._period
        # A backlog older than this is dropped unread; results as old as this are not published, either.
        self._inputs.delay.timeout = math.inf if self._lockstep else self.pipeline.inputs.aligner.timeout
        self._advertise()
        self.add_trigger("~/reset", self._reset)
        if getattr(self.pipeline, "checks", None) is not None:  # the controller has no checks
            self.pipeline.checks.execute = in_background
            self.add_trigger("~/check_data", self._check_data)
        self._subscribe()

    def _subscribe(self) -> None:
        """Subscribe to every input of the pipeline."""
        self._connected: dict[str, tuple[str, NodeInput]] = {}  # message type and input, by name
        for name in self.pipeline.inputs.topics:
            self._connect(name)

    def _connect(self, name: str) -> None:
        """Subscribe to an input with the published message type, or else with its first possible type."""
        inputs, types = self.pipeline.inputs, self.pipeline.inputs.topics[name][0]
        topic = "/".join(map(topic_token, name.split("/")))
        publishers = self.get_publishers_info_by_topic(self.resolve_topic_name(topic))
        published = [one.topic_type for one in publishers]
        chosen = next((kind for kind in published if kind in types), types[0])
        if published and chosen not in published:
            try:
                inputs.connect(name, published[0])
            except ConfigurationError as error:  # names the possible types, and perhaps a remedy
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
        """Read the inputs; return the time until the next poll [s], None if the node is not polled."""
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
        if not self._lockstep:
            take_clock(self)
        return int(self.get_clock().now().nanoseconds)

    def _on_message(self) -> None:
        if self.pipeline.inputs.waiting:
            self._tick()

    @property
    def _tick_ns(self) -> int:
        """Time of a tick [ns]; zero in lockstep, so that no input counts as old."""
        return 0 if self._lockstep else self._now_ns

    def _tick(self) -> None:
        results = self.pipeline.tick(self._tick_ns)
        if results:
            self._completed_ns = self._completed_ns or self._inputs.received_ns
            self._now_ns = self._now()  # again: reading a backlog takes time, and a process may be stopped
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


def in_background(call: Callable[[], ResultT]) -> Callable[[], ResultT | None]:
    """Execute a call in another process of the lowest priority, or in this one if that fails.

    Return a function that returns the result, None until it is there. Call and result, which must be short,
    are pickled.
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
    """Return the time until the next poll [s], such that polls follow the messages after a fixed delay.

    Polls with a constant period would drift relative to the messages: polls at about the time of the arrivals
    would give no estimate and two estimates in turn, and polls long after them would delay every estimate.

    `late_s` is the time from the arrival of the message that completed a step to the poll (None: there was no
    step), `period` the nominal period [s].
    """
    if late_s is None:
        return period
    half, largest = 0.5 * period, LARGEST_SHIFT * period
    late = late_s - min(0.1 * period, LONGEST_DELAY)  # modulo whole periods
    return period + min(max(-LOCK_GAIN * ((late + half) % period - half), -largest), largest)


def take_clock(node: Any) -> None:
    """Process the waiting messages of ``/clock``, which the executor delivers only after a due timer."""
    source = node._time_source
    if (subscription := source._clock_sub) is not None:  # use_sim_time may be set to false meanwhile
        while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
            source.clock_callback(taken[0])
