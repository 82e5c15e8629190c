"""PostgreSQL refuses to empty the table of frozen lines at once, which triggers of rows do not see.

The table of sets cannot be emptied without it, as lines refer to their set.
"""

from django.db import migrations

FORBID = [
    """CREATE FUNCTION frozen_lines_are_not_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM annotation_testset WHERE state = 'frozen')
        THEN RAISE EXCEPTION 'a frozen test set cannot be changed'
             USING ERRCODE = 'integrity_constraint_violation'; END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER frozen_lines_are_not_truncated BEFORE TRUNCATE ON annotation_testsetrow
    FOR EACH STATEMENT EXECUTE FUNCTION frozen_lines_are_not_truncated()""",
]
ALLOW = [
    "DROP TRIGGER frozen_lines_are_not_truncated ON annotation_testsetrow",
    "DROP FUNCTION frozen_lines_are_not_truncated",
]


def forbid(apps, editor):
    if editor.connection.vendor == "postgresql":
        for statement in FORBID:
            editor.execute(statement)


def allow(apps, editor):
    if editor.connection.vendor == "postgresql":
        for statement in ALLOW:
            editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_covering_item_room")]
    operations = [migrations.RunPython(forbid, allow, elidable=False)]
