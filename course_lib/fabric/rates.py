"""The widths and hop latencies that builders use: line rates from the hardware table, latencies with their basis."""

from course_lib.base.errors import one_of

# One direction of one link (NVLink: after line coding; PCIe: a slot of 16 lanes after line coding).
_NVLINK_Bps = {1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 50e9, 6: 50e9}
NVLINK_PER_GPU = {1: 4, 2: 6, 3: 12, 4: 18, 5: 18, 6: 36}
_PCIE_GTps = {3: 8e9, 4: 16e9, 5: 32e9}

# Latency of one hop in seconds. Few are published per hop; each line says what it is taken from.
HOP_S = {
    "nvlink": 1.6e-6,  # measured: small write between two linked GPUs of a DGX-1V
    "nvlink-switched": 0.85e-6,  # assumed: half a direct link and half a switch crossing of 0.1 µs; two such hops make a pair
    "nvlink-trunk": 0.1e-6,  # assumed: one more switch crossing
    "c2c": 0.39e-6,  # half of the 0.77 µs that a load from a GH200's GPU to its CPU takes
    "xgmi": 1.6e-6,  # assumed: as a direct NVLink
    "ici": 1.0e-6,  # assumed: one hop of a TPU torus
    "pcie": 0.29e-6,  # half of the 0.575 µs that a load over PCIe 5 takes, device to root complex
    "pcie-switched": 0.2e-6,  # that and a switch's 0.115 µs (vendor's figure), over two hops
    "smp": 0.1e-6,  # assumed: crossing to the other socket
    "nic": 0.5e-6,  # card to first switch: with two PCIe hops a side this makes the 1.83 µs measured from GPU to GPU
    "switch": 0.25e-6,  # assumed: one more network switch and its cable (published figures run from 0.13 to 0.4 µs)
}


def nvlink_Bps(generation: int) -> float:
    """Return one direction of one NVLink of a generation 1 … 6 (6 as announced: a 36th of the GPU's total).

    >>> nvlink_Bps(4) * NVLINK_PER_GPU[4]
    450000000000.0
    """
    return _NVLINK_Bps[int(one_of("NVLink generation", str(generation), map(str, _NVLINK_Bps)))]


def pcie_Bps(generation: int, lanes: int = 16) -> float:
    """Return one direction of a PCIe slot, generation 3 … 5, after 128b/130b line coding and before packet headers.

    >>> round(pcie_Bps(5) / 1e9, 1)
    63.0
    """
    return _PCIE_GTps[int(one_of("PCIe generation", str(generation), map(str, _PCIE_GTps)))] * lanes / 8 * 128 / 130
