#!/bin/sh
# Checks lib/duration.sh: a line for each case, exit 1 if any of them fails.
cd "$(dirname "$0")" || exit 2
. ./lib/duration.sh
cases=0
failures=0

# expect DURATION SECONDS: SECONDS is "error" for what must be refused.
expect() {
	got=$(seconds "$1") || got=error
	cases=$((cases + 1))
	if [ "$got" = "$2" ]; then
		echo "ok    '$1' is $2"
	else
		echo "FAIL  '$1' should be $2, got $got"
		failures=$((failures + 1))
	fi
}

expect 45s 45
expect 10m 600
expect 2h 7200
expect 1d 86400
expect 1h30m 5400
expect 2d6h 194400
expect '' error
expect 30 error
expect 5x error
expect h error

echo "$cases cases, $failures failed"
[ "$failures" -eq 0 ]
