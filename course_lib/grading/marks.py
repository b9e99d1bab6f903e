"""Marks one hand-in: runs its cells in a sandbox, asks each question where its graded cell stands, survives deaths."""

import time
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading import bank, owner, repair, results
from course_lib.grading.asking import Asked, ask
from course_lib.grading.celltold import first_line, out_of_memory, told_error
from course_lib.grading.jobs import Job, Settings
from course_lib.grading.outside import Kernel
from course_lib.grading.replies import Ended
from course_lib.grading.results import Run
from course_lib.grading.steps import Step, steps
from course_lib.grading.verdict import CORRECT, NOT_ATTEMPTED, NOT_YET, blank
from course_lib.grading.warmed import Sandboxes

MOST_DEATHS = 8


def mark(job: Job, settings: Settings, sandboxes: Sandboxes) -> dict[str, Any]:
    """Return the marks of one hand-in as plain data; whatever it is, there is a state and a reason.

    Keys: key, student, shown, exercise, state ("marked", "refused" or "failed"), reason, questions, manual, notes, flags,
    points, of, learner, seconds, sandbox, autograded (a notebook as text), feedback (a page).
    """
    begun = time.monotonic()
    result: dict[str, Any] = {"key": job.key, "student": job.student, "shown": job.shown, "exercise": ""}
    result |= {"state": "refused", "reason": "", "questions": [], "manual": [], "notes": [], "flags": []}
    result |= {"points": 0.0, "of": 0.0, "learner": None, "sandbox": "bubblewrap" if settings.walled else "none"}
    try:
        repaired = repair.read(job.content, PurePath(job.shown))
    except CourseError as error:
        return result | {"reason": str(error), "seconds": time.monotonic() - begun}
    result |= {"exercise": repaired.exercise}
    if settings.only and repaired.exercise not in settings.only:
        reason = _("It is exercise {n}, which is not marked now.").format(n=repaired.exercise)
        return result | {"state": "skipped", "reason": reason, "seconds": time.monotonic() - begun}
    try:
        run = _Marking(job, repaired, settings, sandboxes).marked()
    except CourseError as error:  # the sandbox itself does not work: nobody's fault who handed in
        return result | {"state": "failed", "reason": str(error), "seconds": time.monotonic() - begun}
    return result | results.told(repaired, run) | {"seconds": round(time.monotonic() - begun, 3)}


