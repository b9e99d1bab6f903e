"""Where nbgrader finds things: source = solutions/, release = exercises/, everything about students = grading/ (not in git)."""

import os
import sys

from course_lib.grading.nbgrader_steps import AUTOGRADE_FIRST, AUTOGRADE_THEN, GENERATE

ROOT = os.path.dirname(os.path.abspath(__file__))
# nbgrader calls `alembic` by its name: this finds it when .venv/bin/nbgrader is run without activating the environment.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
os.makedirs(os.path.join(ROOT, "grading"), exist_ok=True)  # the gradebook cannot make its own folder

c = get_config()
c.CourseDirectory.root = ROOT
c.CourseDirectory.course_id = "interconnect"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = os.path.join("grading", "submitted")
c.CourseDirectory.autograded_directory = os.path.join("grading", "autograded")
c.CourseDirectory.feedback_directory = os.path.join("grading", "feedback")
c.CourseDirectory.solution_directory = os.path.join("grading", "solution")
c.CourseDirectory.db_url = "sqlite:///" + os.path.join(ROOT, "grading", "gradebook.db")

# The steps of our own: quiet stubs when exercises are generated; graded cells put right, and stopped answers, when grading.
c.GenerateAssignment.preprocessors = GENERATE
c.Autograde.sanitize_preprocessors = AUTOGRADE_FIRST
c.Autograde.autograde_preprocessors = AUTOGRADE_THEN
c.ExportApp.plugin_class = "course_lib.grading.export.ByQuestion"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError  # put your code here"}

# A class on a hub: learners fetch and submit through this folder (instructor/hub/README.md).
c.Exchange.root = os.environ.get("INTERCONNECT_EXCHANGE", os.path.join(ROOT, "grading", "exchange"))
c.ExchangeFactory.release_feedback = "course_lib.grading.handback.ReleaseFeedback"

# The checks stop learner code after ten seconds; this is for cells that loop outside of a function.
c.Execute.timeout = 60
c.Execute.store_widget_state = False
