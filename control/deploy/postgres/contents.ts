/**
 * What a database has, as lines that are the same in every major of PostgreSQL: for psql, which runs what the first statement
 * writes. Of a table the number of its rows and the sum of their digests, which no order of rows changes. `not null` constraints are
 * no rows of pg_constraint before PostgreSQL 18, so constraints are left to the dump, which stops at the first error.
 */

const OWN = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";
const member = (catalog: string, oid: string): string =>
  `EXISTS (SELECT FROM pg_depend d WHERE d.classid = '${catalog}'::regclass AND d.objid = ${oid} AND d.deptype = 'e')`;

/** Only pg_catalog is searched: in the other schemas the nodes' role may have functions that would run as the superuser. */
export const CONTENTS = `
SET search_path = pg_catalog;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';
SET bytea_output = 'hex';
SET extra_float_digits = 1;
SELECT format(
  'SELECT %L, count(*), coalesce(sum((''x'' || left(md5(own_row::text), 15))::bit(60)::bigint), 0) FROM ONLY %I.%I own_row',
  format('rows %I.%I', n.nspname, c.relname), n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND ${OWN} AND NOT ${member("pg_class", "c.oid")} \\gexec
SELECT format('SELECT %L, last_value, is_called FROM %I.%I', format('sequence %I.%I', n.nspname, c.relname), n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND ${OWN} AND NOT ${member("pg_class", "c.oid")} \\gexec
SELECT format('relation %I.%I %s', n.nspname, c.relname, c.relkind)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE ${OWN} AND NOT ${member("pg_class", "c.oid")};
SELECT format('trigger %I.%I %I', n.nspname, c.relname, t.tgname)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND ${OWN};
SELECT format('routine %I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE ${OWN} AND NOT ${member("pg_proc", "p.oid")};
SELECT format('extension %I', extname) FROM pg_extension;
SELECT 'large objects', count(*) FROM pg_largeobject_metadata;
`;
