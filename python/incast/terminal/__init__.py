"""Text on the terminal: tables, lists and progress bars."""
