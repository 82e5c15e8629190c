"""Settings of gunicorn, on one machine and in containers alike."""

from typing import Any

from gunicorn.glogging import Logger

from evalsvc.logs import SecretsFilter, without_secrets
from evalsvc.serving.request_buffer import LINE_BYTES

FIELDS = ("r", "U", "q", "f", "{referer}i")

worker_class = "evalsvc.serving.worker.BufferingWorker"
logger_class = "evalsvc.serving.gunicorn_settings.MaskedLogger"
# each may have a temporary file: within the 1,024 open files of a usual process
worker_connections = 400
umask = 0o077
limit_request_line = LINE_BYTES
accesslog = "-"
control_socket_disable = True
sendfile = False  # sent in slices, with a deadline for each


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
