#!/bin/sh
# Waits for a duration: nap.sh 1h30m
here=$(dirname "$0")
. "$here/lib/duration.sh"
if [ -f "$here/.env" ]; then
	. "$here/.env"
fi

long=$(seconds "${1:-}") || {
	echo "usage: nap.sh DURATION, for example 45s or 1h30m" >&2
	exit 2
}
sleep "$long"
