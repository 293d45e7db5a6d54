#!/bin/sh
# Does for tests what the official image's entrypoint does: the same variables, the same order, the same user.
set -eu

# POSTGRES_X, or the content of the file that POSTGRES_X_FILE names.
from_variable() {
  eval "value=\${$1:-}; file=\${${1}_FILE:-}"
  if [ -n "$value" ] && [ -n "$file" ]; then echo "error: both $1 and ${1}_FILE are set" >&2; exit 1; fi
  if [ -n "$file" ]; then value=$(cat "$file"); fi
  printf '%s' "${value:-$2}"
}

[ "${1#-}" = "$1" ] || set -- postgres "$@"
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chmod 0700 "$PGDATA"
  chown -R postgres:postgres "$PGDATA" /var/run/postgresql
  exec gosu postgres "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 0700 "$PGDATA" 2>/dev/null || true
  user=$(from_variable POSTGRES_USER postgres)
  password=$(from_variable POSTGRES_PASSWORD '')
  database=$(from_variable POSTGRES_DB "$user")
  if [ -z "$password" ] && [ "${POSTGRES_HOST_AUTH_METHOD:-}" != trust ]; then
    echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
    exit 1
  fi
  pwfile=$(mktemp)
  printf '%s\n' "$password" > "$pwfile"
  # Words of the variable, as the official image takes them.
  # shellcheck disable=SC2086
  initdb --username="$user" --pwfile="$pwfile" ${POSTGRES_INITDB_ARGS:-}
  rm -f "$pwfile"
  printf '\nhost all all all %s\n' "${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}" >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -p 5432" -w start
  if [ "$database" != postgres ]; then
    PGPASSWORD=$password psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$user" -d postgres -v db="$database" <<'SQL'
CREATE DATABASE :"db";
SQL
  fi
  for file in /docker-entrypoint-initdb.d/*; do
    case "$file" in
      *.sh) . "$file" ;;
      *.sql) PGPASSWORD=$password psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$user" -d "$database" -f "$file" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
  echo 'PostgreSQL init process complete; ready for start up.'
fi
exec "$@"
