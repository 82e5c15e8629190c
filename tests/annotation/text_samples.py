"""Texts with a head and a tail in scripts and lengths that break offset counting."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

# in most of these, a character as people see it is not one code point
NAMES = (
    "Ada",
    "👩‍🚀",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "🇫🇮🇪🇪",
    "👍🏽",
    "e\u0301va",
    "Å\u0323ngstro\u0308m",
    "z̷̢a̴l̵g̶o",
    "ﬁnch",
    "艾达",
    "都灵市",
    "東京タワー",
    "ｶﾞｷﾞ",
    "서울",
    "\u1112\u1161\u11ab",
    "𠮷野家",
    "القاهرة",
    "مُحَمَّد",
    "ירושלים",
    "שָׁלוֹם",
    "क्षत्रिय",
    "ประเทศไทย",
    "ကမ္ဘာ",
    "𝔸𝕕𝕒",
    "𓀀𓂀",
    "a\u200db",
    "<b>&amp;",
    '"quoted"',
    "\u2067Ada\u2069",
)
FRAMES = (
    "{h} lived in {t}.",
    "🗼 {t} ← {h} 🐌",
    "e\u0301{h}e\u0301{t}e\u0301",
    "قال {h} إن {t} جميلة",
    "הם {h} גרו ב{t} אתמול",
    "在{t}，{h}说：“好。”",
    "\u202b{h}\u202c and\u00a0{t}\u200b",
)
LONG = (4_900, 5_000)


class Text(NamedTuple):
    text: str
    head: tuple[int, int]
    tail: tuple[int, int]

    @property
    def names(self) -> tuple[str, str]:
        return self.text[slice(*self.head)], self.text[slice(*self.tail)]


def framed(frame: str, head: str, tail: str) -> Text:
    """Fill both names into a frame; spans count code points."""
    start, end = (frame.index(mark) for mark in ("{h}", "{t}"))
    first, second = (head, tail) if start < end else (tail, head)
    text = frame.replace("{h}", head).replace("{t}", tail)
    early = min(start, end)
    late = max(start, end) - 3 + len(first)
    spans = (early, early + len(first)), (late, late + len(second))
    return Text(text, *(spans if start < end else spans[::-1]))


def texts() -> list[Text]:
    """Return every frame with every name, and two long texts."""
    pairs = [(name, NAMES[(at * 7 + 3) % len(NAMES)]) for at, name in enumerate(NAMES)]
    short = [framed(frame, head, tail) for frame, (head, tail) in product(FRAMES, pairs)]
    filler = "🐌 слово слово e\u0301 "
    long = [framed(f"{(filler * 400)[:n]}{{h}} {{t}}", "👩‍🚀 Ada", "都灵") for n in LONG]
    return short + long
