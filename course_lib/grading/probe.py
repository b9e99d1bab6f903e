"""Asks a learner's code for its answers, inside the learner's process: plain data in, plain data out, whatever it does."""

import ast
import contextlib
import io
import linecache
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading import wire

# What can be wrong before there is anything to compare.
ABSENT, UNTOUCHED, VALUE, FAILED, SLOW, REFUSED = "absent", "untouched", "value", "failed", "slow", "refused"


@dataclass(frozen=True)
class Reply:
    """What came back for one set of inputs: a state, the answer as wire text (state "value"), else a sentence that says why."""

    state: str
    text: str = ""
    why: str = ""


class TimeUp(BaseException):
    """Raised by the alarm; not an Exception, so that `except Exception` in an answer does not swallow it."""


def ask_value(namespace: Mapping[str, Any], name: str) -> Reply:
    """Return the variable's value as it is now."""
    if name not in namespace:
        return Reply(ABSENT, why=_("There is no {name} yet. Run the cell above this one.").format(name=f"`{name}`"))
    value = namespace[name]
    if value is None:
        return Reply(UNTOUCHED)
    return packed(value)


def ask_function(
    namespace: Mapping[str, Any], name: str, inputs: Sequence[Sequence[Any]], seconds: float, driver: Any = None
) -> list[Reply]:
    """Return one reply per set of inputs. The function gets fresh copies every time; what it prints is dropped.

    Where the platform has an alarm and this is the main thread, a call that exceeds the time left of `seconds` is stopped and
    the rest is not asked.
    """
    if name not in namespace:
        why = _("There is no {name} yet. Run the cell above this one.").format(name=f"`{name}`")
        return [Reply(ABSENT, why=why)] * len(inputs)
    function = namespace[name]
    if function is None:
        return [Reply(UNTOUCHED)] * len(inputs)
    if not callable(function):
        why = _("{name} is {kind}; a function is expected.").format(name=f"`{name}`", kind=type(function).__name__)
        return [Reply(REFUSED, why=why)] * len(inputs)
    replies: list[Reply] = []
    with quiet(), alarm(seconds):
        try:
            for arguments in inputs:
                replies.append(_call(function, arguments, driver))
        except TimeUp:
            why = _("It ran for more than {s:g} s and was stopped. Is there a loop that does not end?").format(
                s=seconds
            )
            replies.append(Reply(SLOW, why=why))
    return replies + [Reply(SLOW, why=replies[-1].why)] * (len(inputs) - len(replies)) if replies else replies


def _call(function: Any, arguments: Sequence[Any], driver: Any) -> Reply:
    fresh = wire.decode(wire.encode(list(arguments)))
    try:
        value = driver(function, *fresh) if driver else function(*fresh)
    except TimeUp:
        raise
    except NotImplementedError:
        return Reply(UNTOUCHED)
    except MemoryError:
        return Reply(FAILED, why=_("It asked for more memory than there is."))
    except KeyboardInterrupt:
        return Reply(FAILED, why=_("It was interrupted."))
    except BaseException as error:
        return Reply(FAILED, why=failure(error))
    if value is None:
        return Reply(FAILED, why=_("It returned nothing (None). Is there a `return`?"))
    return packed(value)


def packed(value: Any) -> Reply:
    """Return an answer as wire text, or a refusal with the reason.

    >>> packed(2.5).text, packed(2.5).state
    ('2.5', 'value')
    """
    try:
        return Reply(VALUE, text=wire.encode(value))
    except CourseError as error:
        return Reply(REFUSED, why=str(error))
    except BaseException as error:
        return Reply(REFUSED, why=failure(error))


def failure(error: BaseException) -> str:
    """Return a sentence with the exception and the line of the learner's own code, never a traceback.

    >>> failure(KeyError("x"))
    "It raised KeyError: 'x'."
    """
    try:
        message = str(error)[:200]
    except BaseException:
        message = ""
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if type(error) is CourseError:  # already a sentence
        said = message
    own = [f for f in traceback.extract_tb(error.__traceback__) if not _is_library(f.filename)]
    if not own:
        return said if type(error) is CourseError else _("It raised {said}.").format(said=said)
    code = (own[-1].line or linecache.getline(own[-1].filename, own[-1].lineno or 0)).strip()
    at = _(" in line {line}").format(line=own[-1].lineno) + (f": `{code}`" if code else "")
    if type(error) is CourseError:  # already a sentence, which the place follows
        return _("{said} It came up{at}.").format(said=said, at=at)
    return _("It raised {said}{at}.").format(said=said, at=at)


def _is_library(filename: str) -> bool:
    name = filename.replace("\\", "/")
    return "/site-packages/" in name or "/course_lib/" in name or "/lib/python3" in name or name.startswith("<frozen")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what learner code prints or warns out of the cell: anything on stderr would be read as zero marks."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeUp after `seconds`, where the platform has an alarm and this is the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: Any) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    # It rings again, in case the first ring was swallowed by a bare `except:`.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def objections(cells: Sequence[str], name: str, withheld: Sequence[str]) -> str:
    """Return a sentence if the last of `cells` that sets `name` asks for keyboard input or imports what it may not, else "".

    `cells` are the sources run so far. This sees the obvious only; a runner that leaves the modules out sees to the rest.

    >>> objections(["x = input()"], "x", [])
    'Line 1 of the cell that sets `x` calls input(). Keyboard input is not allowed in graded cells: nobody types while they are marked.'
    """
    tree = None
    for source in cells:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            parsed = ast.parse(source)
            if any(_binds(node, name) for node in ast.walk(parsed)):
                tree = parsed
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "input":
            text = _(
                "Line {line} of the cell that sets {name} calls input(). Keyboard input is not allowed in graded cells: "
                "nobody types while they are marked."
            )
            return text.format(line=node.lineno, name=f"`{name}`")
        for module in _imported(node):
            if any(module == w or module.startswith(w + ".") or module == _home(w) for w in withheld):
                text = _("Line {line} imports {module}. Here you write it yourself: take the import out.")
                return text.format(line=node.lineno, module=f"`{module}`")
    return ""


def _home(withheld: str) -> str:
    """Return the module of a withheld name ("course_lib.comm.meaning.bus_factor"), "" for a module."""
    return withheld.rpartition(".")[0] if withheld.count(".") > 2 else ""


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []
