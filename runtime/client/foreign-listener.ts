/**
 * The owner of a local port. A node that has stopped leaves its port to whichever program takes it next, and what goes there
 * carries a token.
 */

import { readFile } from "node:fs/promises";
import process from "node:process";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const LISTENING = "0A";
const ROOT = 0;

/**
 * Whether a user other than this one and root listens on the port of the address. Root does for containers that publish a port.
 * False where the system does not report it.
 */
export async function isForeignListener(url: string): Promise<boolean> {
  const { port, protocol } = new URL(url);
  const number = Number(port || (protocol === "https:" ? 443 : 80));
  const tables = await Promise.all(TABLES.map((table) => readFile(table, "utf8").catch(() => "")));
  return tables.some((table) => listenersOf(table, number).some((uid) => uid !== ROOT && uid !== process.getuid?.()));
}

/** Users who listen on the port, of a table of the kernel's: number, local address and port, remote ones, state, ..., user. */
function listenersOf(table: string, port: number): number[] {
  const fields = table.split("\n").map((line) => line.trim().split(/\s+/));
  return fields.flatMap(([, local = "", , state, , , , uid]) =>
    state === LISTENING && Number.parseInt(local.split(":")[1] ?? "", 16) === port ? [Number(uid)] : [],
  );
}
