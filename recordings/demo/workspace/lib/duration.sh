# Durations, for other scripts to source.

# seconds DURATION
# Prints how many seconds a duration such as 45s or 1h30m lasts. Returns 1, and
# prints nothing, when the argument is not a duration.
seconds() {
	rest=$1
	total=0
	[ -n "$rest" ] || return 1
	while [ -n "$rest" ]; do
		number=${rest%%[!0-9]*}
		rest=${rest#"$number"}
		unit=${rest%"${rest#?}"}
		rest=${rest#?}
		case $number in
		'' | 0?*) return 1 ;; # no number, or one that sh would read as octal
		esac
		case $unit in
		s) size=1 ;;
		m) size=60 ;;
		h) size=360 ;;
		d) size=86400 ;;
		*) return 1 ;;
		esac
		[ -z "${NAP_TRACE:-}" ] || echo "part: $number x $size" >&2
		total=$((number * size))
	done
	echo "$total"
}
