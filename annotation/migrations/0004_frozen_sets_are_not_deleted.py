"""SQLite refuses to delete a frozen set and its lines, as PostgreSQL does since 0002."""

from django.db import migrations

REASON = "a frozen test set cannot be changed"
TRIGGERS = {
    "frozen_lines_are_not_deleted": f"""BEFORE DELETE ON annotation_testsetrow
    WHEN (SELECT state FROM annotation_testset WHERE id = OLD.test_set_id) = 'frozen'
    BEGIN SELECT RAISE(ABORT, '{REASON}'); END""",
    "frozen_sets_are_not_deleted": f"""BEFORE DELETE ON annotation_testset
    WHEN OLD.state = 'frozen' BEGIN SELECT RAISE(ABORT, '{REASON}'); END""",
}


def forbid(apps, editor):
    if editor.connection.vendor == "sqlite":
        for name, rule in TRIGGERS.items():
            editor.execute(f"CREATE TRIGGER {name} {rule}")


def allow(apps, editor):
    if editor.connection.vendor == "sqlite":
        for name in TRIGGERS:
            editor.execute(f"DROP TRIGGER {name}")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_releases_and_blocks_of_checks")]
    operations = [migrations.RunPython(forbid, allow, elidable=False)]
