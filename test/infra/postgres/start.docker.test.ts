/** The start script of PostgreSQL in a container as a deployment runs it: read-only, without rights, killed at any time. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { generateAuthority, issueServerTls } from "../../../control/deploy/state/postgres-tls.ts";
import { POSTGRES } from "../../../infra/plan/types.ts";
import {
  databaseAccess,
  postgresCommand,
  postgresEnvironment,
  postgresFiles,
  postgresProbe,
  postgresSecretFiles,
} from "../../../infra/postgres/configuration.ts";
import { migrate } from "../../../runtime/app/migrate.ts";
import { openPostgres } from "../../../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../../support/databases.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { docker, uniqueName } from "../../support/docker-lane.ts";

const DATA = "/var/lib/postgresql/data";
const AWKWARD = `it's "a" \\ $password; -- \`x\` $$`;

let image = "";
let name = "";
let context = "";
let authority = "";
let tls = "";
let containers: string[] = [];

beforeAll(async () => {
  image = (await ensureTestImages()).postgres;
  authority = await generateAuthority(new Date());
  tls = (await issueServerTls(authority, new Date())).pem;
}, IMAGES_TIMEOUT_MS);

beforeEach(async () => {
  name = uniqueName("cairn-pg");
  context = await mkdtemp(join(tmpdir(), "cairn-pg-"));
  containers = [];
  await docker("volume", "create", name);
});

afterEach(async () => {
  if (containers.length > 0) await docker("container", "rm", "--force", "--volumes", ...containers);
  await docker("volume", "rm", name);
  await rm(context, { recursive: true, force: true });
});

/** A new container on the same data. */
async function start(password: string, ...options: string[]): Promise<string> {
  const id = `${name}-${containers.length}`;
  const lender = `${id}.files`;
  containers.push(lender, id);
  const environment = Object.entries(postgresEnvironment()).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
  await docker("create", "--name", lender, "--volume", "/etc/cairn-postgres", image);
  const secret = Object.entries(postgresSecretFiles({ password, tls })).map(([name, content]) => ({ name, content }));
  const files = [...postgresFiles(), ...secret];
  for (const file of files) await writeFile(join(context, file.name), file.content, { mode: 0o440 });
  // As root's, whoever runs the tests.
  const tar = await execa("tar", ["-c", "--owner=0", "--group=0", "-C", context, "."], { encoding: "buffer" });
  await execa("docker", ["cp", "-", `${lender}:/etc/cairn-postgres`], { input: tar.stdout });
  const [entrypoint = "", ...rest] = postgresCommand();
  await docker(
    ...["run", "--detach", "--name", id, "--read-only", "--user", "999:999", "--group-add", "0", "--cap-drop", "ALL"],
    ...["--security-opt", "no-new-privileges:true", "--tmpfs", "/tmp", "--stop-timeout", "60"],
    ...["--tmpfs", "/var/run/postgresql:uid=999,gid=999,mode=0775"],
    ...["--volumes-from", `${lender}:ro`, "--volume", `${name}:${DATA}`, ...environment],
    ...options,
    ...["--entrypoint", entrypoint, image, ...rest],
  );
  return id;
}

async function ready(id: string): Promise<void> {
  const probe = async () => (await execa("docker", ["exec", id, ...postgresProbe()], { reject: false })).exitCode;
  // Each look starts a process in the container, which takes the server's processor.
  await expect.poll(probe, { interval: 300 }).toBe(0);
}

/** Over the network, as a node comes. */
async function query(id: string, password: string, sql: string): Promise<{ ok: boolean; text: string }> {
  const result = await execa(
    "docker",
    ["exec", "--env", "PGPASSWORD", id, "psql", "-h", "127.0.0.1", "-U", "cairn", "-d", "cairn", "-Atc", sql],
    { reject: false, env: { PGPASSWORD: password } },
  );
  return { ok: !result.failed, text: result.failed ? result.stderr : result.stdout };
}

async function exitOf(id: string): Promise<{ status: number; logs: string }> {
  const status = Number(await docker("wait", id));
  const logs = await execa("docker", ["logs", id]);
  return { status, logs: logs.stderr };
}

