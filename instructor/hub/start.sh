#!/bin/sh
# A learner's first start: the lessons go into the home volume, where they stay when the image changes.
set -eu
mkdir -p "$HOME/exercises"
[ -d "$HOME/notebooks" ] || cp -R /opt/interconnect-course/notebooks "$HOME/notebooks"
cp /opt/interconnect-course/exercises/AGENTS.md "$HOME/exercises/AGENTS.md"
exec jupyterhub-singleuser "$@"
