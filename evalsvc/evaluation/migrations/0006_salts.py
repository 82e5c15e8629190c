from django.db import migrations, models
from django.utils.crypto import salted_hmac


def keep_salts(apps, schema_editor):
    """Store the salts of earlier commitments, which were derived from the secret key."""
    versions = apps.get_model("evaluation", "SettingVersion").objects.filter(gold_salt="")
    for sha256 in set(versions.values_list("gold_sha256", flat=True)):
        salt = salted_hmac("salt of the commitment to a gold", sha256, algorithm="sha256").hexdigest()
        versions.filter(gold_sha256=sha256).update(gold_salt=salt)


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0005_split'),
    ]

    operations = [
        migrations.AddField(
            model_name='settingversion',
            name='gold_salt',
            field=models.CharField(default='', help_text='Secret salt of the commitment to its gold.', max_length=64),
            preserve_default=False,
        ),
        migrations.RunPython(keep_salts, migrations.RunPython.noop),
    ]
