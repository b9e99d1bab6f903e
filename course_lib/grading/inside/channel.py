"""How the kernel and the grader talk: frames of JSON, each after its length, over a socket."""

import json
import socket
import struct
from typing import Any

MOST_FRAME = 12_000_000


class Channel:
    """Frames of JSON, each after its length, over a socket."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("utf-8", "replace")
        if len(data) > MOST_FRAME:
            data = json.dumps({"id": message.get("id"), "too_large": len(data)}).encode("ascii")
        self.end.sendall(struct.pack(">I", len(data)) + data)

    def receive(self) -> dict[str, Any] | None:
        head = self._exactly(4)
        data = self._exactly(struct.unpack(">I", head)[0]) if head else None
        return json.loads(data) if data else None

    def _exactly(self, n: int) -> bytes | None:
        parts, missing = [], n
        while missing:
            part = self.end.recv(min(missing, 1 << 20))
            if not part:
                return None
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
