"""What tests run on: databases, brokers, workers, browsers."""
