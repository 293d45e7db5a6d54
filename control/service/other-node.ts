/**
 * Which node of this machine listens on a port. A deployment whose own node does not run finds the node of another one behind
 * the address of its configuration: that one is not to be talked to.
 */

import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import process from "node:process";
import type { Deployment } from "./deployment.ts";

export interface OtherNode {
  readonly pid: number;
  readonly dir: string;
}

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const LISTENING = "0A";

/**
 * The node of another home that listens on the port of the address. Null where there is none, and where that cannot be known:
 * nodes of other users, of containers, and systems without /proc.
 */
export async function otherNodeAt(url: string, { home }: Pick<Deployment, "home">): Promise<OtherNode | null> {
  const { port, protocol } = new URL(url);
  const sockets = await listeners(Number(port || (protocol === "https:" ? 443 : 80)));
  if (sockets.size === 0) return null;
  const own = await realPath(home);
  for (const name of await readdir("/proc").catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const words = (await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
    const [dir, itsHome] = [wordAfter(words, "--dir"), wordAfter(words, "--home")];
    if (dir === undefined || itsHome === undefined || (await realPath(itsHome)) === own) continue;
    if (await hasSocket(name, sockets)) return { pid, dir };
  }
  return null;
}

/** The sockets that listen on the port, as `/proc/PID/fd` names them. */
async function listeners(port: number): Promise<ReadonlySet<string>> {
  const tables = await Promise.all(TABLES.map((table) => readFile(table, "utf8").catch(() => "")));
  const rows = tables.join("\n").split("\n");
  const inodes = rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    return state === LISTENING && Number.parseInt(local.split(":")[1] ?? "", 16) === port ? [`socket:[${inode}]`] : [];
  });
  return new Set(inodes);
}

async function hasSocket(pid: string, sockets: ReadonlySet<string>): Promise<boolean> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const name of names) {
    if (sockets.has(await readlink(`/proc/${pid}/fd/${name}`).catch(() => ""))) return true;
  }
  return false;
}

/** A node may have been started by another name of its directory, such as a link. */
function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

function wordAfter(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(flag);
  return at === -1 ? undefined : words[at + 1];
}
