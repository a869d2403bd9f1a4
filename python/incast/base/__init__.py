"""Files that a user names or that appear whole, memory, and words of errors: for every room."""
