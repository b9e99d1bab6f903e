"""Loss and what sending again costs, the room that a pause needs, and the rate that credits allow."""

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite, one_of, together, whole
from course_lib.base.language import _
from course_lib.links.linerate import payload_Bps
from course_lib.links.packets import known, packet_overhead_B

RECOVERIES = ("go-back-N", "selective repeat")
PAYLOAD_B = 4096
MOST_SENDS = 20_000_000


def packets_behind(round_trip_s, bandwidth_Bps, packet_B):
    """Return how many packets a sender puts on the wire between a packet and the news that it was lost; broadcasts.

    >>> round(packets_behind(20e-6, 50e9, 4096))
    244
    """
    round_trip_s = finite("round_trip_s", round_trip_s, at_least=0, unit="s")
    bandwidth_Bps = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
    packet_B = finite("packet_B", packet_B, above=0, unit="bytes")
    together(round_trip_s=round_trip_s, bandwidth_Bps=bandwidth_Bps, packet_B=packet_B)
    found = round_trip_s * bandwidth_Bps / packet_B
    return float(found) if np.ndim(found) == 0 else found


def goodput_share(loss, behind, recovery: str = "go-back-N"):
    """Return the share of sent packets that count when a part `loss` of them is lost on the way.

    Selective repeat sends the lost packet again: 1 − p of what is sent counts. Go-back-N sends it and the `behind` packets
    that left after it: for each packet that counts, p/(1 − p) losses cost 1 + behind packets each.

    Args:
        loss: probability p that a packet is lost, 0 ≤ p < 1, independent for each packet.
        behind: packets under way behind it when the sender learns of it (`packets_behind`); broadcasts against loss.
        recovery: `go-back-N` or `selective repeat`.

    Raises:
        CourseError: a loss outside 0 … 1, a negative `behind`, an unknown recovery.

    Validity: streams without end; every loss is told one round trip later. A lost last packet of a message is told by nobody
    and waits for a timer, which costs far more; that is not in here. `simulated_share` plays the packets one by one.

    >>> round(goodput_share(0.001, 244), 3), round(goodput_share(0.001, 244, "selective repeat"), 3)
    (0.803, 0.999)
    """
    p = finite("loss", loss, at_least=0)
    behind = finite("behind", behind, at_least=0)
    recovery = one_of(_("recovery"), recovery, RECOVERIES)
    together(loss=p, behind=behind)
    if (np.asarray(p) >= 1).any():
        raise CourseError(_("loss has to be below 1: a link that loses everything delivers nothing."))
    found = (1 - p) / (1 + p * behind) if recovery == "go-back-N" else 1 - p + 0 * np.asarray(behind)
    return float(found) if np.ndim(found) == 0 else found


def goodput_Bps(link: str, loss, round_trip_s, recovery: str = "go-back-N"):
    """Return payload bytes per second, one direction, over a network link that loses packets; broadcasts over loss and round trip.

    >>> round(goodput_Bps("eth-400", 0.0, 20e-6) / 1e9, 1), round(goodput_Bps("eth-400", 0.01, 20e-6) / 1e9, 1)
    (49.0, 14.3)
    """
    link, family, _record = known(link)
    if family not in ("infiniband", "ethernet"):
        raise CourseError(_("{name} is no network link; packets are lost on ib-… and eth-… links.").format(name=link))
    rate = payload_Bps(link, max_payload_B=PAYLOAD_B)
    wire_B = PAYLOAD_B + packet_overhead_B(link, max_payload_B=PAYLOAD_B)
    line_Bps = rate * wire_B / PAYLOAD_B
    return rate * goodput_share(loss, packets_behind(round_trip_s, line_Bps, wire_B), recovery)


def simulated_share(
    loss: float, behind: int, recovery: str = "go-back-N", *, n_packets: int = 20_000, seed: int = 0
) -> float:
    """Return the share of sent packets that count in a run: `n_packets` are delivered, each send is lost with chance `loss`.

    A go-back-N sender learns of a loss after `behind` further sends, all of which the receiver drops, and begins again there.

    >>> abs(simulated_share(0.01, 50) / goodput_share(0.01, 50) - 1) < 0.1
    True
    """
    p = finite("loss", loss, at_least=0)
    w, n = whole("behind", behind, at_least=0), whole("n_packets", n_packets, at_least=1)
    recovery = one_of(_("recovery"), recovery, RECOVERIES)
    if p >= 1 or n / (1 - p) * (1 + p * w) > MOST_SENDS:
        raise CourseError(_("This run would send too many packets; take a smaller loss or fewer packets."))
    rng = np.random.default_rng(whole("seed", seed, at_least=0))
    delivered = sent = 0
    while delivered < n:
        lost = np.flatnonzero(rng.random(4096) < p)
        if recovery == "selective repeat":
            sent, delivered = sent + 4096, delivered + 4096 - len(lost)
            continue
        first = int(lost[0]) if len(lost) else 4096
        delivered += first
        sent += first + ((1 + w) if first < 4096 else 0)
    return delivered / sent


def headroom_B(bandwidth_Bps, cable_m, reaction_s=1e-6, packet_B: float = PAYLOAD_B):
    """Return the bytes that still arrive at a port after it has asked its neighbour to pause; a buffer has to keep that much free.

    The signal travels there while bytes travel here (both ways over the cable), the neighbour reacts, and on either side one
    packet that has begun is finished. Pausing (PFC) loses nothing if this room exists on every port and priority.

    >>> round(headroom_B(50e9, 100) / 1e3)
    103
    """
    bandwidth_Bps = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
    cable_m, reaction_s = finite("cable_m", cable_m, at_least=0), finite("reaction_s", reaction_s, at_least=0)
    return bandwidth_Bps * (2 * cable_m * hardware.value("prices", "cable_s_per_m") + reaction_s) + 2 * finite(
        "packet_B", packet_B, above=0
    )


def credit_Bps(bandwidth_Bps, buffer_B, round_trip_s):
    """Return the rate that credits allow: a sender never has more under way than the receiver's buffer; broadcasts.

    InfiniBand hands out credits link by link, so nothing is ever dropped for want of room, and a long cable with a small buffer is slow.

    >>> round(credit_Bps(50e9, 32e3, 1e-6) / 1e9)
    32
    """
    bandwidth_Bps = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
    buffer_B = finite("buffer_B", buffer_B, above=0, unit="bytes")
    round_trip_s = finite("round_trip_s", round_trip_s, above=0, unit="s")
    found = np.minimum(bandwidth_Bps, buffer_B / round_trip_s)
    return float(found) if np.ndim(found) == 0 else found
