#!/bin/sh
# The last of three checks of the artifact: every experiment in full, and a comparison of the result
# with the pages of this version. Stopped, it goes on where it was.
set -eu
cd "$(dirname "$0")/../.."
make setup
.venv/bin/incast reproduce --all --out results/artifact/full
# The line on core hours is of the machine.
numbers() { grep -v 'core hours of runs' "$1"; }
numbers docs/reference/reproduction.md > results/artifact/published
numbers results/artifact/full/summary.md > results/artifact/measured
if diff results/artifact/published results/artifact/measured; then
    echo 'Every number is as in docs/reference/reproduction.md'
else
    echo 'Numbers differ from docs/reference/reproduction.md, as above'
fi
echo 'Open results/artifact/full/index.html'
