"""Stored files in S3 or a compatible store, with the errors of a file system."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from evalsvc.core.errors.exceptions import StorageFault
from evalsvc.core.storage import is_elsewhere

# Requests wait for it: a store that is away or hangs is noticed in seconds, by default in minutes.
TIMES = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})
IN_MEMORY_BYTES = 1 << 20
Method = TypeVar("Method", bound=Callable[..., Any])


def with_file_errors(method: Method) -> Method:
    """Raise FileNotFoundError or StorageFault instead of the client's exceptions."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                raise FileNotFoundError(f"The object does not exist: {error}") from error
            raise StorageFault(f"The object store answered: {error}") from error
        except (BotoCoreError, Boto3Error) as error:
            raise StorageFault(f"The object store is unavailable: {error}") from error

    return cast(Method, call)


class ObjectStorage(S3Storage):
    """A bucket; jobs treat its faults like those of a disk, and try again."""

    client_config: Config

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.client_config = self.client_config.merge(TIMES)
        self._present: set[str] = set()  # folders that were seen to have files

    def get_default_settings(self) -> dict[str, Any]:
        defaults = {"file_overwrite": False, "max_memory_size": IN_MEMORY_BYTES}
        return {**super().get_default_settings(), **defaults}

    @with_file_errors
    def _open(self, name: str, mode: str = "rb") -> Any:
        file = super()._open(name, mode)
        file.open()  # downloads it now: a later read finds it complete, on this machine
        return file

    @with_file_errors
    def _save(self, name: str, content: Any) -> str:
        self._require_present(name.partition("/")[0])
        return str(super()._save(name, content))

    def _require_present(self, folder: str) -> None:
        """Reject a write to another bucket than the one that rows speak of."""
        if folder in self._present:
            return
        if not any(self.bucket.objects.filter(Prefix=f"{folder}/").limit(1)) and is_elsewhere(
            folder, self.exists
        ):
            bucket = self.bucket_name
            raise StorageFault(f"The bucket {bucket} has none of the stored files. Check STORAGE_OPTIONS.")
        self._present.add(folder)

    delete = with_file_errors(S3Storage.delete)
    exists = with_file_errors(S3Storage.exists)
    listdir = with_file_errors(S3Storage.listdir)
    size = with_file_errors(S3Storage.size)
    get_modified_time = with_file_errors(S3Storage.get_modified_time)
