"""`make messages`: bring the catalogues up to date with the course's text, compile them, and say what they lack.

python -m course_lib.locales.messages                     update and compile every catalogue that exists
python -m course_lib.locales.messages --begin zh_CN       begin a catalogue, without translations
python -m course_lib.locales.messages --missing zh_CN     print what is not translated, as a JSON object of empty texts
python -m course_lib.locales.messages --take zh_CN x.json take translations from such an object, once it is filled
python -m course_lib.locales.messages --check             change nothing; print all faults; 1 if there are any
"""

import argparse
import datetime as dt
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from course_lib.base.language import LOCALES
from course_lib.locales.check import catalogue_faults
from course_lib.locales.extract import messages

DOMAIN = "interconnect"
DATE = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)  # fixed, so that a run that finds nothing new changes nothing


def po_file(language: str, folder: Path = LOCALES) -> Path:
    """Return where a language's catalogue lies; the compiled one lies beside it.

    >>> po_file("zh_CN").parts[-3:]
    ('zh_CN', 'LC_MESSAGES', 'interconnect.po')
    """
    return folder / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def languages(folder: Path = LOCALES) -> list[str]:
    """Return the languages that have a catalogue.

    >>> isinstance(languages(), list)
    True
    """
    return sorted(path.parts[-3] for path in folder.glob(f"*/LC_MESSAGES/{DOMAIN}.po"))


def read(language: str, folder: Path = LOCALES):
    """Return a language's catalogue as Babel reads it."""
    from babel.messages.pofile import read_po

    with po_file(language, folder).open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def fresh(language: str, said: Mapping[str, list[str]], known: Mapping[str, str]):
    """Return a catalogue of what the course says (message -> modules), with the translations that are `known`."""
    from babel.messages.catalog import Catalog

    catalogue = Catalog(
        locale=language,
        domain=DOMAIN,
        project="interconnect-course",
        header_comment="# Translations of the course's messages; docs/translate.md says how.",
        creation_date=DATE,
        revision_date=DATE,
        fuzzy=False,
    )
    for text, places in said.items():
        catalogue.add(text, known.get(text, ""), locations=[(place, None) for place in places])
    return catalogue


def known_in(catalogue) -> dict[str, str]:
    """Return the finished translations of a catalogue: neither empty nor fuzzy."""
    return {m.id: m.string for m in catalogue if m.id and m.string and not m.fuzzy and isinstance(m.id, str)}


def as_bytes(catalogue) -> tuple[bytes, bytes]:
    """Return a catalogue as text (.po) and compiled (.mo)."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import write_po

    po, mo = io.BytesIO(), io.BytesIO()
    write_po(po, catalogue, width=0, sort_by_file=False, include_lineno=False)
    write_mo(mo, catalogue)
    return po.getvalue(), mo.getvalue()


def update(
    language: str, said: Mapping[str, list[str]], more: Mapping[str, str] | None = None, folder: Path = LOCALES
) -> int:
    """Write a language's catalogue anew, keeping what is translated and taking `more`; return how many texts are missing."""
    path = po_file(language, folder)
    known = known_in(read(language, folder)) if path.exists() else {}
    known |= {text: translation for text, translation in (more or {}).items() if translation}
    path.parent.mkdir(parents=True, exist_ok=True)
    po, mo = as_bytes(fresh(language, said, known))
    path.write_bytes(po)
    path.with_suffix(".mo").write_bytes(mo)
    return sum(text not in known for text in said)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.locales.messages", description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--begin", metavar="LANGUAGE")
    what.add_argument("--missing", metavar="LANGUAGE")
    what.add_argument("--take", nargs=2, metavar=("LANGUAGE", "FILE"))
    what.add_argument("--check", action="store_true")
    parser.add_argument("--folder", type=Path, default=LOCALES, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    said, folder = messages(), args.folder
    if args.missing:
        known = known_in(read(args.missing, folder)) if po_file(args.missing, folder).exists() else {}
        print(json.dumps({text: "" for text in said if text not in known}, ensure_ascii=False, indent=0))
        return 0
    if args.check:
        faults = [
            f"{one}: {fault}" for one in languages(folder) for fault in catalogue_faults(read(one, folder), said, one)
        ]
        print(
            "\n".join(faults) or f"{len(said)} messages; no faults in {', '.join(languages(folder)) or 'no catalogue'}"
        )
        return 1 if faults else 0
    more = {}
    if args.take:
        more = json.loads(Path(args.take[1]).read_text(encoding="utf-8"))
        strange = sorted(set(more) - set(said))
        if strange:
            print(
                f"{len(strange)} texts are none of the course's messages, and are left out: {strange[0]!r} …",
                file=sys.stderr,
            )
    chosen = [args.begin or (args.take and args.take[0])] if args.begin or args.take else languages(folder)
    for language in chosen:
        missing = update(language, said, more, folder)
        print(f"{language}: {len(said) - missing} of {len(said)} messages are translated")
    if not chosen:
        print(f"{len(said)} messages; there is no catalogue yet (--begin zh_CN makes one)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
