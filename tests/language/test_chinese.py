"""Chinese as an engineer writes it: its punctuation and blanks, one word for one thing, and no English where a term has a name."""

import re

import pytest

from course_lib.base.glossary import terms
from course_lib.base.language import HAN, punctuated
from course_lib.locales.messages import known_in, read

CODES = ("zh_CN", "zh_TW")
# Placeholders that hold numbers, sizes and names: a blank stands beside them as beside any Latin word.
LATIN = {
    "n",
    "size",
    "rate",
    "time",
    "share",
    "percent",
    "ratio",
    "gpus",
    "ranks",
    "system",
    "gpu",
    "seconds",
    "usd",
    "bits",
}
# A word that was said in several ways, and the one that stays.
STAYS = {
    "zh_CN": {
        "块 GPU": "个 GPU", "颗 GPU": "个 GPU", "张网卡": "块网卡", "叉号": "叉", "单方向": "单向", "双向之和": "双向合计",
        "双向相加": "双向合计", "bytes/s": "字节/秒", "词元/s": "词元/秒", "USD": "美元", "学习者": "学员", "解析公式": "闭式公式",
        "传字节": "传输", "传送": "传输", "任务": "作业", "台机箱": "个机箱", "个叶交换机": "台叶交换机", "评阅": "评分",
        "重新计算": "重计算", "显存": "内存", "信道": "通道", "结点": "节点",
        "缺省": "默认", "参量": "参数",
    },
    "zh_TW": {
        "顆 GPU": "個 GPU", "塊 GPU": "個 GPU", "叉號": "叉", "單方向": "單向", "雙向之和": "雙向合計", "雙向相加": "雙向合計",
        "bytes/s": "位元組/秒", "詞元/s": "詞元/秒", "USD": "美元", "學習者": "學員", "封閉解": "閉式公式", "記錄檔": "日誌",
        "條訊息": "則訊息", "佔": "占", "豎": "直、垂直", "超時": "逾時", "沙箱": "沙盒", "佈局": "配置", "密集": "稠密", "串列": "清單",
        "時間線": "時間軸", "丟失": "遺失", "重啟": "重新啟動", "用時": "耗時", "台機箱": "個機箱", "設備": "裝置", "運行": "執行",
        "打印": "列印", "文件夾": "資料夾", "代碼": "程式碼", "調用": "呼叫", "數組": "陣列", "字段": "欄位", "質量": "品質",
        "激活": "作用中", "信號": "訊號", "支持": "支援", "視頻": "影片", "屏幕": "螢幕", "用戶": "使用者", "端口": "連接埠",
        "線程": "執行緒", "變量": "變數", "概率": "機率", "優化": "最佳化", "批量": "批次",
        "比特": "位元", "拷貝": "複製", "日志": "日誌", "閾值": "門檻值", "網卡": "網路卡",
    },
}  # fmt: skip
# Names that are typed or belong to a library, and formulas: what may stay English within a Chinese sentence.
TYPED = re.compile(
    r"`[^`]*`|\"[^\"]*\"|'[^']*'|\([^)]*\)|[(\[{][^\])}]*[\])}]|https?:\S+|[\w.]*_\w+|--\w[\w-]*|\w+(?:[./]\w+)+"
)
KEPT = {  # English words of the glossary that are names of arguments or algorithms where they stand, with what stands beside them
    "ring": "tree", "tree": "ring", "direct": "halving-doubling", "reduce": "broadcast|True", "broadcast": "reduce",
    "loss": "小于|減小|减小|小於", "placement": "rank|顶点|頂點", "weights": "time_s", "request": "both_ways", "tenant": "必须|必須",
    "bit": "unit", "codec": "top-k", "step": "gradients", "box": "Tree", "degree": "per_domain",
}  # fmt: skip


@pytest.fixture(scope="module")
def catalogues():
    return {code: known_in(read(code)) for code in CODES}


@pytest.fixture(params=CODES)
def texts(request, catalogues):
    return catalogues[request.param]


def found(texts, pattern, outside=None):
    search = re.compile(pattern).search
    return [text for text in texts.values() if search(outside.sub("", text) if outside else text)]


def test_between_chinese_words_stands_chinese_punctuation(texts):
    assert found(texts, rf"[{HAN}][,;:?!.]|[,;] ?[{HAN}]|[{HAN}]\.\.\.", outside=re.compile("`[^`]*`")) == []


def test_brackets_are_as_wide_as_what_they_hold(texts):
    """Half-width ones hold only formulas and what is typed."""
    formula = re.compile(r"[−+÷×·/=]")
    narrow = [
        t
        for t in texts.values()
        for held in re.findall(r"\(([^()]*)\)", t)
        if re.search(f"[{HAN}]", held) and not formula.search(t) and '"' not in held
    ]
    assert narrow == []
    assert [t for t in texts.values() if t.count("（") != t.count("）")] == []


def test_quotation_marks_are_those_of_the_place(catalogues):
    assert found(catalogues["zh_CN"], "[「」『』]") == []
    assert found(catalogues["zh_TW"], "[“”‘’]") == []


def test_no_word_is_doubled(texts):
    assert found(texts, "的的|了了|是是|在在|和和|不不|为为|為為|个个|個個|。。|，，|、、|；；|[，；：、]。") == []


def test_a_blank_stands_between_chinese_and_latin(texts):
    assert (
        found(texts, rf"[{HAN}][A-Za-z0-9]|[A-Za-z0-9%][{HAN}]|[{HAN}] [{HAN}]| [，。；：、）]|[，。；：、（] ") == []
    )
    tight = {
        name
        for t in texts.values()
        for pair in re.findall(rf"[{HAN}]\{{(\w+)|\{{(\w+)[^{{}}]*\}}[{HAN}]", t)
        for name in pair
        if name
    }
    assert tight & LATIN == set()


@pytest.mark.parametrize("code", CODES)
def test_one_thing_has_one_word(catalogues, code):
    wrong = {old: hits[:3] for old in STAYS[code] if (hits := found(catalogues[code], re.escape(old)))}
    assert wrong == {}, {old: STAYS[code][old] for old in wrong}


@pytest.mark.parametrize("code", CODES)
def test_what_the_glossary_names_is_not_left_in_english(catalogues, code):
    left = []
    for term in terms().values():
        name = getattr(term, code)
        if term.term in name or re.search("[A-Za-z]{2}", name) or not re.search(f"[{HAN}]", name):
            continue
        word = re.compile(rf"(?<![\w.-]){re.escape(term.term)}(?![\w-]|（|\()")
        for text in catalogues[code].values():
            bare = TYPED.sub("", text)
            if re.search(f"[{HAN}]", bare) and "JSON" not in text and word.search(bare):
                kept = term.term in KEPT and re.search(KEPT[term.term], text)
                left += [] if kept else [(term.term, text)]
    assert left == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("环 用 32 µs. 没有一条比独占时慢", "环用 32 µs。没有一条比独占时慢"),
        ("计算 1 s, 通信 2 s; 450 GB/s.", "计算 1 s，通信 2 s；450 GB/s。"),
        ("  1. 与之相符", "  1. 与之相符"),
        ("box 是 {'a': 1, 'b': 2}；应为 Tree。", "box 是 {'a': 1, 'b': 2}；应为 Tree。"),
        ("two parts, one line; 450 GB/s.", "two parts, one line; 450 GB/s."),
        ("1,000 条消息用 1.5 s", "1,000 条消息用 1.5 s"),
    ],
)
def test_texts_put_together_get_their_punctuation(text, said):
    assert punctuated(text) == said
    assert punctuated(said) == said
