"""Results in, a Plotly figure out: no model, no widget."""

from course_lib.base.sparing import spare_the_grammar

spare_the_grammar()  # before Plotly's renderers are imported, below

from course_lib.figures.show import use_as_default  # noqa: E402

use_as_default()
