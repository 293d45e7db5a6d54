/** A second engine beside the machine's own, with nothing in it: the other host of a deployment. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";

export interface SecondEngine {
  /** For `docker -H`. */
  readonly host: string;
  stop(): Promise<void>;
}

/** `lacks("docker-twice")` tells whether it can. */
export async function startSecondEngine(): Promise<SecondEngine> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-engine-"));
  const host = `unix://${join(directory, "docker.sock")}`;
  const name = `cairn-test-${randomUUID().slice(0, 8)}`;
  // In a network namespace of its own: with `--bridge none` an engine removes docker0, and that would be the machine's.
  const child = execa(
    "unshare",
    [
      ...["--net", "--", "dockerd"],
      ...["--host", host, "--data-root", join(directory, "data"), "--exec-root", join(directory, "exec")],
      ...["--pidfile", join(directory, "pid"), "--bridge", "none", "--iptables=false", "--ip6tables=false"],
      // Apart from the machine's engine also where both use one containerd.
      ...["--containerd-namespace", name, "--containerd-plugins-namespace", `${name}-plugins`],
    ],
    { reject: false, all: true, stdin: "ignore" },
  );
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child;
    await rm(directory, { recursive: true, force: true });
  };
  let ended: string | undefined;
  void child.then(({ all }) => {
    ended = all;
  });
  for (const deadline = Date.now() + EVENTUALLY_MS; ; await sleep(100)) {
    const { failed } = await execa("docker", ["-H", host, "version"], { reject: false });
    if (!failed) return { host, stop };
    if (ended === undefined && Date.now() < deadline) continue;
    await stop();
    throw new Error(`The second engine did not start:\n${ended}`);
  }
}
