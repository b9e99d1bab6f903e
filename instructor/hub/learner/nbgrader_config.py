"""nbgrader as a learner's server on the hub sees it: where the exchange is, and who hands in."""

import os

c = get_config()
c.CourseDirectory.course_id = "interconnect"
c.Exchange.root = os.environ.get("INTERCONNECT_EXCHANGE", "/srv/exchange")
EXERCISES = os.path.join(os.path.expanduser("~"), "exercises")  # the lessons link there
os.makedirs(EXERCISES, exist_ok=True)
c.Exchange.assignment_dir = EXERCISES
# nbgrader would take the name of the system's user, which all learners of a trial, or all pods, share.
if os.environ.get("JUPYTERHUB_USER"):
    c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
