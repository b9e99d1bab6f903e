"""Keeps a few warmed sandboxes at hand, one per set of withheld modules, and starts one again when it broke."""

from course_lib.base.errors import CourseError
from course_lib.grading.jobs import Settings
from course_lib.grading.outside import Kernel
from course_lib.grading.replies import Ended
from course_lib.grading.sandbox import Sandbox
from course_lib.grading.steps import warm_imports


class Sandboxes:
    """One warmed sandbox per set of withheld modules, made when it is needed and started again when it broke."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self._open = settings, {}

    def kernel(self, exercise: str, withheld: tuple[str, ...]) -> Kernel:
        for last in (False, True):
            key = (exercise, withheld)
            try:
                if key not in self._open:
                    while len(self._open) >= 4:
                        self._open.pop(next(iter(self._open))).close()
                    limits, walled = self.settings.limits, self.settings.walled
                    self._open[key] = Sandbox(withheld, warm_imports(exercise), limits, walled)
                return self._open[key].kernel()
            except (CourseError, OSError, Ended):
                if key in self._open:
                    self._open.pop(key).close()
                if last:
                    raise
        raise AssertionError

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()
