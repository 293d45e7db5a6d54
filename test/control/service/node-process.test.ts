import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endChild, spawnNode, untilReady } from "../../../control/service/node-process.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "cairn-node-process-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A program in place of the service. */
async function start(program: string) {
  const entry = join(dir, "service.mjs");
  await writeFile(entry, program);
  return spawnNode({ dir, home: dir, entry });
}

const soon = () => ({ deadlineMs: 60_000, signal: new AbortController().signal });

describe("a node that was ready", () => {
  it("is no longer watched for its end, which would be waited for", async () => {
    const node = await start(
      `process.send({ type: "ready", url: "http://127.0.0.1:1" }); setInterval(() => {}, 1000);`,
    );
    expect(await untilReady(node, soon())).toBe("http://127.0.0.1:1");
    expect(["exit", "close", "message"].map((event) => node.child.listenerCount(event))).toEqual([0, 0, 0]);
    await endChild(node.child, 60_000);
    expect(node.child.signalCode).toBe("SIGTERM");
  });
});

describe("a node that ends before it is ready", () => {
  it("is told of with its last words", async () => {
    const node = await start(`process.stderr.write("no room for it"); process.exitCode = 3;`);
    await expect(untilReady(node, soon())).rejects.toMatchObject({
      code: "RUNTIME_START_FAILED",
      message: expect.stringMatching(/ended with exit code 3 before it was ready.*\nno room for it/s),
    });
  });

  it("is told of although something that it started holds its output open", async () => {
    const held = `import { spawn } from "node:child_process";
      const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 8000)"], { stdio: ["ignore", "ignore", 2], detached: true });
      child.unref();
      process.stderr.write("going", () => process.exit(4));`;
    const node = await start(held);
    await expect(untilReady(node, soon())).rejects.toThrow(/exit code 4 .*\ngoing/s);
    expect(node.child.stderr?.closed).toBe(false);
    node.child.stderr?.destroy();
  });
});
