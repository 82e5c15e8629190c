"""The pages of annotation: thin doors onto its verbs."""
