import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inspectLock, takeLock } from "../../../../control/deploy/state/operator-lock.ts";

const ME = { user: "ada", host: "here", pid: 4711, boot: "b1" };
const NOW = new Date("2030-01-31T12:00:00Z");

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cairn-lock-"));
  path = join(folder, ".lock");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the operator's lock", () => {
  it("is had by one, and names them to the next", async () => {
    const lock = await takeLock(path, "up", ME, NOW);
    expect(lock.interrupted).toBeNull();
    await expect(takeLock(path, "destroy", { ...ME, user: "bob" }, NOW)).rejects.toMatchObject({
      code: "INFRA_LOCKED",
      message: "The stack is locked by ada@here: `cairn infra up` (process 4711, since 2030-01-31T12:00:00.000Z).",
      // That it lives is known here: there is nothing to force.
      details: { hint: expect.not.stringContaining("unlock") },
    });
    expect(await inspectLock(path, ME)).toMatchObject({ state: "held", holder: { user: "ada", command: "up" } });
    // The refused one has changed nothing in the file.
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ user: "ada" });
    await lock.release();
    expect(await inspectLock(path, ME)).toEqual({ state: "free" });
    const rollout = await takeLock(path, "update --mesh", ME, NOW);
    await expect(takeLock(path, "up", ME, NOW)).rejects.toThrow("by ada@here: `cairn update --mesh` (process");
    await rollout.release();
  });

  it("tells of a holder that did not end by itself", async () => {
    await (await takeLock(path, "up", ME, NOW)).abandon();
    expect(await inspectLock(path, { ...ME, pid: 1, boot: "b2" })).toMatchObject({
      state: "dead",
      holder: { pid: 4711 },
    });
    const next = await takeLock(path, "unlock", { ...ME, pid: 5 }, NOW);
    expect(next.interrupted).toMatchObject({ pid: 4711, command: "up" });
    await next.release();
  });

  it("does not treat a holder on another host as dead unless told to", async () => {
    await (await takeLock(path, "up", { ...ME, host: "far" }, NOW)).abandon();
    expect(await inspectLock(path, ME)).toMatchObject({ state: "elsewhere" });
    await expect(takeLock(path, "up", ME, NOW)).rejects.toMatchObject({
      code: "INFRA_LOCKED",
      message: expect.stringContaining("ada@far"),
      details: { hint: expect.stringContaining("unlock --force") },
    });
    const forced = await takeLock(path, "unlock", ME, NOW, { takeOver: true });
    expect(forced.interrupted).toMatchObject({ host: "far" });
    await forced.release();
  });

  it("takes half a record for a dead holder, not for nobody", async () => {
    writeFileSync(path, '{"user":"ada","ho');
    const lock = await takeLock(path, "up", ME, NOW);
    expect(lock.interrupted).toMatchObject({ user: "unknown" });
    await lock.release();
  });
});
