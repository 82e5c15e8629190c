"""Settings of the bare application: the database as the service opens it."""

import os

import environ

SECRET_KEY = "only-for-measuring-" + "0" * 40
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["bench.queue.bare"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]  # sets Content-Length, so connections stay open
ROOT_URLCONF = "bench.queue.bare.views"
DATABASES = {
    "default": environ.Env.db_url_config(os.environ["DATABASE_URL"])
    | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
UPLOAD_MAX_BYTES = MODEL_MAX_BYTES = 1_000_000  # the bodies that the web server accepts

# asked for by the web server settings that both applications share
SINGLE_SIGN_ON, CELERY_BROKER_TRANSPORT_OPTIONS = None, {}
