"""Store the calls made so far: they followed from the answers each time."""

from django.db import migrations, models
from django.db.models import F


def store(apps, schema_editor):
    items = apps.get_model("annotation", "Item").objects
    items.filter(extra__gt=F("asked")).update(called=F("extra") - F("asked"))


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0036_places_of_checks"),
    ]

    operations = [
        # by hand: Django makes a new table on SQLite for it, without the triggers of the old one
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE annotation_item ADD COLUMN called smallint NOT NULL DEFAULT 0 CHECK (called >= 0)",
                    "ALTER TABLE annotation_item DROP COLUMN called",
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name="item",
                    name="called",
                    field=models.PositiveSmallIntegerField(
                        db_default=0,
                        default=0,
                        help_text="People called beyond k by the option `calls_extra`.",
                    ),
                ),
            ],
        ),
        migrations.RunPython(store, migrations.RunPython.noop),
    ]
