"""What a cell prints and shows, gathered in nbformat's words and cut off when it becomes too long."""

import io
import json
from typing import Any

MOST_TEXT = 200_000  # letters of printed text kept per cell
MOST_CELL = 1_500_000  # letters of all outputs kept per cell


class Outputs:
    """What one cell shows, in nbformat's words, cut off when it becomes too long."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.size = self.text = 0
        self.cut = False

    def add(self, item: dict[str, Any]) -> None:
        size = len(json.dumps(item, default=lambda value: repr(value)[:100]))
        if self.size + size > MOST_CELL:
            self.cut = True
            return
        self.size += size
        self.items.append(item)

    def write(self, name: str, text: str) -> None:
        room = MOST_TEXT - self.text
        if len(text) > room:
            self.cut = True
            text = text[: max(room, 0)]
        if not text:
            return
        self.text += len(text)
        if self.items and self.items[-1].get("name") == name:
            self.items[-1]["text"] += text
        else:
            self.items.append({"output_type": "stream", "name": name, "text": text})


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of a cell."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str, sink: "Sink") -> None:
        self.name, self.sink = name, sink

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.sink.now.write(self.name, text)
        return len(text)


class Sink:
    """Where outputs go at the moment."""

    def __init__(self) -> None:
        self.now = Outputs()


def plain(value: Any) -> Any:
    """Return display data as JSON can hold it."""
    return json.loads(json.dumps(value, default=lambda item: repr(item)[:200]))
