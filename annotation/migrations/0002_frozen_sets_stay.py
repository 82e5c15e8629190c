"""The database itself refuses to change a frozen set: its lines, its digest, its inventory."""

from django.db import migrations

KEPT = ("sha256", "state", "rows", "labels", "negative", "manifest", "kind", "origin", "name", "version")
WORDS = "a frozen test set cannot be changed"

SQLITE = [
    f"""CREATE TRIGGER frozen_lines_stay BEFORE UPDATE ON annotation_testsetrow
    WHEN (SELECT state FROM annotation_testset WHERE id = OLD.test_set_id) = 'frozen'
    BEGIN SELECT RAISE(ABORT, '{WORDS}'); END""",
    f"""CREATE TRIGGER frozen_sets_take_no_lines BEFORE INSERT ON annotation_testsetrow
    WHEN (SELECT state FROM annotation_testset WHERE id = NEW.test_set_id) = 'frozen'
    BEGIN SELECT RAISE(ABORT, '{WORDS}'); END""",
    f"""CREATE TRIGGER frozen_sets_stay BEFORE UPDATE ON annotation_testset
    WHEN OLD.state = 'frozen' AND ({" OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in KEPT)})
    BEGIN SELECT RAISE(ABORT, '{WORDS}'); END""",
]
POSTGRESQL = [
    f"""CREATE FUNCTION frozen_line_stays() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM annotation_testset WHERE state = 'frozen'
                   AND id = CASE WHEN TG_OP = 'INSERT' THEN NEW.test_set_id ELSE OLD.test_set_id END)
        THEN RAISE EXCEPTION '{WORDS}' USING ERRCODE = 'integrity_constraint_violation'; END IF;
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END $$""",
    """CREATE TRIGGER frozen_lines_stay BEFORE INSERT OR UPDATE OR DELETE ON annotation_testsetrow
    FOR EACH ROW EXECUTE FUNCTION frozen_line_stays()""",
    f"""CREATE FUNCTION frozen_set_stays() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.state = 'frozen' AND (TG_OP = 'DELETE' OR
            {" OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in KEPT)})
        THEN RAISE EXCEPTION '{WORDS}' USING ERRCODE = 'integrity_constraint_violation'; END IF;
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END $$""",
    """CREATE TRIGGER frozen_sets_stay BEFORE UPDATE OR DELETE ON annotation_testset
    FOR EACH ROW EXECUTE FUNCTION frozen_set_stays()""",
]
NAMES = {
    "sqlite": [
        "DROP TRIGGER frozen_lines_stay",
        "DROP TRIGGER frozen_sets_take_no_lines",
        "DROP TRIGGER frozen_sets_stay",
    ],
    "postgresql": [
        "DROP TRIGGER frozen_lines_stay ON annotation_testsetrow",
        "DROP TRIGGER frozen_sets_stay ON annotation_testset",
        "DROP FUNCTION frozen_line_stays",
        "DROP FUNCTION frozen_set_stays",
    ],
}


def forbid(apps, editor):
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}.get(editor.connection.vendor, []):
        editor.execute(statement)


def allow(apps, editor):
    for statement in NAMES.get(editor.connection.vendor, []):
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(forbid, allow, elidable=False)]
