/** Nodes with stores of their own, as processes with certificates that they have made: they join, see each other, die, and are revoked. */

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { parseMeshFile } from "../../runtime/files/mesh-file.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { type Cli, createCli } from "../support/cli.ts";
import { placeEmbeddedCopy } from "../support/databases.ts";
import { MINIMAL } from "../support/deployment.ts";
import { freePort } from "../support/ports.ts";
import { REAL, run, start } from "../support/real-service.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 200 };

interface Box {
  readonly cli: Cli;
  readonly name: string;
}

async function box(name: string, more = ""): Promise<Box> {
  const cli = await createCli();
  await placeEmbeddedCopy(join(cli.home, "store"));
  const port = await freePort();
  const mesh = `mesh: { enabled: true, name: ${name}, advertise: "127.0.0.1:${port}", heartbeat: 1s${more} }\n`;
  await writeFile(join(cli.home, "cairn.yaml"), `${MINIMAL}runtime: { listen: "127.0.0.1:${port}" }\n${mesh}`);
  return { cli, name };
}

/** The configured address: the certificate is for it, and others know it. */
const listening = { ...REAL, SERVICE_LISTEN: "" };
const call = (one: Box, argv: readonly string[], code = 0) =>
  run({ ...one.cli, run: (given, options) => one.cli.run(given, { ...options, env: listening }) }, argv, code);
const started = (one: Box, command?: readonly string[]) =>
  start({ ...one.cli, run: (given, options) => one.cli.run(given, { ...options, env: listening }) }, command);

async function token(one: Box): Promise<string> {
  return String((await call(one, ["mesh", "token"]))["token"]);
}

async function joins(one: Box, other: Box): Promise<Record<string, unknown>> {
  const file = join(one.cli.home, "token");
  await writeFile(file, `${await token(other)}\n`, { mode: 0o600 });
  return call(one, ["mesh", "join", "--token-file", file]);
}

async function sees(one: Box): Promise<readonly string[]> {
  const { nodes } = (await call(one, ["mesh", "list"])) as { nodes: { name: string; status: string; self: boolean }[] };
  return nodes.map(({ name, status, self }) => `${name}${self ? "*" : ""} ${status}`);
}

async function meshOf(one: Box): Promise<unknown> {
  const { health } = (await call(one, ["status"])) as { health: { mesh: unknown } };
  return health.mesh;
}

it("nodes with stores of their own join, see who dies and comes back, revoke one, which says so itself, and leave", async () => {
  const [a, b, c] = [await box("a"), await box("b"), await box("c")];
  await started(a);
  const second = await started(b);
  expect(await sees(a)).toEqual(["a* online"]);
  expect(await joins(b, a)).toMatchObject({ joined: true, members: ["a"] });

  // A node that does not run yet joins at its start.
  expect(await joins(c, b)).toMatchObject({ joined: false, next: "cairn start" });
  await started(c);
  await expect.poll(() => sees(a), EVENTUALLY).toEqual(["a* online", "b online", "c online"]);
  await expect.poll(() => sees(c), EVENTUALLY).toEqual(["a online", "b online", "c* online"]);
  expect(await readdir(c.cli.home)).not.toContain("join.json");
  const written = async () => parseMeshFile(await readFile(join(a.cli.home, "mesh.json"), "utf8"));
  await expect.poll(async () => (await written()).nodes.map(({ name }) => name), EVENTUALLY).toEqual(["a", "b", "c"]);

  process.kill(second.pid, "SIGKILL");
  await expect.poll(() => sees(a), EVENTUALLY).toEqual(["a* online", "b suspect", "c online"]);
  await expect.poll(() => sees(c), EVENTUALLY).toEqual(["a online", "b offline", "c* online"]);
  // While it is off it is revoked: it learns of it from those who refuse it.
  await call(c, ["mesh", "revoke", "b", "--confirm", "b"]);
  await expect.poll(() => sees(a), EVENTUALLY).toEqual(["a* online", "c online"]);
  await started(b);
  await expect.poll(() => meshOf(b), EVENTUALLY).toMatchObject({ standing: "revoked" });
  expect(await call(b, ["doctor", "--only", "mesh.registry"], 1)).toMatchObject({
    checks: [{ status: "fail", message: "This node was revoked." }],
  });
  expect(await sees(a)).toEqual(["a* online", "c online"]);

  // With another identity it may come again.
  await call(b, ["mesh", "leave", "--confirm", "b"]);
  await started(b, ["restart"]);
  expect(await joins(b, c)).toMatchObject({ joined: true, members: ["a", "c"] });
  await expect.poll(() => sees(a), EVENTUALLY).toEqual(["a* online", "b online", "c online"]);

  // The first node of the mesh leaves: the others stay.
  expect(await call(a, ["mesh", "leave", "--confirm", "a"])).toMatchObject({ outcome: "left", name: "a" });
  await expect.poll(() => sees(b), EVENTUALLY).toEqual(["b* online", "c online"]);
  await expect.poll(() => meshOf(b), EVENTUALLY).toMatchObject({ standing: "member", members: 2, problem: null });
});

it("a registry that was cut in half is set aside and reported, and one whose store was lost is a member again", async () => {
  const [a, b] = [await box("a"), await box("b")];
  await started(a);
  await started(b);
  await joins(b, a);
  await expect.poll(() => sees(b), EVENTUALLY).toEqual(["a online", "b* online"]);
  const file = join(b.cli.home, "mesh.json");
  await expect.poll(async () => parseMeshFile(await readFile(file, "utf8")).nodes.length, EVENTUALLY).toBe(2);
  await call(b, ["stop"]);
  const whole = await readFile(file, "utf8");
  await writeFile(file, whole.slice(0, whole.length / 2));
  expect(await call(b, ["doctor", "--only", "mesh.registry"], 1)).toMatchObject({ checks: [{ status: "fail" }] });
  await started(b);
  await expect.poll(() => sees(b), EVENTUALLY).toEqual(["a online", "b* online"]);
  const aside = (await readdir(b.cli.home)).filter((name) => name.startsWith("mesh.json.unreadable-"));
  expect(aside).toHaveLength(1);
  expect(await meshOf(b)).toMatchObject({ standing: "member", problem: expect.stringContaining(aside[0] ?? "") });

  await call(b, ["stop"]);
  await writeFile(file, whole);
  await rm(join(b.cli.home, "store"), { recursive: true });
  await placeEmbeddedCopy(join(b.cli.home, "store"));
  await started(b);
  await expect.poll(() => sees(b), EVENTUALLY).toEqual(["a online", "b* online"]);
  await expect.poll(() => sees(a), EVENTUALLY).toEqual(["a* online", "b online"]);
});
