"""Places are free at once again: nothing is leased while a project is recomputed."""

from django.db import migrations


def recompute(apps, schema_editor):
    """Free the places that wait for it."""
    items, jobs = apps.get_model("annotation", "Item").objects, apps.get_model("jobs", "Job").objects
    for project in items.filter(held=True).order_by().values_list("project", flat=True).distinct():
        jobs.create(kind="recompute", queue="ingest", subject=project, lane=f"project {project}")


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0041_held_places"),
        ("jobs", "0004_turns"),
    ]

    operations = [
        migrations.RunPython(recompute, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="item", name="item_held"),
        # by hand: Django makes a new table on SQLite for it, without the triggers of the old one
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE annotation_item DROP COLUMN held",
                    "ALTER TABLE annotation_item ADD COLUMN held boolean NOT NULL DEFAULT FALSE",
                )
            ],
            state_operations=[migrations.RemoveField(model_name="item", name="held")],
        ),
    ]
