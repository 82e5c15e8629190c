"""What is to be predicted, as a file to take away: frozen lines without what would give the answer."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from annotation.testset import export_lines
from evalsvc.evaluation.benchmarks import expected_ids
from evalsvc.evaluation.models import Setting


class Mention(msgspec.Struct, omit_defaults=True):
    id: str | None = None
    name: str = ""
    pos: tuple[int, int] | None = None


class Input(msgspec.Struct, omit_defaults=True):
    """A gold line that knows no gold: whatever else the line holds is not even read."""

    id: str
    text: str | None = None
    tokens: list[str] | None = None
    h: Mention | None = None
    t: Mention | None = None


def lines(setting: Setting) -> Iterator[bytes]:
    """The setting's lines in its order, which is that of CoNLL columns and of a dense file's rows too."""
    kept = expected_ids.of_setting(setting).ids
    decoder, encoder = msgspec.json.Decoder(Input), msgspec.json.Encoder(order="deterministic")
    for raw in export_lines(setting.test_set):
        line = decoder.decode(raw)
        if line.id in kept:
            yield encoder.encode(line) + b"\n"
