"""The glossary covers the lessons, speaks Taiwan's words in Taiwan, and its page is the one in docs/."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from course_lib.base import glossary
from course_lib.base.errors import CourseError
from course_lib.base.glossary import term, terms, written
from course_lib.locales.check import script_faults

ROOT = Path(__file__).parents[2]
NOTEBOOKS = {p.name.partition("_")[0]: p for p in sorted((ROOT / "notebooks").glob("*.ipynb"))}

# term -> the mainland's word and Taiwan's, where they differ in more than the script.
DIFFER = {
    "bandwidth": ("带宽", "頻寬"), "memory": ("内存", "記憶體"), "packet": ("数据包", "封包"), "network": ("网络", "網路"),
    "queue": ("队列", "佇列"), "server": ("服务器", "伺服器"), "byte": ("字节", "位元組"), "bit": ("比特", "位元"),
    "switch": ("交换机", "交換器"), "node": ("节点", "節點"), "tensor slicing": ("张量切分", "張量切分"),
    "network card": ("网卡", "網路卡"), "port": ("端口", "連接埠"), "multicast": ("组播", "群播"), "driver": ("驱动程序", "驅動程式"),
    "optimizer": ("优化器", "最佳化器"), "data parallel": ("数据并行", "資料平行"), "asynchronous": ("异步", "非同步"),
    "cluster": ("集群", "叢集"), "rack": ("机架", "機櫃"), "Ethernet": ("以太网", "乙太網路"), "congestion": ("拥塞", "壅塞"),
    "bus bandwidth": ("总线带宽", "匯流排頻寬"), "algorithm bandwidth": ("算法带宽", "演算法頻寬"), "noise": ("噪声", "雜訊"),
    "cache": ("缓存", "快取"), "RDMA": ("远程直接内存访问（RDMA）", "遠端直接記憶體存取（RDMA）"),
}  # fmt: skip


@cache
def prose(lesson):
    cells = json.loads(NOTEBOOKS[lesson].read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown").lower()


def test_the_page_in_docs_is_the_written_one():
    assert (ROOT / glossary.PAGE).read_text(encoding="utf-8") == written(), "run python -m course_lib.base.glossary"


def test_there_are_terms_from_every_lesson():
    lessons = [t.lesson for t in terms().values()]
    assert 120 <= len(lessons) <= 250
    assert set(lessons) == set(NOTEBOOKS)


def test_each_term_stands_in_the_lesson_that_introduces_it():
    absent = [
        t.term for t in terms().values() if not re.search(rf"(?<![a-z]){re.escape(t.term.lower())}", prose(t.lesson))
    ]
    assert not absent


def test_no_lesson_defines_a_term_before_the_one_that_introduces_it():
    """A word in bold, alone or in the plural, is defined there (STYLE.md)."""
    early = {}
    for t in terms().values():
        bold = re.compile(rf"\*\*{re.escape(t.term.lower())}(s|es)?\*\*(?! question)")
        if t.term in OTHER_SENSE:
            continue
        first = next((lesson for lesson in NOTEBOOKS if bold.search(prose(lesson))), t.lesson)
        if list(NOTEBOOKS).index(first) < list(NOTEBOOKS).index(t.lesson):
            early[t.term] = f"in bold in {first}, {t.lesson} in the glossary"
    assert early == {}


def test_a_term_is_in_bold_again_only_where_it_is_said_more_closely():
    again = set()
    for t in terms().values():
        bold = re.compile(rf"\*\*{re.escape(t.term.lower())}(s|es)?\*\*(?! question)")
        again |= {(t.term, lesson) for lesson in NOTEBOOKS if lesson != t.lesson and bold.search(prose(lesson))}
    assert {one for one in again if one[0] not in OTHER_SENSE} <= AGAIN


def test_meanings_are_one_plain_sentence():
    for t in terms().values():
        assert t.meaning.endswith("."), t.term
        assert ". " not in t.meaning, t.term
        assert len(t.meaning) <= 120, t.term


def test_each_script_has_its_own_characters_and_words():
    for t in terms().values():
        assert not script_faults(t.zh_CN, "zh_CN"), t.term
        if t.term != "heads":
            assert not script_faults(t.zh_TW, "zh_TW"), t.term


@pytest.mark.parametrize("name", DIFFER)
def test_where_the_words_differ_taiwan_has_its_own(name):
    assert (terms()[name].zh_CN, terms()[name].zh_TW) == DIFFER[name]


def test_bold_single_words_of_the_lessons_are_in_the_glossary():
    """STYLE.md: bold only where a term is defined; so a bold word or two in running text is a term."""
    known = " ".join(terms()).lower()
    odd = {}
    for lesson in NOTEBOOKS:
        for words in re.findall(r"(?<=[a-z,] )\*\*([a-z][a-z0-9 –-]{2,30})\*\*(?= |,|\.|:|;)", prose(lesson)):
            stems = {words, words.removesuffix("s"), words.removesuffix("es")}
            if len(words.split()) <= 2 and not any(stem in known for stem in stems):
                odd.setdefault(words, lesson)
    assert set(odd) <= NOT_TERMS, {w: odd[w] for w in set(odd) - NOT_TERMS}


# A word that an earlier lesson defines in another sense: a driver stages a copy in host memory.
OTHER_SENSE = {"stage"}

# Named in one lesson and taken apart in another, or of two kinds of thing: a job's unit is no layer's.
AGAIN = {
    ("NVLink", "01"), ("PCIe", "01"), ("packet", "01"), ("line rate", "01"), ("latency", "02"), ("bandwidth", "02"),
    ("ring", "04"), ("ring", "05"), ("unit", "10"),
}  # fmt: skip

# Bold for weight and not for a definition, or the spelling of a kind of path in a matrix.
NOT_TERMS = {"phb", "pxb", "copy", "sum", "not", "one card", "slower"}


def test_an_unknown_term_is_told_the_nearest():
    with pytest.raises(CourseError, match="bandwidth"):
        term("bandwith")


def test_a_broken_table_is_refused(tmp_path, monkeypatch):
    broken = tmp_path / "glossary.csv"
    for text, says in (
        ("term,zh_CN,zh_TW,meaning\n", "columns"),
        ("term,zh_CN,zh_TW,meaning,lesson\nbit,比特,,A bit.,00\n", "Line 2"),
        ("term,zh_CN,zh_TW,meaning,lesson\n" + 2 * "bit,比特,位元,A bit.,00\n", "twice"),
    ):
        broken.write_text(text, encoding="utf-8")
        monkeypatch.setattr(glossary, "FILE", broken)
        terms.cache_clear()
        with pytest.raises(CourseError, match=says):
            terms()
    monkeypatch.undo()
    terms.cache_clear()
