/** Which process holds a home directory, by its lock and by what the system shows of the process. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { expect, it, onTestFinished } from "vitest";
import { holdsHome, inspectNode } from "../../../control/service/stale-node-file.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

/** A process that has ended, and whose parent does not wait for it: it shows no files. */
async function ended(): Promise<number> {
  // The parent's program is another one before the child can end: a shell would wait for it.
  const parent = spawn("sh", ["-c", "exec 3<&0; cat <&3 >/dev/null & echo $!; exec sleep 600 3<&-"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = await once(parent.stdout, "data");
  const pid = Number(String(line));
  await expect.poll(() => readFile(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
  parent.stdin.end();
  await expect.poll(() => readFile(`/proc/${pid}/stat`, "utf8")).toMatch(/\) Z /);
  return pid;
}

it.runIf(process.platform === "linux")("a node that ends is there until its lock is free", async () => {
  const home = await temporaryDirectory();
  const pid = await ended();
  await mkdir(join(home, "run"));
  const node = {
    pid,
    boot: "1",
    listen: "127.0.0.1:1",
    url: "http://127.0.0.1:1",
    certificate_sha256: null,
    next_certificate_sha256: null,
    started_at: new Date().toISOString(),
    dir: home,
    version: "0.0.0",
    maintenance: false,
  };
  await writeFile(join(home, "run", "node.json"), JSON.stringify(node));
  const lock = openSync(join(home, "run", "node.lock"), "a+", 0o600);
  expect(tryLock(lock)).toBe(true);
  expect(await holdsHome(home, node)).toBe(true);
  closeSync(lock);
  expect(await holdsHome(home, node)).toBe(false);
  expect(await inspectNode(home)).toMatchObject({ state: "stopped", stale: { pid } });
});
