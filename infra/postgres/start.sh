#!/bin/sh
# Starts a deployment's PostgreSQL: makes the database cluster if there is none, brings one that exists to the deployment's
# password, and gives way to the server. Runs as the owner of the data, never as root; every start may be the one after a kill.
#
# PGDATA, POSTGRES_USER, POSTGRES_DB: as in the official image. POSTGRES_PASSWORD_FILE: one line. POSTGRES_HBA_FILE: who may
# connect. Arguments go to the server. Exit status 78: the data cannot be used like this, and was not touched.
set -eu
umask 077
: "${PGDATA:?}" "${POSTGRES_USER:?}" "${POSTGRES_DB:?}" "${POSTGRES_PASSWORD_FILE:?}" "${POSTGRES_HBA_FILE:?}"

# A new cluster is made here and moved up when it is complete, PG_VERSION last: half a cluster is never taken for one.
fresh="$PGDATA/.cairn-new"
complete="$fresh/.complete"

# What a kill leaves in postmaster.pid is process 1, which is this script: the server must not take it for another server.
export PG_GRANDPARENT_PID=$$

fail() {
  printf 'cairn-postgres: %s\n' "$*" >&2
  exit 78
}

# Both stand in SQL below.
check_name() {
  case $1 in
    '' | [!a-z_]* | *[!a-z0-9_]*) fail "\"$1\" is no name for a role or a database here." ;;
  esac
}

# Statements on standard input, one a line, run without a server. Nothing of them is logged: one has the password.
# Prints the answers; fails with the server's words when a statement failed, which the server itself does not tell.
single_user() {
  answers=$(postgres --single -D "$1" -c log_statement=none -c log_min_duration_statement=-1 \
    -c log_min_error_statement=panic -c standard_conforming_strings=on -c lc_messages=C -c ssl=off \
    -c shared_preload_libraries= -c archive_mode=off postgres 2>&1) || {
    printf '%s\n' "$answers" >&2
    return 1
  }
  case $answers in
    *ERROR:* | *FATAL:* | *PANIC:*)
      printf '%s\n' "$answers" | grep -E '(ERROR|FATAL|PANIC):' >&2
      return 1
      ;;
  esac
  printf '%s\n' "$answers"
}

make_cluster() {
  rm -rf "$fresh"
  for entry in "$PGDATA"/* "$PGDATA"/.[!.]*; do
    case ${entry##*/} in
      '*' | '.[!.]*' | lost+found | .cairn-lock) ;;
      *) fail "$PGDATA holds files that are no database of PostgreSQL (${entry##*/}). Nothing was changed." ;;
    esac
  done
  # A locale that no update of the image's C library changes: indexes stay valid.
  initdb -D "$fresh" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --encoding=UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256 --data-checksums >&2
  : >"$complete"
}

move_cluster() {
  for entry in "$fresh"/*; do
    case ${entry##*/} in
      '*' | PG_VERSION) ;;
      *) mv "$entry" "$PGDATA/" ;;
    esac
  done
  sync
  mv "$fresh/PG_VERSION" "$PGDATA/"
}

[ "$(id -u)" != 0 ] || fail "This script runs as the owner of the data, not as root."
check_name "$POSTGRES_USER"
check_name "$POSTGRES_DB"
password=
IFS= read -r password <"$POSTGRES_PASSWORD_FILE" || [ -n "$password" ] || fail "$POSTGRES_PASSWORD_FILE has no password."

mkdir -p "$PGDATA"
# A second server on the same data would ruin them, and in containers neither sees the other's process. Held until the server ends.
exec 9>"$PGDATA/.cairn-lock"
flock -w 60 9 || fail "Another PostgreSQL is running on the data in $PGDATA."
chmod 0700 "$PGDATA"

major=$(postgres --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  [ -e "$complete" ] || make_cluster
  move_cluster
fi
rm -rf "$fresh"

found=$(cat "$PGDATA/PG_VERSION")
[ "$found" = "$major" ] || fail "The data in $PGDATA were written by PostgreSQL $found, and this image has PostgreSQL $major." \
  "Nothing was changed. Go back to an image of PostgreSQL $found, or move the data with a dump."

literal=$(printf '%s' "$password" | sed "s/'/''/g")
answers=$(single_user "$PGDATA" <<SQL
DO \$role\$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$POSTGRES_USER') THEN CREATE ROLE $POSTGRES_USER; END IF; END \$role\$;
ALTER ROLE $POSTGRES_USER LOGIN SUPERUSER PASSWORD '$literal';
SELECT 'found' AS database FROM pg_database WHERE datname = '$POSTGRES_DB';
SQL
) || fail "The password could not be set."
case $answers in
  *'database = "found"'*) ;;
  *)
    printf 'CREATE DATABASE %s OWNER %s;\n' "$POSTGRES_DB" "$POSTGRES_USER" | single_user "$PGDATA" >/dev/null ||
      fail "The database $POSTGRES_DB could not be made."
    ;;
esac
unset password literal answers PG_GRANDPARENT_PID

exec postgres -D "$PGDATA" -c listen_addresses='*' -c hba_file="$POSTGRES_HBA_FILE" "$@"
