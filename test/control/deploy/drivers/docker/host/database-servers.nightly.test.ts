/** Two real servers of PostgreSQL, 17 and 18, as an upgrade uses them: the second beside the first, nodes kept out, a copy, and its contents. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseServers } from "../../../../../../control/deploy/drivers/docker/host/database-servers.ts";
import { compareContents } from "../../../../../../control/deploy/operations/postgres/upgrade-plan.ts";
import { generateAuthority, issueServerTls } from "../../../../../../control/deploy/state/postgres-tls.ts";
import type { DockerPlan } from "../../../../../../infra/plan/types.ts";
import {
  postgresCommand,
  postgresEnvironment,
  postgresFiles,
  postgresSecretFiles,
} from "../../../../../../infra/postgres/configuration.ts";
import { lacks } from "../../../../../lanes/tools.ts";
import { ensureNextPostgres, ensureTestImages, IMAGES_TIMEOUT_MS } from "../../../../../support/docker/images.ts";
import { docker, removeStack, uniqueName } from "../../../../../support/docker-lane.ts";

const CHILD = fileURLToPath(new URL("../../../../../support/docker/close-database.ts", import.meta.url));
const signal = new AbortController().signal;

/** What a memory has, with what a copy may lose: vectors, sequences, large objects, odd names, trigrams. */
const MADE = `
create table messages (id bigserial primary key, body text, vec vector(3), at timestamptz default now(), raw bytea, f float8);
insert into messages (body, vec, raw, f) select 'text ' || n, array[n, n + 0.25, -n]::vector, decode(md5(n::text), 'hex'), n / 3.0
  from generate_series(1, 2000) n;
create index on messages using hnsw (vec vector_l2_ops);
create index on messages using gin (body gin_trgm_ops);
create schema pgboss; create table pgboss."odd "" name" (a int, b jsonb) partition by range (a);
create table pgboss.part partition of pgboss."odd "" name" for values from (0) to (10);
insert into pgboss."odd "" name" values (1, '{"a": [1, 2]}'), (2, null);
select lo_from_bytea(0, 'large');
create function act() returns trigger language plpgsql as 'begin return new; end';
create trigger acts before insert on messages for each row execute function act();
comment on table messages is 'kept';`;

