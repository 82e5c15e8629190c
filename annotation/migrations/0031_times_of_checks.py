from typing import Any

from django.db import migrations
from django.db.models.functions import Now


def add_times(apps: Any, schema_editor: Any) -> None:
    """Give checks a time like sentences: reading one takes longer than reading none."""
    apps.get_model("annotation", "Item").objects.filter(use="check", freed_at=None).update(freed_at=Now())


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0030_choices_of_candidates_by_jobs"),
    ]

    operations = [
        migrations.RunPython(add_times, migrations.RunPython.noop, elidable=True),
    ]
