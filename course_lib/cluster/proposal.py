"""A proposal: the keys of a design, checked; a design that states a result is refused."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.cluster.catalogue import item
from course_lib.cluster.inrange import single
from course_lib.cluster.published import DAY_s
from course_lib.cluster.quantities import MEASURES, nearest

PRECISIONS = {"bf16": 2.0, "fp8": 1.0, "fp4": 0.5}
MOST_UNITS, MOST_REQUESTS, MOST_INTERVAL_s = 4096, 1_000_000, 30 * DAY_s


@dataclass(frozen=True, slots=True)
class Proposal:
    """A design: `units` of a `part` of the catalogue, `spares` of their hosts idle, `cards` in use in each host.

    One copy of the model lies on `expert` GPUs that share its experts, attention cut over `tensor` of them, and serves `requests`
    at a time; `precision` is that of the weights ("bf16", "fp8", "fp4"). The night's training saves every `interval_s` seconds.
    """

    part: str
    units: int
    spares: int
    cards: int
    tensor: int
    expert: int
    requests: int
    precision: str
    interval_s: float


KEYS = tuple(f.name for f in fields(Proposal))


def proposal(given: "Proposal | Mapping") -> Proposal:
    """Return a design after checking it: every key, type and bound; a key that claims a result is refused.

    Raises CourseError with a sentence that names the key and what is valid.

    >>> proposal({"part": "b200-box", "units": 0})
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: The design lacks spares, cards, tensor, expert, requests, precision, interval_s.
    """
    table = asdict(given) if isinstance(given, Proposal) else given
    if not isinstance(table, Mapping):
        raise CourseError(_("The design is {kind}; a dict is expected.").format(kind=type(given).__name__))
    for key in table:
        if key in MEASURES or key in ("targets", "values", "claims", "goodput", "cost", "latency"):
            text = _("A design cannot state its own {key}: the models compute it. Keys of a design: {keys}.")
            raise CourseError(text.format(key=key, keys=", ".join(KEYS)))
        if key not in KEYS:
            raise CourseError(_("A design has no key {key!r}. {hint}").format(key=key, hint=nearest(key, KEYS)))
    if missing := [key for key in KEYS if key not in table]:
        raise CourseError(_("The design lacks {keys}.").format(keys=", ".join(missing)))
    for key in ("part", "precision"):
        if not isinstance(table[key], str):
            raise CourseError(_("{key} is {value!r}; a word is expected.").format(key=key, value=table[key]))
    part = item(table["part"])
    units = whole("units", table["units"], at_least=1, at_most=MOST_UNITS)
    spares = whole("spares", table["spares"], at_least=0)
    hosts = units * part.hosts_per_unit
    if spares >= hosts:
        text = _("Hosts {hosts}, spares {spares}: at least one has to work.")
        raise CourseError(text.format(spares=spares, hosts=hosts))
    interval_s = single("interval_s", table["interval_s"], above=0, unit="s")
    if interval_s > MOST_INTERVAL_s:
        text = _("interval_s is {value:.6g} s; at most {most:.6g} s (30 days) lie between two checkpoints.")
        raise CourseError(text.format(value=interval_s, most=MOST_INTERVAL_s))
    return Proposal(
        part.name,
        units,
        spares,
        whole("cards", table["cards"], at_least=1, at_most=part.cards),
        whole("tensor", table["tensor"], at_least=1),
        whole("expert", table["expert"], at_least=1),
        whole("requests", table["requests"], at_least=1, at_most=MOST_REQUESTS),
        one_of(_("precision"), table["precision"], PRECISIONS),
        interval_s,
    )
