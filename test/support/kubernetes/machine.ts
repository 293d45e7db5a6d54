/**
 * A machine of its own on this one: namespaces for its network, mounts and processes, an address that only this machine
 * reaches, and a control group. With its first process ends everything in it, containers as well. Needs root.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const FIRST_PROCESS = fileURLToPath(new URL("./machine.sh", import.meta.url));
const CGROUPS = "/sys/fs/cgroup";
const START_MS = 20_000;
const STOP_MS = 20_000;
const POLL_MS = 50;

export interface Machine {
  /** IPv4, reached from this machine and from the machine's own pods. */
  readonly address: string;
  /** Path of its control group below the root of each hierarchy. */
  readonly cgroup: string;
  /** Program and arguments that run something in it. */
  inside(program: string, args: readonly string[]): readonly [string, ...string[]];
  stop(): Promise<void>;
}

/** `directory`: an empty one for its files, on a disk that overlays can be mounted on. */
export async function startMachine(directory: string): Promise<Machine> {
  const id = randomBytes(3);
  const name = `cairn${id.toString("hex")}`;
  // 198.18.0.0/15 is for tests of networks; each machine takes four addresses of it.
  const [second = 0, third = 0, fourth = 0] = id;
  const net = `198.${18 + (second % 2)}.${third}`;
  const [host, address] = [`${net}.${(fourth & 0xfc) + 1}`, `${net}.${(fourth & 0xfc) + 2}`];

  const output = openSync(join(directory, "machine.log"), "a");
  const first = spawn(
    "setpriv",
    [
      ...["--pdeathsig", "KILL", "--", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"],
      ...["sh", FIRST_PROCESS, directory],
    ],
    { stdio: ["ignore", output, output] },
  );
  const stop = async () => {
    await end(first);
    await removeGroups(name);
  };
  try {
    const deadline = Date.now() + START_MS;
    while (!existsSync(join(directory, "ready"))) {
      if (first.exitCode !== null || Date.now() > deadline) throw new Error(logOf(directory));
      await sleep(POLL_MS);
    }
    const pid = childOf(first.pid ?? 0);
    const inside = (program: string, args: readonly string[]): readonly [string, ...string[]] => [
      "nsenter",
      ...[`--target=${pid}`, "--net", "--mount", "--pid", "--", program, ...args],
    ];
    const ip = (...args: string[]) => execa("ip", args);
    const ipInside = (...args: string[]) => {
      const [program, ...rest] = inside("ip", args);
      return execa(program, rest);
    };
    await ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", String(pid));
    await ip("address", "add", `${host}/30`, "dev", name);
    await ip("link", "set", name, "up");
    await ipInside("address", "add", `${address}/30`, "dev", "eth0");
    await ipInside("link", "set", "eth0", "up");
    await ipInside("route", "add", "default", "via", host);
    await makeGroups(name);
    return { address, cgroup: `/${name}`, inside, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** `unshare` has one child: the first process, as this machine numbers it. */
function childOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  if (children === "") throw new Error("The machine has ended");
  return Number.parseInt(children, 10);
}

/** One hierarchy for each controller, often with one that has none, or one for all of them. */
function hierarchies(): readonly string[] {
  if (existsSync(join(CGROUPS, "cgroup.controllers"))) return [CGROUPS];
  return readdirSync(CGROUPS)
    .map((each) => join(CGROUPS, each))
    .filter((each) => existsSync(join(each, "cgroup.procs")));
}

async function makeGroups(name: string): Promise<void> {
  for (const root of hierarchies()) {
    const own = join(root, name);
    const controllers = join(root, "cgroup.controllers");
    if (existsSync(controllers)) {
      const all = readFileSync(controllers, "utf8")
        .split(/\s+/)
        .filter((each) => each !== "");
      await writeFile(join(root, "cgroup.subtree_control"), all.map((each) => `+${each}`).join(" "));
    }
    await mkdir(own);
    // In the former kind of hierarchy a new group may use no processor and no memory until it is given some.
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      if (existsSync(join(root, file))) await writeFile(join(own, file), readFileSync(join(root, file)));
    }
  }
}

/** Innermost first: the kernel removes a group only when it has none below it. */
async function removeGroups(name: string): Promise<void> {
  const remove = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const each of entries) if (each.isDirectory()) await remove(join(folder, each.name));
    await rmdir(folder);
  };
  for (const root of hierarchies()) {
    const deadline = Date.now() + STOP_MS;
    const own = join(root, name);
    // A process that was killed stays in its group until the kernel has taken it down.
    while (existsSync(own) && Date.now() < deadline) {
      await remove(own).catch(() => sleep(POLL_MS));
    }
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await Promise.race([gone, sleep(STOP_MS, undefined, { ref: false })]);
}

function logOf(directory: string): string {
  return `The machine did not start: ${readFileSync(join(directory, "machine.log"), "utf8").trim()}`;
}