class _Marking:
    """Marks one repaired notebook."""

    def __init__(self, job: Job, repaired: repair.Repaired, settings: Settings, sandboxes: Sandboxes) -> None:
        self.job, self.repaired, self.settings, self.sandboxes = job, repaired, settings, sandboxes
        self.questions = bank.questions(repaired.exercise)
        self.steps = steps(repaired.notebook, self.questions)
        self.ends = time.monotonic() + settings.limits.total_s

    def marked(self) -> Run:
        """Return all verdicts. Questions that may use what others withhold are asked again with their own library."""
        every = tuple(sorted({module for q in self.questions for module in q.withholds}))
        run = self._through(every, {q.id for q in self.questions}, Run())
        groups: dict[tuple[str, ...], set[str]] = {}
        for question in self.questions:
            own = tuple(sorted(question.withholds))
            if run.asked[question.id].verdict.state != CORRECT and own != every:
                groups.setdefault(own, set()).add(question.id)
        for own, names in groups.items():
            allowed = {m for m in run.touched if not any(m == w or m.startswith(w + ".") for w in own)}
            if allowed:
                again = self._through(own, names, Run())
                for name in names:
                    run.asked[name] = again.asked[name]
                    run.errors.pop(name, None)
                    run.errors |= {name: again.errors[name]} if name in again.errors else {}
                for place, shown in again.outputs.items():
                    if not shown["error"]:
                        run.outputs[place] = shown
        return run

    def _through(self, withheld: tuple[str, ...], wanted: set[str], run: Run) -> Run:
        kernel: Kernel | None = None
        dead: set[int] = set()
        try:
            for place, step in enumerate(self.steps):
                if step.question and step.question not in wanted:
                    continue
                kernel = self._advance(kernel, withheld, place, dead, wanted, run)
                if kernel is None:
                    break
            kernel = self._ask_again(kernel, withheld, dead, wanted, run)
        finally:
            if kernel is not None:
                kernel.close()
        for name in wanted - set(run.asked):
            text = _("Not run: {why}").format(why=self._why_not(dead))
            run.asked[name] = Asked(blank(bank.question(name), NOT_YET, text))
        for name, why in run.spoiled.items():
            if name in wanted:
                run.asked[name] = Asked(blank(bank.question(name), NOT_YET, why))
        for name in sorted(wanted) if dead or run.spoiled else ():
            if run.asked[name].verdict.state not in (CORRECT, NOT_ATTEMPTED) and name not in run.hung:
                self._alone(name, withheld, run)
        return run

    def _alone(self, name: str, withheld: tuple, run: Run) -> None:
        """Ask once more without the cells of other questions: one of them may have left behind what ended Python here."""
        place = next((i for i, s in enumerate(self.steps) if s.question == name), 0)
        mine = [s for s in self.steps[:place] if not s.question and (not s.owner or name in s.owner)]
        for _again in range(3):
            if time.monotonic() > self.ends:
                return
            kernel = self.sandboxes.kernel(self.repaired.exercise, withheld)
            kernel.numbers = owner.request
            step = None
            try:
                for step in mine:
                    shown = kernel.run(step.source, self._seconds())
                    if name in step.owner and (shown["late"] or out_of_memory(shown)):
                        return
                step = None
                arguments = (self.job.student, self.settings.known, self.settings.secret)
                asked = ask(kernel, bank.question(name), [s.source for s in mine], *arguments)
                if asked.verdict.points > run.asked[name].verdict.points:
                    run.asked[name] = asked
                    run.notes.append(_("{name} was asked without the cells of other questions.").format(name=name))
                return
            except Ended:
                if step is None or name in step.owner:
                    return
                mine.remove(step)
            finally:
                run.touched |= kernel.touched
                kernel.close()

    def _why_not(self, dead: set[int]) -> str:
        if len(dead) > MOST_DEATHS:
            return _("Python ended {n} times before it.").format(n=len(dead))
        return _("the hand-in had used its {s:g} s.").format(s=self.settings.limits.total_s)

    def _advance(
        self, kernel: Kernel | None, withheld: tuple, place: int, dead: set[int], wanted: set[str], run: Run
    ) -> Kernel | None:
        """Do one step, in a fresh kernel with all earlier cells run again if the last one died; None when time is up."""
        step = self.steps[place]
        kernel = self._alive(kernel, withheld, place, dead, run)
        if kernel is None:
            return None
        try:
            if step.question:
                sources = [s.source for s in self.steps[:place] if not s.question and s.place not in dead]
                self._ask(kernel, step.question, sources, run)
            else:
                self._run(kernel, step, run)
        except Ended as end:
            run.touched |= kernel.touched
            self._blame(step, end, run)
            dead.add(step.place)
            kernel.close()
        run.touched |= kernel.touched
        return kernel

    def _alive(self, kernel: Kernel | None, withheld: tuple, upto: int, dead: set[int], run: Run) -> Kernel | None:
        """Return a kernel in which the cells before `upto` have run, leaving out those that ended one."""
        while kernel is None or kernel.gone:
            if len(dead) > MOST_DEATHS or time.monotonic() > self.ends:
                return None
            kernel = self.sandboxes.kernel(self.repaired.exercise, withheld)
            kernel.numbers = owner.request
            for step in self.steps[:upto]:
                if step.question or step.place in dead:
                    continue
                try:
                    kernel.run(step.source, self._seconds())
                except Ended as end:
                    self._blame(step, end, run)
                    dead.add(step.place)
                    kernel.close()
                    break
        return kernel if time.monotonic() < self.ends else None

    def _seconds(self) -> float:
        return max(min(self.settings.limits.cell_s, self.ends - time.monotonic()), 0.1)

    def _run(self, kernel: Kernel, step: Step, run: Run) -> None:
        shown = kernel.run(step.source, self._seconds())
        run.outputs[step.place] = shown
        first = first_line(step.source)
        if shown["cut"]:
            run.notes.append(_("The outputs of `{line}` were too long and were cut.").format(line=first))
        if shown["late"]:
            why = _("The cell `{line}` ran for more than {s:g} s and was stopped.")
            why = why.format(line=first, s=self.settings.limits.cell_s)
            run.notes.append(why)
            run.spoiled |= dict.fromkeys(step.owner, why)
            run.hung |= {*step.owner}
            return
        if out_of_memory(shown):
            error = told_error(shown["error"], self.settings.limits)
            why = _("The cell `{line}` stopped: {error}").format(line=first, error=error)
            run.spoiled |= dict.fromkeys(step.owner, why)
            return
        for name in step.owner:  # a later cell that ends well gives the answer
            run.spoiled.pop(name, None)
            run.errors.pop(name, None)
        if shown["error"]:
            error = told_error(shown["error"], self.settings.limits)
            run.errors |= dict.fromkeys(step.owner, _("Its cell stopped: {error}").format(error=error))

    def _blame(self, step: Step, end: Ended, run: Run) -> None:
        first = first_line(step.source)
        if end.kind == "time":
            run.hung |= {step.question, *step.owner}
        if step.question:
            run.asked[step.question] = Asked(blank(bank.question(step.question), NOT_YET, end.why))
            return
        why = _("The cell `{line}` ended Python: {why}").format(line=first, why=end.why)
        run.notes.append(why)
        run.spoiled |= dict.fromkeys(step.owner, why)

    def _ask(self, kernel: Kernel, name: str, sources: Sequence[str], run: Run) -> None:
        question = bank.question(name)
        run.asked[name] = ask(kernel, question, sources, self.job.student, self.settings.known, self.settings.secret)

    def _ask_again(
        self, kernel: Kernel | None, withheld: tuple, dead: set[int], wanted: set[str], run: Run
    ) -> Kernel | None:
        """Ask for what was not there when its graded cell came: cells may have been moved, copied or split."""
        for name in sorted(wanted):
            if name not in run.asked or not run.asked[name].absent or name in run.spoiled:
                continue
            place = max((i for i, s in enumerate(self.steps) if s.question == name), default=0)
            if not any(name in s.owner for s in self.steps[place:]):
                continue
            kernel = self._alive(kernel, withheld, len(self.steps), dead, run)
            if kernel is None:
                return None
            sources = [s.source for s in self.steps if not s.question and s.place not in dead]
            try:
                self._ask(kernel, name, sources, run)
            except Ended as end:
                run.asked[name] = Asked(blank(bank.question(name), NOT_YET, end.why))
                kernel.close()
            if run.asked[name].verdict.points:
                text = _("The answer of {name} comes after its graded cell; it was asked for at the end.")
                run.notes.append(text.format(name=name))
        return kernel


def marker(settings: Settings) -> tuple[Callable[[Job], dict[str, Any]], Callable[[], None]]:
    """Return a function that marks jobs in this process, one after the other, and one that cleans up."""
    sandboxes = Sandboxes(settings)
    return lambda job: mark(job, settings, sandboxes), sandboxes.close
