"""Words of texts with long words, as spaCy's tokenizer splits them, in linear time.

spaCy copies the rest of a word for each mark that it takes off, and searches all of it: 12,500 asterisks take
10 s. Here each search sees a few characters around the mark.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]

LONG = 200  # characters of a word
WINDOW, MARGIN = 40, 8  # characters that a search sees, and those that may decide about a mark
RUN = re.compile(r"\S+|\s+")
PROTOCOL = re.compile(r"[\w+.-]{2,}://")
HOST = re.compile(r"[^/?#@]*")
Token = tuple[str, int, int]


def has_long_word(text: str) -> bool:
    return re.search(rf"\S{{{LONG}}}", text) is not None


class Splitter:
    """Split texts by the rules and patterns of a tokenizer of spaCy."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        from spacy.attrs import ORTH  # type: ignore[import-not-found]
        from spacy.tokenizer import Tokenizer as Bare

        self._by = tokenizer
        self._rules = {text: [part[ORTH] for part in parts] for text, parts in tokenizer.rules.items()}
        self._longest = max(map(len, self._rules))
        names = ("prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match")
        bare: Any = Bare(tokenizer.vocab, **{name: getattr(tokenizer, name) for name in names})
        self._patterns: dict[str, list[list[str]]] = defaultdict(list)
        for text in self._rules:
            pattern = [token.text for token in bare(text)]
            if len(pattern) > 1:
                self._patterns[pattern[0]].append(pattern)

    def split(self, text: str) -> list[Token]:
        """Return the words with their bounds."""
        tokens: list[Token] = []
        for run in RUN.finditer(text):
            at = run.start()
            if run[0].isspace():
                tokens += [(run[0], at, run.end())] if at == 0 or run[0] != " " else []
                continue
            for part in self._word(run[0]):
                tokens.append((part, at, at + len(part)))
                at += len(part)
        return [token for token in self._merged(tokens) if not token[0].isspace()]

    def _word(self, word: str) -> list[str]:
        start, end, before, after = 0, len(word), list[str](), list[str]()
        while start < end and not self._is_rule(word, start, end):
            prefix = self._prefix(word, start, end)
            if prefix and self._is_rule(word, start + prefix, end):
                suffix = 0
            else:
                suffix = self._suffix(word, start + prefix, end)
                prefix = 0 if suffix and self._is_rule(word, start, end - suffix) else prefix
            if not (prefix or suffix):
                break
            before += [word[start : start + prefix]] if prefix else []
            after += [word[end - suffix : end]] if suffix else []
            start, end = start + prefix, end - suffix
        return [*before, *self._middle(word[start:end]), *reversed(after)]

    def _is_rule(self, word: str, start: int, end: int) -> bool:
        return end - start <= self._longest and word[start:end] in self._rules

    def _prefix(self, word: str, start: int, end: int) -> int:
        size = WINDOW
        while True:
            part = word[start : min(start + size, end)]
            found = self._by.prefix_search(part)
            if not found or start + size >= end or found.end() < size - MARGIN:
                return found.end() if found else 0
            size *= 2  # as many dots

    def _suffix(self, word: str, start: int, end: int) -> int:
        size = WINDOW
        while True:
            part = word[max(end - size, start) : end]
            found = self._by.suffix_search(part)
            if not found or end - size <= start or found.start() > MARGIN:
                return len(part) - found.start() if found else 0
            size *= 2

    def _middle(self, word: str) -> Iterator[str]:
        """Yield the parts of what has neither prefix nor suffix."""
        if word in self._rules:
            yield from self._rules[word]
            return
        start = 0
        for infix in () if self._is_url(word) else self._by.infix_finditer(word):
            if infix.start():
                yield from filter(None, (word[start : infix.start()], infix[0]))
                start = infix.end()
        yield from filter(None, (word[start:],))

    def _is_url(self, word: str) -> bool:
        """True if a host follows on the start, the protocol or an @; paths may have any characters."""
        protocol = PROTOCOL.match(word)
        starts = [0, protocol.end()] if protocol else [0]
        for start in (*starts, *(at.end() for at in re.finditer("@", word) if at.start())):
            host = HOST.match(word, start)
            assert host is not None
            follows = word[host.end() : host.end() + 1]
            if follows != "@" and host[0].count(":") <= 1 and self._by.url_match(host[0] + follows):
                return True
        return False

    def _merged(self, tokens: list[Token]) -> list[Token]:
        """Replace tokens that together are an exception, such as “:)”; of those that overlap, the longest."""
        found = sorted(
            (-len(pattern), at)
            for at, (text, _, _) in enumerate(tokens)
            for pattern in self._patterns.get(text, ())
            if [token[0] for token in tokens[at : at + len(pattern)]] == pattern
        )
        seen, ends = set[int](), dict[int, int]()
        for length, at in found:
            end = at - length
            if at not in seen and end - 1 not in seen:
                ends[at] = end
            seen.update(range(at, end))
        merged, at = list[Token](), 0
        while at < len(tokens):
            end = ends.get(at, at + 1)
            parts, offset = tokens[at:end], tokens[at][1]
            text = "".join(part[0] for part in parts)
            if end > at + 1 and parts[-1][2] - offset == len(text):  # without blanks between them
                parts = []
                for part in self._rules[text]:
                    parts.append((part, offset, offset + len(part)))
                    offset += len(part)
            merged += parts
            at = end
        return merged
