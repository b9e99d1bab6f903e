"""IPython's shell without history, files, colours, a terminal or a keyboard; what it shows goes into outputs."""

import builtins
from typing import Any

from course_lib.grading.inside.outputs import Sink, plain


def make_shell(sink: Sink) -> Any:
    """Return IPython's shell, without history, files, colours or a terminal."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data: dict, metadata: dict | None = None, **_more: Any) -> None:
            sink.now.add({"output_type": "display_data", "data": plain(data), "metadata": plain(metadata or {})})

        def clear_output(self, wait: bool = False) -> None:
            sink.now.items.clear()

    class Hook(DisplayHook):
        def start_displayhook(self) -> None: ...
        def write_output_prompt(self) -> None: ...
        def finish_displayhook(self) -> None: ...

        def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
            item = {"output_type": "execute_result", "execution_count": self.prompt_count}
            sink.now.add(item | {"data": plain(format_dict), "metadata": plain(md_dict or {})})

    class Shell(InteractiveShell):
        display_pub_class = Type(Publisher)
        displayhook_class = Type(Hook)
        failure: tuple | None = None

        def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
            self.failure = (str(getattr(etype, "__name__", etype)), shown(evalue), [str(line) for line in stb])

        def enable_gui(self, gui: Any = None) -> None: ...

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.autocall = 0
    shell = Shell.instance(config=config)
    builtins.input = _no_keyboard  # type: ignore[assignment]
    return shell


class StdinNotImplementedError(NotImplementedError):
    """Nobody types while a notebook is marked."""


def _no_keyboard(prompt: object = "") -> str:
    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


def shown(value: Any) -> str:
    """Return an exception's text, whatever its own `__str__` does."""
    try:
        return str(value)[:2000]
    except BaseException:
        return ""
