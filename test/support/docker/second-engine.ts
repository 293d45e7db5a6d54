/**
 * A second engine beside the machine's own, with nothing in it: the other host of a deployment. Processes, mounts and network are its
 * own, so that its power can be cut: everything in it ends at once, and what it had on its disk is there at the next start.
 */

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync, rmdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";

export interface SecondEngine {
  /** For `docker -H`. */
  readonly host: string;
  /** Where images and data are. */
  readonly disk: string;
  /** What stands before a command that is to be in the host's network, where published ports are; nothing while it is down. */
  inside(): readonly string[];
  /** Copies images of the machine's own engine. */
  load(...images: readonly string[]): Promise<void>;
  /** Everything in it is killed. */
  cut(): Promise<void>;
  start(): Promise<void>;
  /** For good, with its disk. */
  stop(): Promise<void>;
}

/** Of ext4 in a file: it is filled at once, where one in memory takes its time, while a command goes on. */
async function mountDisk(image: string, disk: string, sizeMiB: number): Promise<void> {
  const file = await open(image, "w");
  await file.truncate(sizeMiB * 1024 ** 2);
  await file.close();
  // Without blocks that are kept for root, who fills it.
  execFileSync("mkfs.ext4", ["-q", "-m", "0", image]);
  execFileSync("mount", ["-o", "loop", image, disk]);
  await chmod(disk, 0o711);
}

/** `lacks("docker-twice")` tells whether it can. `diskMiB`: of a disk of its own; that of the machine when absent. */
export async function startSecondEngine({ diskMiB }: { readonly diskMiB?: number } = {}): Promise<SecondEngine> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-engine-"));
  const host = `unix://${join(directory, "docker.sock")}`;
  const name = `cairn-test-${randomUUID().slice(0, 8)}`;
  const disk = join(directory, "data");
  // Gone after a restart, as everything in /run is.
  const volatile = join(directory, "run");
  await mkdir(disk);
  if (diskMiB !== undefined) await mountDisk(join(directory, "disk.img"), disk, diskMiB);
  const words = [
    ...["dockerd", "--host", host, "--data-root", disk, "--exec-root", join(volatile, "exec")],
    ...["--pidfile", join(volatile, "pid"), "--bridge", "none", "--iptables=false", "--ip6tables=false"],
    ...["--cgroup-parent", `/${name}`],
    // Apart from the machine's engine also where both use one containerd.
    ...["--containerd-namespace", name, "--containerd-plugins-namespace", `${name}-plugins`],
  ];
  // In a network namespace of its own: with `--bridge none` an engine removes docker0, and that would be the machine's. In one of
  // processes, too: the kernel kills all of them with the first.
  const namespaces = ["--net", "--pid", "--mount", "--fork", "--kill-child=SIGKILL", "--mount-proc"];
  let child: ReturnType<typeof spawn> | null = null;
  function spawn() {
    const script = `ip link set lo up; "$@" & wait`;
    return execa("unshare", [...namespaces, "--", "/bin/sh", "-c", script, "sh", ...words], {
      reject: false,
      all: true,
      stdin: "ignore",
    });
  }

  const cut = async (): Promise<void> => {
    child?.kill("SIGKILL");
    await child;
    child = null;
    await rm(volatile, { recursive: true, force: true });
    await rm(join(directory, "docker.sock"), { force: true });
    removeGroups(name);
  };
  const stop = async (): Promise<void> => {
    await cut();
    if (diskMiB !== undefined) execFileSync("umount", ["--lazy", disk]);
    await rm(directory, { recursive: true, force: true });
  };
  const start = async (): Promise<void> => {
    await mkdir(volatile, { recursive: true });
    const started = spawn();
    child = started;
    let ended: string | undefined;
    void started.then(({ all }) => {
      ended = all ?? "";
    });
    for (const deadline = Date.now() + EVENTUALLY_MS; ; await sleep(100)) {
      const { failed } = await execa("docker", ["-H", host, "version"], { reject: false });
      if (!failed) return;
      if (ended === undefined && Date.now() < deadline) continue;
      await stop();
      throw new Error(`The second engine did not start:\n${ended}`);
    }
  };
  await start();
  return {
    host,
    disk,
    inside() {
      const first = child?.pid === undefined ? null : firstChild(child.pid);
      return first === null ? [] : ["nsenter", `--net=/proc/${first}/ns/net`, "--"];
    },
    async load(...images) {
      const options = { buffer: { stdout: false } } as const;
      await execa("docker", ["image", "save", ...images], options).pipe("docker", ["-H", host, "image", "load"]);
    },
    cut,
    start,
    stop,
  };
}

function firstChild(pid: number): number | null {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? Number(readFileSync(file, "utf8").trim().split(" ")[0]) || null : null;
}

/** What containers that were killed leave of the kernel's accounting. Deepest first. */
function removeGroups(name: string): void {
  const found = [`/sys/fs/cgroup/${name}`, `/sys/fs/cgroup/*/${name}`].flatMap((one) => [
    ...globSync(`${one}/**/`),
    ...globSync(one),
  ]);
  for (const folder of [...new Set(found)].sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(folder);
    } catch {
      // It is used again, or is gone already.
    }
  }
}
