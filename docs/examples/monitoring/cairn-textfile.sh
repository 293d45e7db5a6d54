#!/bin/sh
# Writes what `cairn doctor` finds as metrics for Prometheus' node exporter (its textfile collector). For cron or a timer:
#   */5 * * * * cairn-textfile.sh /var/lib/node_exporter/textfile_collector/cairn.prom -- --dir /srv/cairn
# Without a file the metrics go to standard output. What follows -- goes to doctor. CAIRN names the command.
# Needs a POSIX shell and awk. A reader sees the old file or the new one, never a part of one.
set -u

file=
if [ "$#" -gt 0 ] && [ "$1" != "--" ]; then
  file=$1
  shift
fi
if [ "${1-}" = "--" ]; then shift; fi

report=$(${CAIRN:-cairn} doctor --json "$@" 2>/dev/null)
code=$?

metrics() {
  printf '%s\n' "$report" | awk -v code="$code" -v now="$(date +%s)" '
    # The document has one member a line, and a text never has a line end in it: its own are written \n.
    function text(line) { sub(/^ *"[a-z_]+": "?/, "", line); sub(/"?,?$/, "", line); return line }
    /^  "schema": 1,?$/       { known = 1 }
    /^  "version": "/         { version = text($0) }
    /^  "node": "/            { node = text($0) }
    /^    "(pass|warn|fail|skip)": [0-9]+,?$/ { name = $1; gsub(/[":]/, "", name); count[name] = text($0) }
    /^  "checks": \[/         { within = 1 }
    /^  \],?$/                { within = 0 }
    within && /^      "id": "/           { id = text($0) }
    within && /^      "category": "/     { category = text($0) }
    within && /^      "status": "/       { status = text($0) }
    within && /^      "duration_ms": /   { lasted = text($0) }
    within && /^    },?$/ {
      label = sprintf("{id=\"%s\",category=\"%s\"}", id, category)
      # A check that does not apply has no value.
      if (status != "skip") {
        value = status == "pass" ? 0 : status == "warn" ? 1 : 2
        checks = checks sprintf("cairn_doctor_check_status%s %d\n", label, value)
      }
      seconds = seconds sprintf("cairn_doctor_check_duration_seconds%s %.4f\n", label, lasted / 1000)
    }
    END {
      print "# HELP cairn_doctor_exit_code Exit code of cairn doctor: 0 no failure, 1 a failure, 2 it could not run."
      print "# TYPE cairn_doctor_exit_code gauge"
      print "cairn_doctor_exit_code " (known ? code : 2)
      print "# HELP cairn_doctor_run_timestamp_seconds When cairn doctor ran last."
      print "# TYPE cairn_doctor_run_timestamp_seconds gauge"
      print "cairn_doctor_run_timestamp_seconds " now
      if (!known) exit
      print "# HELP cairn_doctor_info What was checked."
      print "# TYPE cairn_doctor_info gauge"
      printf "cairn_doctor_info{version=\"%s\",node=\"%s\"} 1\n", version, node
      print "# HELP cairn_doctor_checks Number of checks by their status."
      print "# TYPE cairn_doctor_checks gauge"
      split("pass warn fail skip", names, " ")
      for (i = 1; i <= 4; i++) printf "cairn_doctor_checks{status=\"%s\"} %d\n", names[i], count[names[i]]
      print "# HELP cairn_doctor_check_status 0 pass, 1 warn, 2 fail; a check that does not apply has none."
      print "# TYPE cairn_doctor_check_status gauge"
      printf "%s", checks
      print "# HELP cairn_doctor_check_duration_seconds How long a check took."
      print "# TYPE cairn_doctor_check_duration_seconds gauge"
      printf "%s", seconds
    }'
}

if [ -z "$file" ]; then
  metrics
  exit
fi
# Beside the file, so that the rename stays on one file system; the collector reads only what ends with .prom.
fresh="$file.$$"
trap 'rm -f "$fresh"' EXIT
trap 'exit 1' HUP INT TERM
umask 022
metrics > "$fresh" && mv -f "$fresh" "$file"
