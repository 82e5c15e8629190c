"""Logs of gunicorn without the secrets that stand in addresses."""

from __future__ import annotations

from typing import Any

from gunicorn.glogging import Logger

from evalsvc.logs import SecretsFilter, without_secrets

FIELDS = ("r", "U", "q", "f", "{referer}i")


class MaskedLogger(Logger):
    """gunicorn's logger; the secrets of addresses are masked."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.addFilter(SecretsFilter())  # it names the address of a failed request

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        fields: dict[str, Any] = super().atoms(*arguments)
        masked = {name: without_secrets(fields[name]) for name in FIELDS if fields.get(name)}
        # cookies and tokens are in no line, whatever the format
        hidden = dict.fromkeys(("{cookie}i", "{authorization}i"), "-")
        return {**fields, **masked, **hidden}
