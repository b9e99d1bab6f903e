"""Results in, a Plotly figure out: no model, no widget.

Its modules, by subject:

- what all share: base, theme, axes, marks, columns, show
- links: datasheet, linkrows, rows, curves, latency, fits, residualfit, bysystem
- machines: topology, topologylines, topologyparts, layout, layoutparts, layoutrows, layoutmany, graphs, pairs
- collectives: collectives, spacetime, spacetimecells, stepbars, algorithms, busbw, inswitch, measuredrace
- layers and steps: slicing, degrees, tensorscaling, timeline, overlap, replicas, planning, searched, growing
- numbers: formats, narrow, compression, breakeven
- experts, racks, serving: experts, racks, speeds
- clusters: fabrics, failing, paying, watching, counted, reviewing
- your own machine: diagnosis
"""

from course_lib.base.sparing import spare_the_grammar

spare_the_grammar()  # before Plotly's renderers are imported, below

from course_lib.figures.show import use_as_default  # noqa: E402

use_as_default()
