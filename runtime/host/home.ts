/**
 * The home directory of a node: made private, locked by one process at a time, and announced in `run/node.json`.
 * The lock is the operating system's: while it is held, every earlier process of this home has ended.
 */

import { randomUUID } from "node:crypto";
import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tryLock } from "fs-native-extensions";
import { claimHome, makeOwnHome, makePrivateDirectory, refuseDuringMove } from "../config/index.ts";
import { RuntimeError } from "../contracts/errors.ts";
import { writeDurably } from "../files/durable.ts";
import { joinFilePath } from "../files/join-file.ts";

const LOCK_TRIES = 3;
const LOCK_PAUSE_MS = 20;

export interface HomePaths {
  readonly home: string;
  readonly store: string;
  readonly logs: string;
  readonly audit: string;
  /** Scheduled ones. */
  readonly backups: string;
  /** Of earlier versions; they are in the store now. */
  readonly attachments: string;
  /** Workspaces of users who are not the owner: a directory for each agent, and in it one for each user. */
  readonly workspacesOfOthers: string;
  /** What each tool of the MCP servers said of itself when it was first seen. */
  readonly mcpTools: string;
  readonly nodeKey: string;
  /** The nodes that it knows. */
  readonly meshFile: string;
  /** A token that the next start joins a mesh with. */
  readonly joinFile: string;
  /** Of `runtime.tls: auto`. */
  readonly certificateKeys: string;
  readonly certificates: string;
  /** Digests of the configuration of the last start. */
  readonly configuration: string;
  readonly nodeFile: string;
  readonly lockFile: string;
}

/** `run/node.json` of the running node; commands find the node by it. */
export interface NodeFile {
  readonly pid: number;
  readonly boot: string;
  readonly listen: string;
  readonly url: string;
  /** SHA-256 fingerprint of the certificate that it shows, which clients pin (contracts/certificates.ts); null without TLS. */
  readonly certificate_sha256: string | null;
  /** Of the one that it will show after that, which clients accept, too; null where the node makes none itself. */
  readonly next_certificate_sha256: string | null;
  readonly started_at: string;
  /** Deployment directory. */
  readonly dir: string;
  readonly version: string;
  readonly maintenance: boolean;
}

export interface HeldHome {
  readonly paths: HomePaths;
  /** Names this lock on this running machine: its former holder has ended. A copy of the home has another name. */
  readonly place: string;
  announce(node: NodeFile): Promise<void>;
  release(): Promise<void>;
}

export function homePaths(home: string): HomePaths {
  return {
    home,
    store: join(home, "store"),
    logs: join(home, "logs"),
    audit: join(home, "logs", "audit"),
    backups: join(home, "backups"),
    attachments: join(home, "attachments"),
    workspacesOfOthers: join(home, "workspaces"),
    mcpTools: join(home, "mcp-tools.json"),
    nodeKey: join(home, "node.key"),
    meshFile: join(home, "mesh.json"),
    joinFile: joinFilePath(home),
    certificateKeys: join(home, "tls.key"),
    certificates: join(home, "tls.pem"),
    configuration: join(home, "run", "configuration.json"),
    nodeFile: join(home, "run", "node.json"),
    lockFile: join(home, "run", "node.lock"),
  };
}

/** Makes the directories of the home of a deployment directory that are missing, readable by their owner alone. */
export async function prepareHome(home: string, dir: string): Promise<HomePaths> {
  const paths = homePaths(home);
  makeOwnHome(home, dir);
  for (const directory of [home, join(home, "run"), paths.logs, paths.attachments]) makePrivateDirectory(directory);
  return paths;
}

/**
 * Prepares the home and takes its lock; RUNTIME_ALREADY_RUNNING names the process that has it, CONFIG_INVALID the deployment
 * that it belongs to. RUNTIME_CONFLICT while the memory is moved, but for the nodes of the move.
 */
export async function holdHome(home: string, dir: string, moving = false): Promise<HeldHome> {
  const paths = await prepareHome(home, dir);
  const lock = await open(paths.lockFile, "a+", 0o600);
  if (!(await takeLock(lock.fd))) {
    await lock.close();
    throw new RuntimeError("RUNTIME_ALREADY_RUNNING", `A node is running already: ${await describeHolder(paths)}.`, {
      hint: "Use it, or stop it with `cairn stop`.",
    });
  }
  try {
    // With the lock held: a move takes its own lock first, and then looks at this one.
    if (!moving) refuseDuringMove(home);
    claimHome(home, dir);
  } catch (error) {
    await lock.close();
    throw error;
  }
  // Its writer has ended.
  await rm(paths.nodeFile, { force: true });
  const { dev, ino } = await lock.stat();
  return {
    paths,
    place: `${await machineBoot()}:${dev}:${ino}`,
    async announce(node) {
      await writeDurably(paths.nodeFile, `${JSON.stringify(node, null, 2)}\n`, { mode: 0o600 });
    },
    async release() {
      await rm(paths.nodeFile, { force: true });
      await lock.close();
    },
  };
}

/** A command that checks whether a node runs holds the lock for an instant: that is no reason to refuse. */
async function takeLock(fd: number): Promise<boolean> {
  for (let tries = 1; !tryLock(fd); tries++) {
    if (tries === LOCK_TRIES) return false;
    await sleep(LOCK_PAUSE_MS);
  }
  return true;
}

/** The kernel's name of this boot. Where it has none, a name of this start: an earlier one's leases are then waited for. */
async function machineBoot(): Promise<string> {
  const id = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => randomUUID());
  return id.trim();
}

async function describeHolder(paths: HomePaths): Promise<string> {
  try {
    const node: Partial<NodeFile> = JSON.parse(await readFile(paths.nodeFile, "utf8"));
    return `process ${node.pid} at ${node.url}, since ${node.started_at}`;
  } catch {
    return `a process that is starting or stopping, with the home directory ${paths.home}`;
  }
}
