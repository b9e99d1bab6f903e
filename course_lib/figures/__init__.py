"""Results in, a Plotly figure out: no model, no widget."""

from course_lib.figures.show import use_as_default

use_as_default()
