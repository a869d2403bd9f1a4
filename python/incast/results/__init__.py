"""Results as data: their tables, directories, and statistics over seeds."""