/** Runs in a container of its own, as the owner of the data. */
async function inData(...command: readonly string[]): Promise<string> {
  return await docker(
    "run",
    "--rm",
    "--user",
    "999:999",
    "--volume",
    `${name}:${DATA}`,
    "--entrypoint",
    "",
    image,
    ...command,
  );
}

/** What a role may do, and what is whose in its database. */
const RIGHTS = `select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
  (select count(*) from pg_auth_members where member = r.oid),
  (select datdba::regrole from pg_database where datname = current_database()),
  (select string_agg(extname || ':' || extowner::regrole, ',' order by extname) from pg_extension)
  from pg_roles r where rolname = current_user`;
const LEAST = "f|f|f|f|f|0|cairn|pg_trgm:postgres,plpgsql:postgres,vector:postgres";

test("fresh data get a role that owns its database and no more, both extensions, and the password; nothing secret is logged", async () => {
  const id = await start(AWKWARD);
  await ready(id);
  expect(await query(id, AWKWARD, RIGHTS)).toEqual({ ok: true, text: LEAST });
  expect(await query(id, AWKWARD, "create extension if not exists vector; create schema pgboss")).toMatchObject({
    ok: true,
  });
  for (const attack of [
    "copy (select 1) to program 'id'",
    "select pg_read_file('/etc/passwd')",
    "set session_replication_role = replica",
    "alter role cairn superuser",
    "create role another superuser",
    "set role postgres",
  ]) {
    expect(await query(id, AWKWARD, attack)).toMatchObject({ ok: false, text: expect.stringContaining("permission") });
  }
  expect((await query(id, "another", "SELECT 1")).text).toContain("password authentication failed");
  const logs = await execa("docker", ["logs", id], { all: true });
  expect(logs.all).not.toContain("$password");
  expect(await docker("inspect", id)).not.toContain("$password");
});

test("the network lets in the role over TLS alone, and the local socket the superuser alone", async () => {
  const id = await start("mine");
  await ready(id);
  const psql = async (...args: readonly string[]) => {
    const result = await execa(
      "docker",
      ["exec", "--env", "PGPASSWORD=mine", id, "psql", "-Atc", "select 1", ...args],
      {
        reject: false,
      },
    );
    return result.failed ? result.stderr : result.stdout;
  };
  expect(await psql("host=127.0.0.1 user=cairn dbname=cairn sslmode=require")).toBe("1");
  expect(await psql("host=127.0.0.1 user=cairn dbname=cairn sslmode=disable")).toContain("no encryption");
  expect(await psql("host=127.0.0.1 user=postgres dbname=cairn sslmode=require")).toContain("no pg_hba.conf entry");
  expect(await psql("host=127.0.0.1 user=cairn dbname=postgres sslmode=require")).toContain("no pg_hba.conf entry");
  expect(await psql("user=cairn dbname=cairn")).toContain("no pg_hba.conf entry");
  expect(await psql("user=postgres dbname=cairn")).toBe("1");
});

test("a node connects with the string that it is given, also after a renewal, and refuses another authority", async () => {
  const id = await start(AWKWARD);
  await ready(id);
  const address = await docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id);
  const connect = async (pem: string) => {
    const { url, certificate } = databaseAccess(address, POSTGRES.port, { password: AWKWARD, tls: pem });
    const file = join(context, "pinned.pem");
    await writeFile(file, certificate);
    const connectionString = url.replace(encodeURIComponent(POSTGRES.certificate), encodeURIComponent(file));
    const database = await openPostgres({ connectionString, pool: 2, logger: quietLogger });
    try {
      const { rows } = await database.query<{ ssl: boolean }>(
        "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
      );
      await migrate(database, { directory: MIGRATIONS });
      return rows;
    } finally {
      await database.close();
    }
  };
  expect(await connect(tls)).toEqual([{ ssl: true }]);
  expect(await connect((await issueServerTls(authority, new Date())).pem)).toEqual([{ ssl: true }]);
  const other = await issueServerTls(await generateAuthority(new Date()), new Date());
  await expect(connect(other.pem)).rejects.toMatchObject({
    cause: expect.objectContaining({ code: "SELF_SIGNED_CERT_IN_CHAIN" }),
  });
});

