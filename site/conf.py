"""Sphinx settings of the site; site/build.py lays out the pages and calls Sphinx with them."""

project = "GPU interconnects"
author = "the authors of the course"
extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
html_theme = "sphinx_book_theme"
html_title = "GPU interconnects, from PCIe to clusters"
html_theme_options = {"use_download_button": False, "show_navbar_depth": 1, "show_toc_level": 2}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [
    ("plotly.min.js", {"priority": 100, "defer": "defer"}),
    ("figures.js", {"defer": "defer"}),
    ("units.js", {"defer": "defer"}),
    ("reading.js", {"defer": "defer"}),
    ("explorers.js", {"defer": "defer"}),
]
html_copy_source = False
html_show_sourcelink = False
# The notebooks come here executed (site/build.py), so that their figures can be drawn on both grounds.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_heading_anchors = 4
# MathJax lies beside the pages; SVG needs no fonts, and the menu and the speech engine would ask for more files.
mathjax_path = "tex-svg-full.js"
mathjax4_config = {"options": {"enableMenu": False}}
suppress_warnings = ["misc.highlighting_failure"]  # recipes write "…" where their reader fills in
