/**
 * The files of a deployment directory as Kubernetes keeps them: keys of ConfigMaps, which have no folders and hold 1 MiB, and
 * the items that put each key back at its path in a pod.
 */

import { createHash, scryptSync } from "node:crypto";
import { posix } from "node:path";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { CONTAINER, type PlannedFile, POSTGRES } from "../../plan/types.ts";

/** Below the 1 MiB of an object, with room for its keys and labels, in bytes. */
const LARGEST_MAP = 960 * 1024;
const KEY = /^[-._a-zA-Z0-9]+$/;
const LONGEST_KEY = 253;

/** Key of `.env` in the Secret. */
export const ENV_KEY = "env";
/** Key of the database's certificate there, and its name below CONTAINER.configuration. */
export const CERTIFICATE_KEY = posix.basename(POSTGRES.certificate);
/** Read by its owner and its group, as `runtime/config/secrets-file.ts` requires of a file of root. */
export const FILE_MODE = 0o440;

export interface Item {
  readonly key: string;
  /** Below CONTAINER.configuration. */
  readonly path: string;
}

export interface PackedMap {
  readonly data: Readonly<Record<string, string>>;
  readonly items: readonly Item[];
}

/** ConfigMaps for the files, in the order of their paths, and the hash of all. INFRA_PLAN_INVALID when one cannot be kept. */
export function packFiles(files: readonly PlannedFile[]): {
  readonly maps: readonly PackedMap[];
  readonly hash: string;
} {
  const maps: { data: Record<string, string>; items: Item[]; bytes: number }[] = [];
  const hash = createHash("sha256");
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path, content } of sorted) {
    const item = itemOf(path);
    const bytes = Buffer.byteLength(content) + item.key.length;
    if (bytes > LARGEST_MAP) {
      throw new InfraError("INFRA_PLAN_INVALID", `${item.path} is larger than Kubernetes keeps a file (960 KiB).`, {
        hint: "Remove it from the workspace directory: agents can fetch or make large files themselves.",
      });
    }
    let map = maps.at(-1);
    if (map === undefined || map.bytes + bytes > LARGEST_MAP) {
      map = { data: {}, items: [], bytes: 0 };
      maps.push(map);
    }
    map.data[item.key] = content;
    map.items.push(item);
    map.bytes += bytes;
    hash.update(`${Buffer.byteLength(path)} ${path} ${Buffer.byteLength(content)} ${content}\n`);
  }
  return { maps: maps.map(({ data, items }) => ({ data, items })), hash: hash.digest("hex").slice(0, 32) };
}

/**
 * A hash that changes with a text of secrets and cannot be reversed: not every reader of a pod may read its Secret.
 * All secrets of a node go into one mark, through a function that is slow to try, so that a short one among them is not
 * guessed alone. Costs about 40 ms.
 */
export function secretsMark(text: string, stack: string, node: string): string {
  return scryptSync(text, `cairn/${stack}/${node}`, 16, { N: 2 ** 14, r: 8, p: 1 }).toString("hex");
}

function itemOf(path: string): Item {
  const root = `${CONTAINER.configuration}/`;
  if (!path.startsWith(root) || posix.normalize(path) !== path || path.endsWith("/")) {
    throw new InfraError("INFRA_PLAN_INVALID", `${path} is not a path below ${CONTAINER.configuration}.`);
  }
  const relative = path.slice(root.length);
  if (relative === ".env") {
    throw new InfraError("INFRA_PLAN_INVALID", "The secrets file is no file of the plan.");
  }
  return { key: keyOf(relative), path: relative };
}

/** The path itself where a key may be it, else its readable part and a hash. */
function keyOf(relative: string): string {
  if (KEY.test(relative) && !relative.startsWith("..") && relative !== "." && relative.length <= LONGEST_KEY)
    return relative;
  const readable = relative
    .replace(/[^-._a-zA-Z0-9]+/g, "_")
    .replace(/^\.+/, "")
    .slice(-150);
  return `${readable}-${createHash("sha256").update(relative).digest("hex").slice(0, 16)}`;
}