test("data of a version whose role was the superuser keep their rows, and the role loses what it must not have", async () => {
  await inData(
    "sh",
    "-ec",
    `printf 'mine' > /tmp/password
     initdb -D ${DATA} -U cairn --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >&2
     pg_ctl -D ${DATA} -w -o '-k /tmp' start >&2
     createdb -h /tmp -U cairn cairn
     psql -h /tmp -U cairn -d cairn -v ON_ERROR_STOP=1 <<'SQL'
       create extension vector; create extension pg_trgm;
       create schema pgboss;
       create type pgboss.state as enum ('new', 'done');
       create domain positive as int check (value > 0);
       create table kept (id int primary key generated always as identity, answer positive, state pgboss.state, v vector(2));
       create table parted (n int) partition by list (n); create table parted_1 partition of parted for values in (1);
       create sequence free; create view seen as select answer from kept; create materialized view stored as select 1 as one;
       create function act() returns trigger language plpgsql as 'begin return new; end';
       create trigger acts before insert on kept for each row execute function act();
       insert into kept (answer, state, v) values (42, 'new', '[1,2]');
       create role other; grant pg_execute_server_program to cairn;
SQL
     pg_ctl -D ${DATA} -w stop >&2`,
  );
  const id = await start("mine");
  await ready(id);
  expect(await query(id, "mine", RIGHTS)).toEqual({ ok: true, text: LEAST });
  // Everything that the role made is its own still: it may change and drop it.
  const changes = await query(
    id,
    "mine",
    `select answer, state, v from kept;
     alter table kept add column more int; alter type pgboss.state add value 'failed'; create table pgboss.job (id int);
     drop view seen; drop materialized view stored; drop sequence free; drop table parted; drop table kept; drop domain positive;
     drop function act(); drop schema pgboss cascade`,
  );
  expect(changes).toMatchObject({ ok: true, text: expect.stringContaining("42|new|[1,2]") });
  await docker("restart", id);
  await ready(id);
  expect(await query(id, "mine", RIGHTS)).toEqual({ ok: true, text: LEAST });
});

test("functions that the role leaves in its database do not run as the superuser at the next start", async () => {
  const id = await start("mine");
  await ready(id);
  const trap = await query(
    id,
    "mine",
    `create function public.format(text, name) returns text language plpgsql as $$
       begin execute 'alter role cairn superuser'; return pg_catalog.format($1, $2::text); end $$;
     alter database cairn set search_path = public, pg_catalog;
     create schema caught`,
  );
  expect(trap.ok).toBe(true);
  await docker("restart", id);
  await ready(id);
  expect(await query(id, "mine", "select rolsuper from pg_roles where rolname = current_user")).toEqual({
    ok: true,
    text: "f",
  });
});

test.each([
  ["drops the schema of the extensions", "drop schema public cascade"],
  ["makes its database read-only", "alter database cairn set default_transaction_read_only = on"],
  ["lets no statement in its database take its time", "alter database cairn set statement_timeout = 1"],
  ["names a library that is not there", "alter database cairn set local_preload_libraries = 'nowhere'"],
  ["names one for itself", "alter role cairn set local_preload_libraries = 'nowhere'"],
  ["names one for itself there", "alter role cairn in database cairn set local_preload_libraries = 'nowhere'"],
  ["closes its database", "alter database cairn connection limit 0"],
  ["takes its database from itself", "revoke all on database cairn from public, cairn"],
])("a role that %s is in the way of no start", async (_, attack) => {
  const id = await start("mine");
  await ready(id);
  expect(
    await query(id, "mine", `create schema kept; create table kept.rows as select 42 as answer; ${attack}`),
  ).toEqual(expect.objectContaining({ ok: true }));
  await docker("restart", id);
  await ready(id);
  const work = "insert into kept.rows select answer from kept.rows; select pg_sleep(0.1), sum(answer) from kept.rows";
  expect(await query(id, "mine", work)).toEqual({ ok: true, text: expect.stringMatching(/\|84$/) });
  expect(await query(id, "mine", RIGHTS)).toEqual({ ok: true, text: LEAST });
});

