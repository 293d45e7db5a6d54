/** The start script of PostgreSQL in a container as a deployment runs it: read-only, without rights, killed at any time. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  POSTGRES_PASSWORD_FILE,
  postgresCommand,
  postgresEnvironment,
  postgresFiles,
  postgresProbe,
} from "../../../infra/postgres/configuration.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { docker, uniqueName } from "../../support/docker-lane.ts";

const DATA = "/var/lib/postgresql/data";
const AWKWARD = `it's "a" \\ $password; -- \`x\` $$`;

let image = "";
let name = "";
let context = "";
let containers: string[] = [];

beforeAll(async () => {
  image = (await ensureTestImages()).postgres;
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
async function start(password: string): Promise<string> {
  const id = `${name}-${containers.length}`;
  const lender = `${id}.files`;
  containers.push(lender, id);
  const environment = Object.entries(postgresEnvironment()).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
  await docker("create", "--name", lender, "--volume", "/etc/cairn-postgres", image);
  const files = [...postgresFiles(), { name: POSTGRES_PASSWORD_FILE, content: password }];
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
    ...["--entrypoint", entrypoint, image, ...rest],
  );
  return id;
}

async function ready(id: string): Promise<void> {
  await expect
    .poll(async () => (await execa("docker", ["exec", id, ...postgresProbe()], { reject: false })).exitCode)
    .toBe(0);
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

test("fresh data get the role, the database and the password; extensions can be made; nothing secret is logged", async () => {
  const id = await start(AWKWARD);
  await ready(id);
  expect(await query(id, AWKWARD, "CREATE EXTENSION vector; SELECT current_user")).toEqual({
    ok: true,
    text: "CREATE EXTENSION\ncairn",
  });
  expect((await query(id, "another", "SELECT 1")).text).toContain("password authentication failed");
  const logs = await execa("docker", ["logs", id], { all: true });
  expect(logs.all).not.toContain("$password");
  expect(await docker("inspect", id)).not.toContain("$password");
});

test("data outlive a kill, another container takes them up, and its password is the one that counts", async () => {
  const first = await start("first");
  await ready(first);
  expect((await query(first, "first", "CREATE TABLE kept AS SELECT 42 AS answer; CHECKPOINT")).ok).toBe(true);
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
    text: "cairn|t",
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
