"""Upkeep of prediction files."""

from __future__ import annotations

from evalsvc.core.upkeep.registry import register_sweep
from evalsvc.core.upkeep.stored_files import Folder, register_folder
from evalsvc.evaluation.models import PredictionFile
from evalsvc.evaluation.submissions import file_store

CURE = "Restore the file from a backup, or ask its team to submit the same file again."


def register() -> None:
    register_folder(Folder("predictions", PredictionFile, "name", CURE))
    register_sweep("unused files", file_store.sweep)
