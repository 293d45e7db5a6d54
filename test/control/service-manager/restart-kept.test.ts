import { mkdir, open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { findDeployment } from "../../../control/service/deployment.ts";
import { prepare } from "../../../control/service/launch.ts";
import { nodeFilePath, nodeLockPath } from "../../../control/service/node-file.ts";
import { restartKept } from "../../../control/service-manager/restart-kept.ts";
import { MINIMAL, temporaryDirectory } from "../../support/deployment.ts";

const { signal } = new AbortController();

/** A home in which this process passes for the node. */
async function home(running: boolean) {
  const dir = await temporaryDirectory();
  vi.stubEnv("SERVICE_HOME", dir);
  // A node of this machine's user may have the usual port.
  vi.stubEnv("SERVICE_LISTEN", "127.0.0.1:0");
  onTestFinished(() => void vi.unstubAllEnvs());
  await writeFile(join(dir, "cairn.yaml"), MINIMAL);
  const prepared = await prepare(findDeployment({ dir }), signal);
  if (!running) return prepared;
  await mkdir(dirname(nodeLockPath(dir)), { recursive: true });
  const lock = await open(nodeLockPath(dir), "a+");
  onTestFinished(() => lock.close());
  expect(tryLock(lock.fd)).toBe(true);
  const started_at = "2030-01-01T00:00:00.000Z";
  const file = {
    pid: process.pid,
    url: "http://127.0.0.1:1",
    version: "1.0.0",
    started_at,
    node_id: "n",
    maintenance: false,
  };
  await writeFile(nodeFilePath(dir), JSON.stringify(file));
  return prepared;
}

const UNIT = { kind: "systemd", unit: "cairn.service", scope: "user" } as const;

describe("restarting a node that a service manager runs", () => {
  it("leaves it to the manager, so that it stays the manager's", async () => {
    const restart = vi.fn(async () => undefined);
    const result = await restartKept(await home(true), { readyMs: 5, signal, keeper: async () => UNIT, restart });
    expect(restart).toHaveBeenCalledWith(expect.objectContaining({ keeper: UNIT, readyMs: 5 }));
    expect(result).toMatchObject({ pid: process.pid, stopped: { was_running: true, pid: process.pid, killed: false } });
  });

  it("is nothing for a node that runs by itself, or for none", async () => {
    const restart = vi.fn(async () => undefined);
    const own = async () => ({ kind: "own" }) as const;
    expect(await restartKept(await home(true), { readyMs: 5, signal, keeper: own, restart })).toBeNull();
    expect(await restartKept(await home(false), { readyMs: 5, signal, keeper: async () => UNIT, restart })).toBeNull();
    expect(restart).not.toHaveBeenCalled();
  });
});
