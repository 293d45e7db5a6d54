/** Scheduled backups on the disks of nodes: the one that runs here, or all of the deployed stack. */

import type { BackupEntry } from "../../runtime/client/index.ts";
import { CairnError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { withNode } from "./connect.ts";
import { type DeployedStack, openStack, requireNode } from "./deployed-stack.ts";
import type { Deployment } from "./deployment.ts";

export interface ListedBackup extends BackupEntry {
  readonly node: string;
}

export interface ListedBackups {
  /** Newest first. */
  readonly backups: readonly ListedBackup[];
  /** Nodes that did not answer, and why: they may have more. */
  readonly unanswered: readonly { readonly node: string; readonly message: string }[];
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
    const found = await withNode(deployment, signal, (client) => client.backups({ signal, verify }), { node });
    return { backups: found.backups.map((backup) => ({ ...backup, node: found.node })), unanswered: [] };
  }
  const names = node === undefined ? stack.nodes : [requireNode(stack, node)];
  const answers = await Promise.all(names.map((name) => listOf(stack, name, signal, verify)));
  const failed = answers.filter((answer) => answer instanceof Unanswered);
  const [first] = failed;
  if (first !== undefined && failed.length === answers.length) throw first.error;
  return {
    backups: answers
      .flatMap((answer) => (answer instanceof Unanswered ? [] : answer))
      .toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)),
    unanswered: failed.map(({ name, error }) => ({ node: name, message: error.message })),
  };
}

/** The node of the stack that has it; undefined where nothing is deployed and there is but one. RUNTIME_NOT_FOUND. */
export async function nodeWithBackup(
  deployment: Deployment,
  signal: AbortSignal,
  wanted: { readonly name: string; readonly node: string | undefined },
): Promise<string | undefined> {
  if (wanted.node !== undefined || (await openStack(deployment, signal)) === null) return wanted.node;
  const { backups, unanswered } = await listScheduled(deployment, signal, { verify: false });
  const found = backups.find(({ name }) => name === wanted.name);
  if (found !== undefined) return found.node;
  const missing = unanswered.map(({ node }) => node).join(", ");
  throw new RuntimeError(
    "RUNTIME_NOT_FOUND",
    `No node has the scheduled backup ${wanted.name}${missing === "" ? "" : `; it may be on ${missing}, which does not answer`}.`,
    { hint: "`cairn memory backups` lists those that there are." },
  );
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
): Promise<readonly ListedBackup[] | Unanswered> {
  try {
    const connection = await stack.open(name, signal);
    try {
      const { backups } = await connection.client.backups({ signal, verify });
      return backups.map((backup) => ({ ...backup, node: name }));
    } finally {
      await connection.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CairnError) return new Unanswered(name, error);
    throw error;
  }
}
