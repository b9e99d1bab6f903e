"""Front end: whether the page around this kernel can show live controls, and what to do where it cannot."""

import os

from course_lib.base.language import _
from course_lib.figures.show import in_colab


def live_or_note() -> tuple[bool, str]:
    """Return whether controls can be shown, and else the note that stands over the picture.

    Colab draws neither Plotly's format inside a widget nor, without an opt-in, widgets of others: it gets pictures.

    >>> live_or_note()[0] or bool(live_or_note()[1])
    True
    """
    if os.environ.get("INTERCONNECT_STATIC"):
        return False, _("INTERCONNECT_STATIC is set: explorers are shown as pictures.")
    if in_colab():
        return False, _(
            "Colab: this explorer is shown as a picture. It is live in JupyterLab: clone the course and run “make lab”."
        )
    return True, ""
