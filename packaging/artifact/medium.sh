#!/bin/sh
# The second of three checks of the artifact: every experiment of every paper in its quick form, with
# one seed, which decides no claim and shows each figure.
set -eu
cd "$(dirname "$0")/../.."
make setup
.venv/bin/incast reproduce --all --quick --out results/artifact/medium
echo 'Open results/artifact/medium/index.html'
