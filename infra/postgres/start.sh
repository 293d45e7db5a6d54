#!/bin/sh
# Starts a deployment's PostgreSQL: makes the database cluster if there is none, brings one that exists to the deployment's
# password and rights, and gives way to the server. Runs as the owner of the data, never as root; every start may be the one
# after a kill, so every step may be repeated.
#
# The nodes' role (POSTGRES_USER) owns one database (POSTGRES_DB) and is no superuser. The superuser is `postgres`, without a
# password, for the local socket alone.
#
# PGDATA, POSTGRES_USER, POSTGRES_DB: as in the official image. POSTGRES_PASSWORD_FILE: one line. POSTGRES_HBA_FILE: who may
# connect. POSTGRES_TLS_FILE: private key and certificate of the server, PEM. Arguments go to the server.
# Exit status 78: the data cannot be used like this.
set -eu
umask 077
: "${PGDATA:?}" "${POSTGRES_USER:?}" "${POSTGRES_DB:?}" "${POSTGRES_PASSWORD_FILE:?}" "${POSTGRES_HBA_FILE:?}"
: "${POSTGRES_TLS_FILE:?}"

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

# Statements on standard input, each ended by a semicolon and an empty line, run by the superuser in the database $1 without a
# server. Nothing of them is logged: one has the password. Prints the answers; fails with the server's words when a statement
# failed, which the server itself does not tell.
single_user() {
  answers=$(postgres --single -j -D "$PGDATA" -c log_statement=none -c log_min_duration_statement=-1 \
    -c log_min_error_statement=panic -c standard_conforming_strings=on -c lc_messages=C -c ssl=off \
    -c shared_preload_libraries= -c archive_mode=off "$1" 2>&1) || {
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
  initdb -D "$fresh" --username=postgres --encoding=UTF8 --locale=C.UTF-8 --auth-local=peer --auth-host=reject \
    --data-checksums >&2
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

# The first superuser of a cluster can neither lose that right nor be renamed by itself. Where it has the name that is the
# nodes', as earlier versions and the official image make it, it becomes `postgres`, and the name is free for another role.
free_role() {
  single_user postgres <<SQL >/dev/null
BEGIN;

DROP ROLE IF EXISTS cairn_renames;

CREATE ROLE cairn_renames SUPERUSER;

SET SESSION AUTHORIZATION cairn_renames;

ALTER ROLE $POSTGRES_USER RENAME TO postgres;

ALTER ROLE postgres PASSWORD NULL;

SET SESSION AUTHORIZATION postgres;

DROP ROLE cairn_renames;

COMMIT;
SQL
}

# Rights that the role may have got in another life of the cluster are taken away, memberships such as pg_read_server_files, too.
set_role() {
  literal=$(printf '%s' "$password" | sed "s/'/''/g")
  single_user postgres <<SQL >/dev/null
DO \$\$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$POSTGRES_USER') THEN CREATE ROLE $POSTGRES_USER; END IF;
END \$\$;

ALTER ROLE $POSTGRES_USER LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '$literal';

DO \$\$ DECLARE given record; BEGIN
  FOR given IN SELECT roleid::regrole AS role, grantor::regrole AS by FROM pg_auth_members
    WHERE member = '$POSTGRES_USER'::regrole LOOP
    EXECUTE format('REVOKE %s FROM $POSTGRES_USER GRANTED BY %s CASCADE', given.role, given.by);
  END LOOP;
END \$\$;
SQL
}

# The role owns the database: it can close it, to itself too, and leave settings, of the database or its own, by which no session
# of a node starts or no statement works. Settings that shall last belong on the server's command line.
reset_settings() {
  single_user postgres <<SQL >/dev/null
ALTER DATABASE $POSTGRES_DB RESET ALL;

ALTER ROLE $POSTGRES_USER RESET ALL;

ALTER ROLE $POSTGRES_USER IN DATABASE $POSTGRES_DB RESET ALL;

ALTER DATABASE $POSTGRES_DB ALLOW_CONNECTIONS true CONNECTION LIMIT -1;

GRANT ALL ON DATABASE $POSTGRES_DB TO $POSTGRES_USER;
SQL
}

# vector may be created by a superuser alone, so both extensions are made and updated here. What the superuser owns beside them
# is what the nodes' role had made as long as it was the superuser: it is given back. A sequence of a column, an index and the
# row type of a table follow their table. Only pg_catalog is searched: in the other schemas the role may have functions that would
# run as the superuser here.
set_database() {
  single_user "$POSTGRES_DB" <<SQL >/dev/null
SET search_path = pg_catalog;

ALTER DATABASE $POSTGRES_DB OWNER TO $POSTGRES_USER;

CREATE SCHEMA IF NOT EXISTS public AUTHORIZATION pg_database_owner;

CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;

ALTER EXTENSION vector UPDATE;

ALTER EXTENSION pg_trgm UPDATE;

DO \$\$ DECLARE change text; BEGIN
  FOR change IN
    WITH own_schemas AS (
      SELECT oid, nspname, nspowner FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    ), kept AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
    SELECT format('SCHEMA %I', nspname) FROM own_schemas WHERE nspowner = 10 AND nspname <> 'public'
      AND ('pg_namespace'::regclass, oid) NOT IN (SELECT * FROM kept)
    UNION ALL
    SELECT format('%s %s', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                                        WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END, c.oid::regclass)
      FROM pg_class c JOIN own_schemas s ON s.oid = relnamespace WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
      AND ('pg_class'::regclass, c.oid) NOT IN (SELECT * FROM kept)
      AND NOT (relkind = 'S' AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                                         AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ROUTINE %s', p.oid::regprocedure)
      FROM pg_proc p JOIN own_schemas s ON s.oid = pronamespace WHERE proowner = 10
      AND ('pg_proc'::regclass, p.oid) NOT IN (SELECT * FROM kept)
    UNION ALL
    SELECT format('%s %s', CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, t.oid::regtype)
      FROM pg_type t JOIN own_schemas s ON s.oid = typnamespace WHERE typowner = 10 AND typtype IN ('d', 'e', 'r')
      AND ('pg_type'::regclass, t.oid) NOT IN (SELECT * FROM kept)
  LOOP
    EXECUTE format('ALTER %s OWNER TO $POSTGRES_USER', change);
  END LOOP;
END \$\$;
SQL
}

[ "$(id -u)" != 0 ] || fail "This script runs as the owner of the data, not as root."
check_name "$POSTGRES_USER"
[ "$POSTGRES_USER" != postgres ] || fail "postgres is the superuser's name; the nodes' role needs another one."
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

superuser=$(echo "SELECT rolname AS superuser FROM pg_authid WHERE oid = 10;" | single_user postgres) ||
  fail "The cluster in $PGDATA cannot be read."
case $superuser in
  *"superuser = \"$POSTGRES_USER\""*) free_role || fail "The superuser $POSTGRES_USER could not be renamed to postgres." ;;
esac
set_role || fail "The role $POSTGRES_USER could not be given its password and rights."
case $(echo "SELECT 'found' AS database FROM pg_database WHERE datname = '$POSTGRES_DB';" | single_user postgres) in
  *'database = "found"'*) ;;
  *)
    echo "CREATE DATABASE $POSTGRES_DB OWNER $POSTGRES_USER;" | single_user postgres >/dev/null ||
      fail "The database $POSTGRES_DB could not be made."
    ;;
