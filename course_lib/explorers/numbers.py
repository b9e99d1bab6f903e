"""The old name of `origins`; it goes when nothing imports it any more."""

from course_lib.explorers.origins import where_from

__all__ = ["where_from"]
