#!/bin/sh
# The first of three checks of the artifact: it builds, the demo shows TIMELY's result, and one table
# of the paper is judged in its quick form.
set -eu
cd "$(dirname "$0")/../.."
make setup
.venv/bin/incast run scenarios/incast.toml --cc timely --cc line-rate --out results/artifact/demo
.venv/bin/incast reproduce timely/table-1 --quick --out results/artifact/quick
echo 'Open results/artifact/quick/index.html'
