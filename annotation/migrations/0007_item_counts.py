"""Counts of items by import and state; triggers keep them in the transaction of each change."""

import django.db.models.deletion
from django.db import migrations, models

COLUMNS = "batch_id, use, state, free, k, extra, policy_matters, n_labels, pattern"
GROUPS = "1, 2, 3, 4, 5, 6, 7, 8, 9"
CHANGING = ("batch_id", "use", "state", "free", "k", "extra", "policy_matters", "gold", "pattern")


def values(row, length):
    """The counted columns of a row, with the function for the length of a JSON list."""
    n_labels = f"COALESCE(NULLIF({length(row, 'spans')}, 0), {length(row, 'relations')}, 0)"
    names = ("batch_id", "use", "state", "free")
    plain = ", ".join(f"{row}.{name}" for name in names)
    pattern = f"CASE {row}.state WHEN 'disputed' THEN {row}.pattern ELSE '' END"
    return f"{plain}, COALESCE({row}.k, 0), {row}.extra, {row}.policy_matters, {n_labels}, {pattern}"


def sqlite_length(row, name):
    return f"JSON_ARRAY_LENGTH({row}.gold, '$.{name}')"


def postgresql_length(row, name):
    return f"JSONB_ARRAY_LENGTH({row}.gold -> '{name}')"


def sqlite_triggers():
    """One writer at a time: a row for each combination of values."""
    old, new = values("OLD", sqlite_length), values("NEW", sqlite_length)
    more = f"""UPDATE annotation_itemcount SET n = n + 1 WHERE ({COLUMNS}) = ({new});
        INSERT INTO annotation_itemcount ({COLUMNS}, n) SELECT {new}, 1 WHERE changes() = 0;"""
    less = f"UPDATE annotation_itemcount SET n = n - 1 WHERE ({COLUMNS}) = ({old});"
    changed = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in CHANGING)
    yield f"CREATE TRIGGER items_counted_in AFTER INSERT ON annotation_item BEGIN {more} END"
    yield f"CREATE TRIGGER items_counted_out AFTER DELETE ON annotation_item BEGIN {less} END"
    yield f"""CREATE TRIGGER items_counted_again AFTER UPDATE OF {", ".join(CHANGING)} ON annotation_item
        WHEN {changed} BEGIN {less} {more} END"""


def postgresql_triggers():
    """Rows with differences: an UPDATE of one row would make votes wait for each other."""
    insert = f"INSERT INTO annotation_itemcount ({COLUMNS}, n)"
    each = values("item", postgresql_length)
    old, new = values("OLD", postgresql_length), values("NEW", postgresql_length)
    changed = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in CHANGING)
    yield f"""CREATE FUNCTION count_items() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            {insert} SELECT {each}, COUNT(*) FROM changed item GROUP BY {GROUPS};
        ELSIF TG_OP = 'DELETE' THEN
            {insert} SELECT {each}, -COUNT(*) FROM changed item GROUP BY {GROUPS};
        ELSE
            {insert} VALUES ({old}, -1), ({new}, 1);
        END IF;
        RETURN NULL;
    END $$"""
    yield """CREATE TRIGGER items_counted_in AFTER INSERT ON annotation_item
        REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_items()"""
    yield """CREATE TRIGGER items_counted_out AFTER DELETE ON annotation_item
        REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_items()"""
    yield f"""CREATE TRIGGER items_counted_again AFTER UPDATE ON annotation_item
        FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION count_items()"""


def count(apps, editor):
    sqlite = editor.connection.vendor == "sqlite"
    each = values("item", sqlite_length if sqlite else postgresql_length)
    editor.execute(
        f"INSERT INTO annotation_itemcount ({COLUMNS}, n)"
        f" SELECT {each}, COUNT(*) FROM annotation_item item GROUP BY {GROUPS}"
    )
    for statement in sqlite_triggers() if sqlite else postgresql_triggers():
        editor.execute(statement)


def stop(apps, editor):
    postgresql = editor.connection.vendor == "postgresql"
    for name in ("items_counted_in", "items_counted_out", "items_counted_again"):
        editor.execute(f"DROP TRIGGER {name}" + (" ON annotation_item" if postgresql else ""))
    if postgresql:
        editor.execute("DROP FUNCTION count_items")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_reword_help_of_extra")]
    operations = [
        migrations.CreateModel(
            name="ItemCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("use", models.CharField(blank=True, max_length=8)),
                ("state", models.CharField(max_length=12)),
                ("free", models.SmallIntegerField()),
                ("k", models.PositiveSmallIntegerField(help_text="0 for the project's.")),
                ("extra", models.PositiveSmallIntegerField()),
                ("policy_matters", models.BooleanField()),
                (
                    "n_labels",
                    models.PositiveIntegerField(help_text="Spans of the gold, without spans its relations."),
                ),
                ("pattern", models.CharField(blank=True, help_text="Of disputed items.", max_length=40)),
                ("n", models.BigIntegerField()),
                (
                    "batch",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="item_counts",
                        to="annotation.batch",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["batch", "use", "state", "free"], name="item_counts")]
            },
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("policy_matters", True)),
                fields=["project", "rank"],
                name="item_policy",
            ),
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("emptied__gt", 0)), fields=["project"], name="item_emptied"
            ),
        ),
        migrations.RunPython(count, stop, elidable=False),
    ]
