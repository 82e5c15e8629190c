"""Running strangers' pipelines in a process that can read little, write one folder and reach nothing."""
