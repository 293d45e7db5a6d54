/** What a person has of a node on a terminal: a screen, keys that run commands beside it, and an end in order. */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Interruption } from "../../output/interruption.ts";
import type { Deployment } from "../deployment.ts";
import { type SpawnedNode, until } from "../node-process.ts";
import { inspectNode } from "../stale-node-file.ts";
import { nextKey } from "./keys.ts";
import { runOnTerminal } from "./run-on-terminal.ts";

/** `stopped` was asked for, here or elsewhere; `restarted` runs on without this terminal. */
export type NodeEnd =
  | { readonly kind: "stopped" }
  | { readonly kind: "restarted"; readonly pid: number; readonly url: string }
  | { readonly kind: "failed"; readonly how: string; readonly words: string };

export interface ScreenOptions {
  readonly deployment: Pick<Deployment, "dir" | "home">;
  /** Has to be held: a drain takes longer than the tidying up of other commands. */
  readonly interruption: Pick<Interruption, "signal" | "onInterrupt">;
  /** Draws the screen, at the start and after each command. */
  show(): Promise<void>;
  say(text: string): Promise<void>;
}

const COMMANDS: ReadonlyMap<string, readonly string[]> = new Map([
  ["c", ["chat"]],
  ["d", ["doctor"]],
  ["l", ["logs", "--follow"]],
]);
const WANTED = new Set([...COMMANDS.keys(), "q"]);
/** Until a restart by another command has left its word, and until that node is ready. */
const RESTART_MS = 10_000;
const RESTARTING_MS = 60_000;

/** Resolves when the node has ended, or belongs to another command; then the terminal is as it was. */
export async function openReadyScreen(node: SpawnedNode, options: ScreenOptions): Promise<NodeEnd> {
  const { deployment, interruption, show } = options;
  const { child } = node;
  const gone = new AbortController();
  const ended = endOf(child).finally(() => gone.abort());
  let asked = false;
  const leave = AbortSignal.any([interruption.signal, gone.signal]);
  try {
    while (!leave.aborted) {
      const command = COMMANDS.get((await nextKey(WANTED, leave, show)) ?? "q");
      if (command === undefined) break;
      await runOnTerminal([...command, "--dir", deployment.dir], interruption);
    }
  } catch (error) {
    // Drawing the screen ends with the signal's reason.
    if (!interruption.signal.aborted) throw error;
  } finally {
    if (!gone.signal.aborted) {
      asked = true;
      await options.say("Stopping the node: turns that run are finished first.");
      child.kill("SIGTERM");
    } else if (!interruption.signal.aborted) {
      await options.say("The node has ended; looking whether it was restarted.");
    }
  }
  const exit = await ended;
  const restarted = asked ? null : await afterEnd(deployment.home, interruption.signal).catch(() => null);
  return restarted ?? (await endInWords(node, exit));
}

type Exit = readonly [code: number | null, signal: NodeJS.Signals | null];

async function endOf(child: ChildProcess): Promise<Exit> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return [child.exitCode, child.signalCode];
}

/** An end that nobody asked for here. A node that another command has started since is left alone. */
async function afterEnd(home: string, signal: AbortSignal): Promise<NodeEnd | null> {
  let state = await inspectNode(home);
  const becomes = (wanted: () => boolean) => async () => {
    state = await inspectNode(home);
    return wanted();
  };
  const patience = { deadlineMs: RESTART_MS, signal };
  const isStarting = await until(
    becomes(() => state.state !== "stopped"),
    patience,
  );
  if (isStarting) {
    await until(
      becomes(() => state.state !== "busy"),
      { ...patience, deadlineMs: RESTARTING_MS },
    );
  }
  return state.state === "running" ? { kind: "restarted", pid: state.node.pid, url: state.node.url } : null;
}

async function endInWords(node: SpawnedNode, [code, signal]: Exit): Promise<NodeEnd> {
  if (code === 0) return { kind: "stopped" };
  const how = signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`;
  return { kind: "failed", how, words: await node.lastWords() };
}
