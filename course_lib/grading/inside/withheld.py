"""Stands for a module that holds the answer to a question: it can be imported, and refuses as soon as it is used."""

from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _

touched: set[str] = set()


class Withheld:
    """A name of a withheld module: calling it or looking into it is refused in words, and remembered."""

    def __init__(self, module: str, name: str) -> None:
        self.__dict__["_where"] = (module, name)

    def _refuse(self) -> CourseError:
        module, name = self.__dict__["_where"]
        touched.add(f"{module}.{name}")
        text = _("`{module}.{name}` is left out while this is marked. Here you write it yourself.")
        return CourseError(text.format(module=module, name=name))

    def __call__(self, *_args: Any, **_more: Any) -> Any:
        raise self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refuse()

    def __mro_entries__(self, bases: tuple) -> tuple:
        return ()

    def __getitem__(self, key: Any) -> Any:
        raise self._refuse()

    def __iter__(self) -> Any:
        raise self._refuse()

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__


def getter(module: str) -> Any:
    """Return the `__getattr__` of a withheld module."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Withheld(module, name)

    return get