esac
reset_settings || fail "The settings of the database $POSTGRES_DB could not be reset."
set_database || fail "The database $POSTGRES_DB could not be given its extensions and its owner."
unset password superuser PG_GRANDPARENT_PID

# What the container may use, in MiB: its own limit, else the machine's memory. Of it a quarter is the server's cache, and three
# quarters are what it may expect of the system's. Parallel index builds work in /dev/shm, which bounds maintenance_work_mem.
memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
memory=$((${memory:-1048576} / 1024))
limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || echo max)
case $limit in
  '' | *[!0-9]*) ;;
  *) [ "$((limit / 1048576))" -ge "$memory" ] || memory=$((limit / 1048576)) ;;
esac
bounded() { if [ "$1" -lt "$2" ]; then echo "$2"; elif [ "$1" -gt "$3" ]; then echo "$3"; else echo "$1"; fi; }

exec postgres -D "$PGDATA" -c shared_buffers="$(bounded $((memory / 4)) 64 16384)MB" \
  -c effective_cache_size="$((memory * 3 / 4))MB" -c work_mem="$(bounded $((memory / 128)) 4 64)MB" \
  -c maintenance_work_mem="$(bounded $((memory / 16)) 32 192)MB" -c max_wal_size=2GB -c listen_addresses='*' -c hba_file="$POSTGRES_HBA_FILE" -c ssl=on \
  -c ssl_cert_file="$POSTGRES_TLS_FILE" -c ssl_key_file="$POSTGRES_TLS_FILE" "$@"
