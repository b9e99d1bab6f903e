"""One link: from line rate to payload, time = latency + bytes / bandwidth, fits, paths through a PCIe tree."""
