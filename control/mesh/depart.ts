/** `mesh leave` and `mesh revoke`: what ends for good is confirmed first, by a name that is typed or given. */

import process from "node:process";
import type { Client, Departure } from "../../runtime/client/index.ts";
import { Interrupted, needsTerminal, UsageError } from "../output/failure.ts";
import type { Terminal } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

export interface Departed<Outcome extends string> extends Omit<Departure, "id"> {
  readonly id: string | null;
  /** `declined`: another name was typed. */
  readonly outcome: Outcome | "declined";
}

export interface DepartRequest {
  /** The name, instead of typing it. */
  readonly confirm: string | undefined;
  readonly signal: AbortSignal;
  readonly terminal: Terminal;
}

export async function leave(
  client: Pick<Client, "leaveMesh" | "health">,
  { force, ...request }: DepartRequest & { readonly force: boolean },
): Promise<Departed<"left">> {
  // By itself: a node that was revoked is in no list, and gets a new identity by leaving.
  const { name } = (await client.health({ signal: request.signal })).node;
  const what = `${name} leaves its mesh, and its key is no member's again.`;
  if (!(await isConfirmed(name, what, request)))
    return { outcome: "declined", id: null, name, notified: 0, admitted: [] };
  return { outcome: "left", ...(await client.leaveMesh({ signal: request.signal, force })) };
}

export async function revoke(
  client: Pick<Client, "revokeNode">,
  node: string,
  request: DepartRequest,
): Promise<Departed<"revoked">> {
  const what = `No member accepts ${node} again: this cannot be undone.`;
  if (!(await isConfirmed(node, what, request)))
    return { outcome: "declined", id: null, name: node, notified: 0, admitted: [] };
  return { outcome: "revoked", ...(await client.revokeNode(node, { signal: request.signal })) };
}

async function isConfirmed(name: string, what: string, { confirm, signal, terminal }: DepartRequest): Promise<boolean> {
  if (confirm !== undefined) {
    if (confirm === name) return true;
    throw new UsageError(`The node is ${visible(name)}, not ${visible(confirm)}: nothing was changed.`);
  }
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) throw needsTerminal("The node's name", `--confirm ${name}`);
  const { input } = await import("@inquirer/prompts");
  try {
    const message = `${visible(what)} Type ${visible(name)} to go on:`;
    return (await input({ message }, { output: process.stderr, signal })).trim() === name;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
    throw error;
  }
}