describe.skipIf(lacks("docker", "docker-images"))("PostgreSQL 17 with 18 beside it", { concurrent: false }, () => {
  const stack = uniqueName("cairn-two");
  const own = `${stack}-postgres`;
  const volume = `${own}-18-data`;
  const servers = databaseServers({ stack, host: "local" } as DockerPlan, null);
  let images: { readonly former: string; readonly next: string };
  let context: string;

  /** As a node comes. */
  const asNode = (sql: string) =>
    execa(
      "docker",
      ["exec", own, "psql", "-XAtc", sql, "host=127.0.0.1 user=cairn dbname=cairn sslmode=require password=mine"],
      {
        reject: false,
      },
    );
  const inServer = (container: string, sql: string) =>
    docker("exec", container, "psql", "-XAt", "-U", "postgres", "-d", "cairn", "-v", "ON_ERROR_STOP=1", "-c", sql);

  beforeAll(async () => {
    images = { former: (await ensureTestImages()).postgres, next: await ensureNextPostgres() };
    context = await mkdtemp(join(tmpdir(), "cairn-two-"));
    const { pem: tls } = await issueServerTls(await generateAuthority(new Date()), new Date());
    const secret = Object.entries(postgresSecretFiles({ password: "mine", tls }));
    const files = [...postgresFiles().map(({ name, content }) => [name, content] as const), ...secret];
    for (const [name, content] of files) await writeFile(join(context, name), content, { mode: 0o440 });
    const label = `cairn.stack=${stack}`;
    await docker(
      "create",
      "--name",
      `${own}.files`,
      "--label",
      label,
      "--volume",
      "/etc/cairn-postgres",
      images.former,
    );
    const tar = await execa("tar", ["-c", "--owner=0", "--group=0", "-C", context, "."], { encoding: "buffer" });
    await execa("docker", ["cp", "-", `${own}.files:/etc/cairn-postgres`], { input: tar.stdout });
    const environment = Object.entries(postgresEnvironment()).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    const [entrypoint = "", ...rest] = postgresCommand();
    await docker("volume", "create", "--label", label, `${own}-data`);
    await docker(
      ...["create", "--name", own, "--label", label, "--read-only", "--user", "999:999", "--group-add", "0"],
      ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--tmpfs", "/tmp", "--memory", "512m"],
      ...["--tmpfs", "/var/run/postgresql:uid=999,gid=999,mode=0775", "--shm-size", "64m", "--pids-limit", "300"],
      ...["--volumes-from", `${own}.files:ro`, "--volume", `${own}-data:/var/lib/postgresql/data`, ...environment],
      ...["--entrypoint", entrypoint, images.former, ...rest],
    );
    await servers.start(signal);
    expect((await asNode(MADE)).stderr).toBe("");
  }, IMAGES_TIMEOUT_MS);
  afterAll(async () => {
    await removeStack(stack);
    if (context) await rm(context, { recursive: true, force: true });
  });

  it("are told apart by their images and by the data", async () => {
    expect(await servers.majors(images.former, signal)).toEqual({ server: 17, data: 17 });
    expect(await servers.majors(images.next, signal)).toEqual({ server: 18, data: 17 });
    expect(await servers.majors("cairn-test/postgres:none", signal)).toBeNull();
    expect(await servers.exists(volume, signal)).toBe(false);
    const { used, free } = await servers.room(signal);
    expect(used).toBeGreaterThan(20 * 1024 ** 2);
    expect(free).toBeGreaterThan(0);
  });

  it("nodes are kept out until it is opened, and what they had open has ended", async () => {
    const door = await servers.closeToNodes(signal);
    expect((await asNode("select 1")).stderr).toContain("too many connections");
    expect(door.closed()).toBe(true);
    await door.open();
    expect(door.closed()).toBe(false);
    expect((await asNode("select 1")).stdout).toBe("1");
  });

  it("nodes are let in again when the command that keeps them out is killed", async () => {
    const child = execa(process.execPath, ["--no-warnings", CHILD, own], { reject: false });
    await expect.poll(async () => (await asNode("select 1")).stderr).toContain("too many connections");
    child.kill("SIGKILL");
    await expect.poll(async () => (await asNode("select 1")).stdout).toBe("1");
  });

  it("the second gets the first one's settings, no network, and everything that the first has", async () => {
    await servers.startSecond(images.next, volume, signal);
    const second = `${own}-upgrade`;
    const format =
      "{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.NetworkMode}} {{.HostConfig.ReadonlyRootfs}}";
    expect(await docker("inspect", "--format", format, second)).toBe("536870912 300 none true");
    await servers.copy(17, signal);
    const [former, copy] = [await servers.contents("own", signal), await servers.contents("second", signal)];
    expect(compareContents(former, copy)).toEqual({ tables: 2, rows: 2002 });
    expect(copy.filter((line) => line.startsWith("sequence"))).toEqual(["sequence public.messages_id_seq|2000|t"]);
    const owner = "select tableowner from pg_tables where tablename = 'messages'";
    expect(await inServer(second, owner)).toBe("cairn");
    expect(await inServer(second, "select obj_description('messages'::regclass)")).toBe("kept");
    expect(await inServer(second, "select body from messages order by vec <-> '[7,7.25,-7]' limit 1")).toBe("text 7");
    expect(await inServer(second, "show server_version")).toMatch(/^18/);
  });

  it.each([
    ["a row that differs", "update messages set f = f + 1e-9 where id = 1000"],
    ["a row that is missing", "delete from pgboss.part where a = 2"],
    ["an index that is missing", "drop index messages_vec_idx"],
    ["a sequence that is behind", "select setval('messages_id_seq', 1999)"],
  ])("%s in the copy is found", async (_words, sql) => {
    const former = await servers.contents("own", signal);
    const before = await servers.contents("second", signal);
    await inServer(`${own}-upgrade`, sql);
    const changed = await servers.contents("second", signal);
    expect(changed).not.toEqual(before);
    expect(() => compareContents(former, changed)).toThrow("The copy is not what was copied");
  });

  it("the second goes with its volume, and again without complaint; the first starts after a stop", async () => {
    await servers.removeSecond(volume, signal);
    await servers.removeSecond(volume, signal);
    expect(await servers.exists(volume, signal)).toBe(false);
    await servers.stop(signal);
    expect((await asNode("select 1")).failed).toBe(true);
    await servers.start(signal);
    expect((await asNode("select count(*) from messages")).stdout).toBe("2000");
    expect(servers.removal(volume)).toBe(`docker volume rm ${volume}`);
  });
});