test("data outlive a kill, another container takes them up, and its password is the one that counts", async () => {
  const first = await start("first");
  await ready(first);
  expect((await query(first, "first", "CREATE TABLE kept AS SELECT 42 AS answer")).ok).toBe(true);
  await docker("kill", "--signal", "KILL", first);
  await docker("start", first);
  await ready(first);
  await docker("kill", "--signal", "KILL", first);

  const second = await start(AWKWARD);
  await ready(second);
  expect(await query(second, AWKWARD, "SELECT answer FROM kept")).toEqual({ ok: true, text: "42" });
  expect((await query(second, "first", "SELECT 1")).ok).toBe(false);
});

test("a cluster that another image's own entrypoint made is taken over, without its role and its database", async () => {
  await inData("initdb", "-D", DATA, "-U", "postgres", "--auth-host=reject", "--auth-local=reject");
  const id = await start("mine");
  await ready(id);
  expect(
    await query(id, "mine", "SELECT current_database(), rolsuper FROM pg_roles WHERE rolname = current_user"),
  ).toEqual({
    ok: true,
    text: "cairn|f",
  });
});

test("data of another major version are refused with what to do, and stay as they were", async () => {
  await inData("sh", "-c", `echo 16 > ${DATA}/PG_VERSION && echo precious > ${DATA}/base`);
  const { status, logs } = await exitOf(await start("x"));
  expect(status).toBe(78);
  expect(logs).toContain("were written by PostgreSQL 16, and this image has PostgreSQL 17");
  expect(await inData("cat", `${DATA}/PG_VERSION`, `${DATA}/base`)).toBe("16\nprecious");
});

test("files that are no database are refused and stay", async () => {
  await inData("sh", "-c", `echo precious > ${DATA}/photo.jpg`);
  const { status, logs } = await exitOf(await start("x"));
  expect(status).toBe(78);
  expect(logs).toContain("photo.jpg");
  expect(await inData("cat", `${DATA}/photo.jpg`)).toBe("precious");
});

test("a first start that was cut off while the cluster was made, or moved, is finished by the next", async () => {
  // Half made: no mark of completeness.
  await inData("sh", "-c", `mkdir -p ${DATA}/.cairn-new/base && echo 17 > ${DATA}/.cairn-new/PG_VERSION`);
  const first = await start("one");
  await ready(first);
  expect((await query(first, "one", "SELECT 1")).ok).toBe(true);
  await docker("stop", first);
  // Half moved: complete, and some of it up already.
  await inData(
    "sh",
    "-ec",
    `cd ${DATA}; mkdir .cairn-new; for f in PG_VERSION base global pg_wal; do mv $f .cairn-new/; done; : > .cairn-new/.complete`,
  );
  const second = await start("two");
  await ready(second);
  expect(await query(second, "two", "SELECT 1")).toEqual({ ok: true, text: "1" });
});

test("a second server on the same data is kept out while the first runs", async () => {
  const first = await start("one");
  await ready(first);
  // Not waited for: the lock is asked for a minute long.
  const held = await execa("docker", ["exec", first, "flock", "-n", `${DATA}/.cairn-lock`, "true"], { reject: false });
  expect(held.exitCode).toBe(1);
});

test("its caches follow from the memory that it may use", async () => {
  const settings = async (id: string): Promise<string> => {
    await ready(id);
    const names = "'shared_buffers', 'effective_cache_size', 'work_mem', 'maintenance_work_mem', 'max_wal_size'";
    const sql = `SELECT string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings WHERE name IN (${names})`;
    const answer = await query(id, "secret", sql);
    await docker("stop", id);
    return answer.text;
  };
  expect(await settings(await start("secret", "--memory", "1g"))).toBe(
    "effective_cache_size 768MB, maintenance_work_mem 64MB, max_wal_size 2GB, shared_buffers 256MB, work_mem 8MB",
  );
  // Without a limit the machine's memory counts, and index builds stay within /dev/shm.
  const free = await settings(await start("secret"));
  expect(Number(/maintenance_work_mem (\d+)MB/.exec(free)?.[1])).toBeLessThanOrEqual(192);
  const machine = Number(await docker("info", "--format", "{{.MemTotal}}")) / 1024 ** 2;
  const cached = /shared_buffers (\d+)(MB|GB)/.exec(free);
  const shared = Number(cached?.[1]) * (cached?.[2] === "GB" ? 1024 : 1);
  expect(shared / machine).toBeGreaterThan(machine > 65_536 ? 0 : 0.2);
  expect(shared / machine).toBeLessThanOrEqual(0.25);
});
