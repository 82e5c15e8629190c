"""Django app of the roof: home and docs pages, commands, system checks."""

from importlib import import_module

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate, pre_migrate


class ShellConfig(AppConfig):
    name = "evalsvc"
    label = "shell"

    def ready(self) -> None:
        import_module("evalsvc.checks")
        from evalsvc.core.accounts import users
        from evalsvc.core.database import count_after_migrations
        from evalsvc.core.jobs.kinds import Kind, register, register_periodic
        from evalsvc.core.upkeep import registry, retention, stored_files
        from evalsvc.local.backup import check_restore
        from evalsvc.local.schema_check import refuse_to_drop_data

        pre_migrate.connect(refuse_to_drop_data, sender=apps.get_app_config("jobs"))
        post_migrate.connect(count_after_migrations, sender=apps.get_app_config("jobs"))
        register(Kind(registry.KIND, "heavy"))
        register_periodic("upkeep", registry.queue_when_due)
        registry.register_sweep("orphan files", stored_files.sweep_orphans)
        registry.register_sweep(
            "temporary files of uploads", stored_files.sweep_uploads, stored_files.count_uploads
        )
        registry.register_sweep("rows kept no longer", retention.remove)
        registry.register_sweep("missing folded user names", users.fold_names)
        registry.register_check("free space", registry.check_free_space)
        registry.register_check("stored files", stored_files.check_files)
        registry.register_check("jobs", registry.check_jobs)
        registry.register_check("restore", check_restore)
        registry.register_check("connections", registry.check_connections)
