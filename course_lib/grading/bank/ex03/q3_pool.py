"""Question 03.q3: whether a model fits into the pool."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Truth
from course_lib.grading.question import Case, Misconception, Question


def fits(n_layers: int, layer_GB: float, own_GB: float, hbm_GB: float, n_gpus: int) -> bool:
    """Return whether whole layers fit on the GPUs when each GPU keeps own_GB for itself."""
    room_GB = hbm_GB - own_GB
    return bool(room_GB >= 0 and n_gpus * int(room_GB // layer_GB) >= n_layers)


# layers, GB of a layer, own GB, memory of a GPU, GPUs: every wrong model fails at one of them at least
_FITS = (
    (1, 10, 0, 80, 1), (1, 10, 0, 9, 1), (8, 10, 0, 80, 1), (9, 10, 0, 80, 1), (1, 10, 90, 80, 1), (0, 10, 10, 80, 8),
    (1, 100, 0, 80, 8), (8, 60, 5, 80, 8), (9, 60, 5, 80, 8), (16, 40, 0, 80, 8), (16, 40, 1, 80, 8), (16, 35, 10, 80, 8),
    (16, 36, 10, 80, 8), (17, 35, 5, 80, 8), (10, 50, 5, 80, 8), (126, 6, 8, 141, 8), (126, 6, 20, 80, 8),
)  # fmt: skip


def _pool_cases(rng: np.random.Generator) -> list[Case]:
    rows = list(_FITS)
    while len(rows) < len(_FITS) + 12:
        layer, own, n = int(rng.integers(3, 60)), int(rng.integers(0, 21)), int(rng.choice([2, 4, 8, 16]))
        hbm = int(rng.choice([80, 141, 180]))
        edge = n * ((hbm - own) // layer)  # layers near the limit: that is where models differ
        rows.append((max(0, edge + int(rng.integers(-1, 3))), layer, own, hbm, n))
    names = ("n_layers", "layer_GB", "own_GB", "hbm_GB", "n_gpus")
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


q3 = Question(
    id="03.q3",
    title=_("Does this model fit into the pool?"),
    points=2,
    answer="fits",
    kind="function",
    expects=Truth(),
    inputs=_pool_cases,
    reference=fits,
    misconceptions=(
        # The narrower mistakes first: whatever they get wrong, merged memory gets wrong as well.
        Misconception(
            "layers cut in two",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB <= n_gpus * (hbm_GB - own_GB),
            _("You let a layer lie half on one GPU and half on the next. Each layer is whole: room too small for one stays empty."),
        ),
        Misconception(
            "own part forgotten",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_gpus * (hbm_GB // layer_GB) >= n_layers,
            _("You leave out what every GPU keeps for itself. It is needed on each of them."),
        ),
        Misconception(
            "NVLink merges memory",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB + own_GB <= n_gpus * hbm_GB,
            _("You treat the box as one memory: everything needed once, against the sum of all GPUs. NVLink does not merge memory."),
        ),
        Misconception(
            "the sum of all memories",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB <= n_gpus * hbm_GB,
            _("You hold the layers against the sum of all memories. Each GPU keeps own_GB first, and each layer is whole."),
        ),
        Misconception(
            "everything on one GPU",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB + own_GB <= hbm_GB,
            _("You ask whether the model fits on one GPU. Layers may lie on different GPUs."),
        ),
        Misconception(
            "not to the last byte",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: (n_layers == 0 and hbm_GB >= own_GB) or (
                -(-n_layers // n_gpus) * layer_GB + own_GB < hbm_GB
            ),
            _("You refuse a memory that would be filled to the last byte. That is fine: at most, and not less than."),
        ),
        Misconception(
            "one layer a GPU",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers <= n_gpus and (
                (layer_GB if n_layers else 0) + own_GB <= hbm_GB
            ),
            _("You place one layer on a GPU. It holds as many as it has room for."),
        ),
        Misconception(
            "the rest of the layers dropped",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers // n_gpus * layer_GB + own_GB <= hbm_GB,
            _("You deal the layers out evenly and drop the rest. Some GPU has to take one layer more."),
        ),
        Misconception(
            "room rounded up",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: hbm_GB >= own_GB and (
                n_gpus * -(-(hbm_GB - own_GB) // layer_GB) >= n_layers
            ),
            _("You round the layers of a GPU up, or to the nearest number. Room that is too small for a layer holds none."),
            recognise=lambda given, n_layers, layer_GB, own_GB, hbm_GB, n_gpus: given is True,
        ),
    ),
)  # fmt: skip
