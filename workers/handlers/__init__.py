"""What runs each kind of job; `workers.runner` names them."""
