/** `cairn memory move` between an embedded store and a real server: both ways, killed at each step, and what it refuses. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, describe, expect, it, vi } from "vitest";
import { readManifest } from "../../control/memory/move/manifest.ts";
import type { MoveResult } from "../../control/memory/move/move.ts";
import { lockForMove } from "../../runtime/config/index.ts";
import { rowsOf, withStore } from "../support/closed-store.ts";
import { CAIRN, cairn, environmentOf, printed } from "../support/commands.ts";
import { createPostgresCopy } from "../support/databases.ts";
import { fill } from "../support/full-store.ts";
import { createDeployment, type Deployment, startNode } from "../support/node-process.ts";

// Each move starts several processes.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const CLUSTER = process.env.CAIRN_TEST_PG_URL ?? "";
const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const yaml = ({ dir }: Deployment): Promise<string> => readFile(join(dir, "cairn.yaml"), "utf8");
const filesOfMove = ({ home }: Deployment) => readdir(join(home, "run", "move")).catch((): string[] => []);
const storeOf = ({ home }: Deployment): string => join(home, "store");

/** An embedded store with rows of every kind, and the address of an empty database in `.env`. */
async function filled({ url }: { readonly url?: string } = {}): Promise<{ deployment: Deployment; url: string }> {
  const copy = url === undefined ? await createPostgresCopy(CLUSTER) : { url, remove: async () => {} };
  ends.push(copy.remove);
  const deployment = await createDeployment({
    config: { providers: { offline: {} }, agents: { main: { provider: "offline" } }, memory: { embedded: {} } },
    env: { SERVICE_PG_URL: copy.url, SERVICE_MCP_ENABLE_MEMORY_WRITE: "1" },
  });
  ends.push(deployment.remove);
  await withStore(storeOf(deployment), fill);
  return { deployment, url: copy.url };
}

const move = (deployment: Deployment, to: string) => cairn<MoveResult>(deployment, "memory", "move", to);

/** What the command says when it fails. */
async function refusal(deployment: Deployment, ...args: string[]): Promise<string> {
  const failed = await printed(deployment, "memory", "move", ...args).then(
    (text) => Promise.reject(new Error(`it did not fail: ${text}`)),
    (error: { stderr: string }) => error,
  );
  return failed.stderr;
}

