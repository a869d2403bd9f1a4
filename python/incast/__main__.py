"""`python -m incast` is the command `incast`."""

from incast.command import main

main()
