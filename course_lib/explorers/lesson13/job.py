"""The job that most of lesson 13 prices: its model, its restart, its tokens."""

from course_lib.cluster.published import known
from course_lib.plan.transformer import model, params

MODEL = "llama3-405b"
RESTART = "restart-lablup"


def tokens_per_s_per_gpu() -> float:
    """Return the tokens a second that one GPU trains of Llama 3 405B at its published rate, six operations a parameter and token.

    >>> round(tokens_per_s_per_gpu())
    164
    """
    return known("llama3-flops").value / (6 * params(model(MODEL)).total)


def restart_s() -> float:
    """Return the seconds of a restart that the lesson takes: the median of one published cluster.

    >>> restart_s()
    660.0
    """
    return known(RESTART).value
