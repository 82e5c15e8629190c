"""Settings of gunicorn, on one machine and in containers alike."""

worker_class = "evalsvc.serving.worker.BufferingWorker"
logger_class = "evalsvc.serving.access_log.MaskedLogger"
# each may have a temporary file: within the 1,024 open files of a usual process
worker_connections = 400
umask = 0o077
accesslog = "-"
control_socket_disable = True
sendfile = False  # sent in slices, with a deadline for each
