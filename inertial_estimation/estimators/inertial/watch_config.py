"""Parameters by which the watch tells a change of the load from a fault of an input."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class WatchConfig:
    """Parameters of the watch over the inertial filter: when data are suspect, when a change is believed."""

    enabled: bool = parameter(
        True,
        "Whether the published parameters wait until a change of the load has explained the data, and the "
        "filter returns to its last good state after a fault of an input.",
        runtime=True,
    )
    suspect: float = parameter(
        8.0,
        "Factor by which the normalised innovation squared must exceed its usual level for the data to be "
        "suspect; the published parameters are held while they are. Where there are more than seven rows a "
        "smaller factor suffices: 5.5 of 18, 4.0 of 38.",
        lower=1.5,
        upper=1e3,
        runtime=True,
    )
    match: float = parameter(
        3.0,
        "Factor of the usual level below which the normalised innovation squared must stay for a change of "
        "the load to count as the explanation of the data.",
        lower=1.0,
        upper=100.0,
        runtime=True,
    )
    evidence: float = parameter(
        0.1,
        "Time for which a changed load must explain the data before the published parameters follow it, and "
        "for which an earlier state must explain them before the filter returns to that state.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    patience: float = parameter(
        1.0,
        "Time after which the published parameters follow a change that the innovation gate accepts, "
        "although the data could also be those of a faulty input, or are explained less well than before.",
        unit="s",
        lower=0.0,
        upper=60.0,
        runtime=True,
    )
    give_up: float = parameter(
        2.0,
        "Time after which a change that has not explained the data is given up: if the innovation gate "
        "rejects them the filter returns to its last good state and stops learning until that state, or "
        "another trial, explains the data.",
        unit="s",
        lower=0.1,
        upper=60.0,
        runtime=True,
    )
    reopenings: int = parameter(
        4,
        "Number of times the innovation gate may re-open within one trial of a change before it is given up.",
        lower=1,
        upper=100,
        runtime=True,
    )
    retry: float = parameter(
        1.0,
        "Time between the end of an unsuccessful trial of a change and the next trial.",
        unit="s",
        lower=0.1,
        upper=60.0,
        runtime=True,
    )
    longest_push: float = parameter(
        10.0,
        "Time for which a push, a faulty input or a load on a link that is not estimated is believed; after "
        "it the parameters are opened for whatever change explains the data. In the first 3 s of data a "
        "faulty input is believed no longer than the data have agreed before; then learning begins anew.",
        unit="s",
        lower=0.1,
        upper=1e4,
        runtime=True,
    )
    memory: float = parameter(
        5.0,
        "Time within which a second change of the load on one link makes it a load that varies, and for "
        "which such a load must keep still to count as constant again. The filter follows a load that "
        "varies without looking for its place at every change; 0 never does.",
        unit="s",
        lower=0.0,
        upper=1e4,
    )
    nis_factor: float = parameter(
        3.0,
        "Factor between the variance of the noise that the innovations show and the stated one from which on "
        "a noise parameter is reported as too small (a warning) or, by its inverse, as too large.",
        lower=1.1,
        upper=1e3,
        runtime=True,
    )
