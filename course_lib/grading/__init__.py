"""Questions, their misconceptions, verdicts, and the ways to mark them.

Its modules, by subject:

- a question: question, answers, slips, shown, verdict, probe, remote, wire
- in the notebook: notebook, progress
- in a clean kernel: rehearse, onecell, identify, owner, steps
- a hand-in: intake, rivals, repair, gradedcells, cellnames
- its sandbox: sandbox, warmed, memorygroup, library, outside, replies, asking
- its marks: jobs, marks, results, celltold, autograded, learnerpage
- a class: runner, batch, pool, ledger, late, people, report
- nbgrader: nbgrader_steps, gradebook, export, handback
- what is generated: release, workshop, lessonminutes, livenotebooks, claims
"""

from course_lib.grading.notebook import check, parameters

__all__ = ["check", "parameters"]
