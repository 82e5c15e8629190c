"""The service's settings for a test run: a data folder of its own, quick passwords, no broker."""

import atexit
import os
import shutil
import tempfile

DATA = tempfile.mkdtemp(prefix="evalsvc-test-")
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["EVALSVC_DATA"] = DATA
os.mkdir(os.path.join(DATA, "static"))  # an absent one makes WhiteNoise warn
for name in (
    "DATABASE_URL",
    "BROKER_URL",
    "REDIS_URL",
    "STORAGE_BACKEND",
    "EVALSVC_HTTPS",
    "SECRET_KEY",
    "OIDC_CLIENT_ID",
    "SIGN_UP",
    "EMAIL_URL",
):
    os.environ.pop(name, None)

os.environ["CHECKS_PER_HOUR"] = "1000000"  # tests share their people's numbers
os.environ["FREE_BYTES_LEAST"] = "0"  # doctor finds nothing, wherever tests run
os.environ["JOB_MEMORY_BYTES"] = "0"  # of a process that grows with its tests; a test sets one
os.environ["UPKEEP_SECONDS"] = "0"  # a test queues it
os.environ["MODEL_UPLOADS"] = "off"  # workers of tests don't try their sandbox first; a test says auto

from evalsvc.settings import *  # noqa: E402, F403
from evalsvc.settings import MIDDLEWARE, STORAGES  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
CELERY_BROKER_URL = "memory://"
# A heartbeat of a job in this process would wait 20 s for the test's own transaction on SQLite.
JOB_LEASE_SECONDS, JOB_HEARTBEAT_SECONDS = 7_201, 3_600
MAIL_IN_REQUEST = True
MIDDLEWARE = ["tests.places.one_line.OneLineMiddleware", *MIDDLEWARE]
