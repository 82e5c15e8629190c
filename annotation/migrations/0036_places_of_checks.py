"""Draw the places of the hidden checks that there are: their order was that of their files."""

import secrets

from django.db import migrations, models

import annotation.models.oversight

AT_ONCE = 1_000


def draw(apps, schema_editor):
    known = apps.get_model("annotation", "KnownAnswer").objects
    for answer in known.only("pk").iterator(AT_ONCE):
        known.filter(pk=answer.pk).update(place=secrets.randbelow(1 << 31))


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0035_withdrawn_answers"),
    ]

    operations = [
        migrations.AddField(
            model_name="knownanswer",
            name="place",
            field=models.PositiveIntegerField(
                db_default=0, default=annotation.models.oversight.drawn_place, editable=False
            ),
        ),
        migrations.RunPython(draw, migrations.RunPython.noop),
    ]
