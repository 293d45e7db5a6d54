/** `restart` of a node that a service manager runs: it stays the manager's. */

import { type Prepared, type StartResult, tokenPlace } from "../service/launch.ts";
import { inspectNode } from "../service/stale-node-file.ts";
import type { StopResult } from "../service/stop-node.ts";
import { type Keeper, keeperOf, restartNode } from "../update/restart.ts";

export interface RestartResult extends StartResult {
  readonly stopped: StopResult;
}

export interface KeptRestart {
  /** Milliseconds until it must be ready. */
  readonly readyMs: number;
  readonly signal: AbortSignal;
  /** Ports that tests replace: the owner of a process, and the manager. */
  readonly keeper?: (pid: number) => Promise<Keeper>;
  readonly restart?: typeof restartNode;
}

/** Null where no node runs, or where it runs by itself. RUNTIME_START_FAILED with the manager's words. */
export async function restartKept(
  { deployment, config, init }: Prepared,
  { readyMs, signal, keeper: ask = keeperOf, restart = restartNode }: KeptRestart,
): Promise<RestartResult | null> {
  const { dir, home } = deployment;
  const before = await inspectNode(home);
  if (before.state !== "running") return null;
  const keeper = await ask(before.node.pid);
  if (keeper.kind === "own") return null;
  // The unit names the program itself.
  await restart({ deployment, keeper, program: "", readyMs, signal });
  const after = await inspectNode(home);
  const node = after.state === "running" ? after.node : before.node;
  const stopped = { was_running: true, pid: before.node.pid, killed: false };
  const { default_agent: agent } = config.config.runtime;
  return { pid: node.pid, url: node.url, dir, home, token: tokenPlace(config), agent, init, stopped };
}
