/** The disk of a node's home is full: nothing is accepted, the node answers, and with room it goes on. */

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { eventually } from "../support/eventually.ts";
import { createDeployment, type Deployment, startNode } from "../support/node-process.ts";
import { killed } from "../support/running-node.ts";

const OFFLINE = { providers: { offline: {} }, agents: { main: { provider: "offline" } } };

const defer: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of defer.splice(0).reverse()) await end();
});

/** Its home, with the store that is made already where `store` says so, is on a disk of this size. */
async function onDisk({ size, store }: { size: string; store: boolean }): Promise<Deployment> {
  const deployment = await createDeployment({ config: OFFLINE });
  defer.push(deployment.remove);
  // A run that is killed leaves the disk behind, and the next one removes the folder in memory of that run.
  const home = await mkdtemp(join(process.env.CAIRN_TEST_DISK ?? tmpdir(), "cairn-small-disk-"));
  defer.push(() => rm(home, { recursive: true, force: true }));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=0700`, "tmpfs", home]);
  defer.push(async () => execFileSync("umount", ["--lazy", home]));
  if (store) await cp(deployment.home, home, { recursive: true });
  return { ...deployment, home };
}

async function fill(home: string): Promise<string> {
  const { blocks, bsize } = await statfs(home);
  const filler = join(home, "filler");
  await expect(writeFile(filler, Buffer.alloc(blocks * bsize))).rejects.toMatchObject({ code: "ENOSPC" });
  return filler;
}

// Only root may make a small disk.
describe.skipIf(lacks("root"))("a full disk below the home", () => {
  it("refuses the first start in one sentence, and lets the next one begin anew", async () => {
    const deployment = await onDisk({ size: "3m", store: false });
    await expect(startNode(deployment)).rejects.toMatchObject({ error: { code: "MEMORY_STORE_FULL" } });
    execFileSync("mount", ["-o", "remount,size=200m", deployment.home]);
    const node = await startNode(deployment);
    defer.push(() => killed(node));
  });

  it("says of a disk that is read-only what it is, and not that a file is missing", async () => {
    const deployment = await onDisk({ size: "3m", store: false });
    execFileSync("mount", ["-o", "remount,ro", deployment.home]);
    const error = { code: "CONFIG_UNWRITABLE", message: expect.stringContaining("EROFS") };
    await expect(startNode(deployment)).rejects.toMatchObject({ error });
  });

  it("refuses messages while the node answers, and with room takes them again", async () => {
    const deployment = await onDisk({ size: "120m", store: true });
    const node = await startNode(deployment);
    defer.push(() => killed(node));
    const say = (text: string) => node.call("/api/agents/main/messages", { session: randomUUID(), text });
    await say("the teapot is blue");
    const filler = await fill(deployment.home);
    // One that still found room in the inbox waits for its turn: its answer comes once there is room.
    const accepted: Promise<unknown>[] = [];
    await eventually(async () => {
      const answer = say("words ".repeat(10_000));
      const end = await Promise.race([answer.catch((error: unknown) => error), sleep(2_000, "waits")]);
      if (end === "waits") accepted.push(answer);
      expect(end).toMatchObject({ code: "MEMORY_STORE_FULL", status: 503 });
    });
    // Standard output and the log have lines that the disk did not take: neither ends the node.
    expect((await node.request("/health/live")).status).toBe(200);
    await rm(filler);
    await eventually(() => say("the kettle is red"));
    await Promise.all(accepted);
    const { results } = await node.call<{ results: { content: string }[] }>("/api/memory/tool/memory_search", {
      query: "teapot",
    });
    expect(results.map(({ content }) => content)).toContain("the teapot is blue");
  });
});
