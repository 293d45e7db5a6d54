/** Scheduled backups on the disks of nodes: the one that runs here, or all of the deployed stack, each pod of a group among them. */

import type { BackupEntry, BackupStatus, Client } from "../../runtime/client/index.ts";
import { CairnError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { ageMs, nextWords } from "../memory/backup-words.ts";
import { UsageError } from "../output/failure.ts";
import { withNode } from "./connect.ts";
import { type DeployedStack, nodeOf, openStack, requireNode } from "./deployed-stack.ts";
import type { Deployment } from "./deployment.ts";

export interface ListedBackup extends BackupEntry {
  /** Of a group of equal pods the name of the pod: `--node` takes it. */
  readonly node: string;
  /** Seconds, by the clock of its node. */
  readonly age_s: number;
}

export interface ListedBackups {
  /** Newest first. */
  readonly backups: readonly ListedBackup[];
  /** Nodes and pods that did not answer, and why, and those whose disk no node has any more: they may have more. */
  readonly unanswered: readonly { readonly node: string; readonly message: string }[];
  /** When the next one comes, in words: for each memory one, with the first of its nodes that answered. */
  readonly next: readonly { readonly node: string; readonly message: string }[];
}

export interface ListOptions {
  /** Of a deployed stack: this one alone. */
  readonly node?: string | undefined;
  /** Each is read to its end now. */
  readonly verify: boolean;
}

/** Rejects where no node answers at all. */
export async function listScheduled(
  deployment: Deployment,
  signal: AbortSignal,
  { node, verify }: ListOptions,
): Promise<ListedBackups> {
  const stack = await openStack(deployment, signal);
  if (stack === null) {
    const { shortLived, ...found } = await withNode(
      deployment,
      signal,
      async (client, { shortLived: own }) => ({ ...(await listFrom(client, signal, verify)), shortLived: own }),
      { node },
    );
    const { name, backups } = found;
    return { backups, unanswered: [], next: shortLived ? [{ node: name, message: NOT_RUNNING }] : nextOf([found]) };
  }
  const wanted = node === undefined ? null : requireNode(stack, node);
  const asked = stack.members.filter(({ name, node: of }) => wanted === null || wanted === name || wanted === of);
  const names = asked.map(({ name }) => name);
  const answers = await Promise.all(names.map((name) => listOf(stack, name, signal, verify)));
  const failed = answers.filter((answer) => answer instanceof Unanswered);
  const [first] = failed;
  if (first !== undefined && failed.length === answers.length) throw first.error;
  const lists = answers.flatMap((answer) => (answer instanceof Unanswered ? [] : [answer]));
  return {
    backups: lists
      .flatMap(({ backups }) => backups)
      .toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)),
    unanswered: [
      ...failed.map(({ name, error }) => ({ node: name, message: error.message })),
      ...(wanted === null ? elsewhere(lists, new Set(failed.map(({ name }) => nodeOf(stack.members, name)))) : []),
    ],
    next: nextOf(stack.sharesMemory ? lists.slice(0, 1) : lists),
  };
}

/** The newest that they tell of, and none of them has: of a node or a pod that was removed since. `failed`: nodes that may have it. */
function elsewhere(lists: readonly NodeList[], failed: ReadonlySet<string>): ListedBackups["unanswered"] {
  const listed = new Set(lists.flatMap(({ backups }) => backups.map(({ name }) => name)));
  const found = new Map<string, string>();
  for (const newest of lists.map(({ status }) => status?.last)) {
    if (newest && !listed.has(newest.name) && !failed.has(newest.node)) found.set(newest.node, newest.name);
  }
  return [...found].map(([node, name]) => ({
    node,
    message: `the newest, ${name}, is on a disk that no node of the stack has any more`,
  }));
}

/** The node of the stack that has it; undefined where nothing is deployed and there is but one. RUNTIME_NOT_FOUND; UsageError for several. */
export async function nodeWithBackup(
  deployment: Deployment,
  signal: AbortSignal,
  wanted: { readonly name: string; readonly node: string | undefined },
): Promise<string | undefined> {
  const stack = await openStack(deployment, signal);
  if (stack === null || stack.members.some(({ name }) => name === wanted.node)) return wanted.node;
  const { backups, unanswered } = await listScheduled(deployment, signal, { node: wanted.node, verify: false });
  const [found, ...others] = backups.filter(({ name }) => name === wanted.name).map(({ node }) => node);
  if (found !== undefined && others.length === 0) return found;
  if (found !== undefined) {
    throw new UsageError(
      `Several nodes have a scheduled backup ${wanted.name}: ${[found, ...others].join(", ")}.`,
      `Say which one's with \`--node ${found}\`.`,
    );
  }
  const missing = unanswered.map(({ node }) => node).join(", ");
  throw new RuntimeError(
    "RUNTIME_NOT_FOUND",
    `No node has the scheduled backup ${wanted.name}${missing === "" ? "" : `; it may be on ${missing}, which cannot be asked`}.`,
    { hint: "`cairn memory backups` lists those that there are." },
  );
}

interface NodeList {
  readonly name: string;
  readonly backups: readonly ListedBackup[];
  /** Of its store, whichever node has the newest; null while it does not answer. */
  readonly status: BackupStatus | null;
}

const NOT_RUNNING = "Backups are taken while a node runs: one that is due then comes within two minutes of its start.";

function nextOf(lists: readonly NodeList[]): ListedBackups["next"] {
  return lists.flatMap(({ name, status }) => {
    const message = status === null ? null : nextWords(status);
    return message === null ? [] : [{ node: name, message }];
  });
}

async function listFrom(client: Client, signal: AbortSignal, verify: boolean): Promise<NodeList> {
  // First, so that one which is taken meanwhile is not missed in the list.
  const { backup: status = null } = await client.health({ signal });
  const { node, backups } = await client.backups({ signal, verify });
  const age = ({ created_at: at }: BackupEntry) => Math.max(0, Math.round(ageMs(at, status ?? {}) / 1_000));
  return { name: node, backups: backups.map((one) => ({ ...one, node, age_s: age(one) })), status };
}

class Unanswered {
  readonly name: string;
  readonly error: CairnError;

  constructor(name: string, error: CairnError) {
    this.name = name;
    this.error = error;
  }
}

async function listOf(
  stack: DeployedStack,
  name: string,
  signal: AbortSignal,
  verify: boolean,
): Promise<NodeList | Unanswered> {
  try {
    const connection = await stack.open(name, signal);
    try {
      const { backups, status } = await listFrom(connection.client, signal, verify);
      return { name, backups: backups.map((one) => ({ ...one, node: name })), status };
    } finally {
      await connection.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CairnError) return new Unanswered(name, error);
    throw error;
  }
}