describe("memory move", () => {
  it("takes every row to PostgreSQL and back, changes the configuration, and renames the store that it leaves", async () => {
    const { deployment, url } = await filled();
    const before = await rowsOf(storeOf(deployment));

    const there = await move(deployment, "postgres");
    expect(there).toMatchObject({ outcome: "moved", config_changed: true, counts: { messages: 454, api_tokens: 1 } });
    expect(await yaml(deployment)).toContain("connection_string: ${SERVICE_PG_URL}");
    expect(await rowsOf(url)).toEqual(before);
    expect(await readdir(deployment.home)).not.toContain("store");
    expect(await rowsOf(there.former_store ?? "")).toEqual(before);
    expect(await filesOfMove(deployment)).toEqual([]);
    expect(await move(deployment, "postgres")).toMatchObject({ outcome: "nothing" });

    const back = await move(deployment, "embedded");
    expect(back).toMatchObject({ outcome: "moved", config_changed: true, former_store: null, counts: there.counts });
    expect(await yaml(deployment)).not.toContain("connection_string");
    expect(await rowsOf(storeOf(deployment))).toEqual(before);
    expect(await rowsOf(url)).toEqual(before);

    const node = await startNode(deployment);
    await node.call("/api/memory/tool/memory_append", { session_key: "s", agent: "a", role: "user", content: "after" });
    node.signal("SIGTERM");
    await node.exited;
  });

  it("takes along what was left behind when the backend was changed before", async () => {
    const { deployment, url } = await filled();
    const before = await rowsOf(storeOf(deployment));
    await printed(deployment, "config", "--yes", "--memory", "postgres");
    expect(await move(deployment, "postgres")).toMatchObject({ outcome: "moved", config_changed: false });
    expect(await rowsOf(url)).toEqual(before);
  });

  it("goes on after it was killed at any step, and until then the configuration is the one that works", async () => {
    const { deployment, url } = await filled();
    const [before, old] = [await rowsOf(storeOf(deployment)), await yaml(deployment)];
    const client = new Client({ connectionString: url });
    await client.connect();
    ends.push(() => client.end());
    const files = () => filesOfMove(deployment);
    const steps: Record<string, () => Promise<boolean>> = {
      planned: async () => (await files()).includes("postgres.yaml"),
      "reads the source": async () => (await files()).some((name) => name.endsWith(".partial")),
      "has the archive": async () => (await files()).includes("archive"),
      "begins to restore": async () => (await files()).includes("started"),
      "has restored": async () =>
        ((await client.query<{ there: boolean }>("select exists (select 1 from messages) as there")).rows[0]?.there ??
          false) &&
        (await yaml(deployment)) === old,
      "has changed the configuration": async () => (await yaml(deployment)) !== old,
    };
    for (const [step, isThere] of Object.entries(steps)) {
      const child = spawn(process.execPath, [CAIRN, "memory", "move", "postgres", "--dir", deployment.dir], {
        env: environmentOf(deployment),
        stdio: "ignore",
      });
      const ended = once(child, "exit");
      while (child.exitCode === null && !(await isThere())) await sleep(2);
      child.kill("SIGKILL");
      await ended;
      const isChanged = (await yaml(deployment)) !== old;
      expect(isChanged, step).toBe(step === "has changed the configuration");
      if (isChanged) expect(await rowsOf(url)).toEqual(before);
    }
    const last = await move(deployment, "postgres");
    expect(["moved", "nothing"]).toContain(last.outcome);
    expect(await rowsOf(url)).toEqual(before);
    const names = await readdir(deployment.home);
    expect(names).not.toContain("store");
    const [former = ""] = names.filter((name) => name.startsWith("store.moved-"));
    expect(await rowsOf(join(deployment.home, former))).toEqual(before);
    expect(await files()).toEqual([]);
  });

  it("lets no node into the home meanwhile, and no second move", async () => {
    const { deployment } = await filled();
    const lock = lockForMove(deployment.home);
    await expect(startNode(deployment)).rejects.toMatchObject({ error: { code: "RUNTIME_CONFLICT" } });
    expect(await refusal(deployment, "postgres")).toContain("Another command moves this memory.");
    lock?.release();
    const node = await startNode(deployment);
    node.signal("SIGTERM");
    await node.exited;
  });

  it("takes what an earlier run has restored for the whole only while the source says the same", async () => {
    const { deployment, url } = await filled();
    const old = await yaml(deployment);
    const client = new Client({ connectionString: url });
    await client.connect();
    ends.push(() => client.end());
    const child = spawn(process.execPath, [CAIRN, "memory", "move", "postgres", "--dir", deployment.dir], {
      env: environmentOf(deployment),
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    const rows = "select exists (select 1 from messages) as there";
    while (child.exitCode === null && !(await client.query<{ there: boolean }>(rows)).rows[0]?.there) await sleep(2);
    child.kill("SIGKILL");
    await ended;
    expect(await yaml(deployment)).toBe(old);
    await withStore(storeOf(deployment), (database) => database.query("update api_tokens set revoked_at = now()"));
    // However often it is repeated.
    for (let tries = 0; tries < 2; tries++) {
      expect(await refusal(deployment, "postgres")).toContain("it does not hold what the source does now");
    }
    expect(await yaml(deployment)).toBe(old);
  });

  it("refuses a database that another node uses", async () => {
    const { deployment, url } = await filled();
    const node = new Client({ connectionString: url, application_name: "cairn" });
    await node.connect();
    expect(await refusal(deployment, "postgres")).toContain("Another node is connected to that database.");
    await node.end();
  });

  it("gives the former store its name where only that was left to do, although the memory was used since", async () => {
    const { deployment } = await filled();
    const backup = join(deployment.dir, "all.backup");
    await printed(deployment, "memory", "backup", backup);
    const manifest = await readManifest(createReadStream(backup));
    const { former_store: former } = await move(deployment, "postgres");
    await rename(former ?? "", storeOf(deployment));
    const node = await startNode(deployment);
    await node.call("/api/memory/tool/memory_append", { session_key: "s", agent: "a", role: "user", content: "after" });
    node.signal("SIGTERM");
    await node.exited;
    expect(await refusal(deployment, "postgres")).toMatch(
      /The memory in use is not empty: .*\n.*two memories are not joined/,
    );
    await mkdir(join(deployment.home, "run", "move"), { recursive: true });
    const write = (note: object) => writeFile(join(deployment.home, "run", "move", "started"), JSON.stringify(note));
    const note = { to: "postgres", manifest, store: storeOf(deployment), compared: true };
    // Of a source in which something was said since, nothing is taken for moved.
    await write({ ...note, manifest: manifest.map((section) => ({ ...section, sha256: "0" })) });
    expect(await refusal(deployment, "postgres")).toContain("The memory in use is not empty");
    expect(await readdir(deployment.home)).toContain("store");
    await write(note);
    await writeFile(join(deployment.home, "run", "move", "archive"), "all that was said");
    expect(await move(deployment, "postgres")).toMatchObject({ outcome: "moved" });
    expect(await readdir(deployment.home)).not.toContain("store");
    expect(await filesOfMove(deployment)).toEqual([]);
  });

  it("refuses a target in which something was said, and changes nothing", async () => {
    const { deployment, url } = await filled();
    await withStore(url, fill);
    const old = await yaml(deployment);
    const [before, target] = [await rowsOf(storeOf(deployment)), await rowsOf(url)];
    expect(await refusal(deployment, "postgres")).toMatch(
      /The target is not empty: 454 messages are in it\.\nHint: Nothing was changed\. .*another database/,
    );
    expect(await yaml(deployment)).toBe(old);
    expect(await rowsOf(storeOf(deployment))).toEqual(before);
    expect(await rowsOf(url)).toEqual(target);
    expect(await filesOfMove(deployment)).toEqual([]);
  });

  it("refuses while the node runs, and names what stops it", async () => {
    const { deployment } = await filled();
    const node = await startNode(deployment);
    expect(await refusal(deployment, "postgres")).toMatch(/The node is running .*\n.*`.*stop/);
    node.signal("SIGTERM");
    await node.exited;
  });

  it.each([
    ["has no address", "", /SERVICE_PG_URL, the address .* is not set\.\nHint: Write SERVICE_PG_URL=/],
    ["does not answer", "postgres://u@127.0.0.1:1/db", /The PostgreSQL server cannot be used: .*ECONNREFUSED/],
    ["gives no rights", "role", /permission denied for/],
  ])("refuses a server that %s", async (what, address, says) => {
    const { deployment, url } = await filled();
    const limited = new URL(url);
    if (address === "role") {
      const admin = new Client({ connectionString: url });
      await admin.connect();
      await admin.query(
        `do $$ begin create role move_limited login; exception when duplicate_object then null; end $$`,
      );
      await admin.end();
      limited.username = "move_limited";
    }
    const old = await yaml(deployment);
    const env = await readFile(join(deployment.dir, ".env"), "utf8");
    const next = address === "role" ? limited.href : address;
    await writeFile(
      join(deployment.dir, ".env"),
      env.replace(/SERVICE_PG_URL=.*/, what === "has no address" ? "" : `SERVICE_PG_URL='${next}'`),
    );
    expect(await refusal(deployment, "postgres")).toMatch(says);
    expect(await yaml(deployment)).toBe(old);
    expect(await readdir(deployment.home)).toContain("store");
    expect(await filesOfMove(deployment)).toEqual([]);
  });
});
