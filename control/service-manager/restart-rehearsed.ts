/** `restart` as commands do it: tried beside the node that runs, then through whatever runs that node. */

import { launch, type Prepared } from "../service/launch.ts";
import { rehearseStart, withoutNode } from "../service/rehearse.ts";
import { stopDeadlineMs, stopNode } from "../service/stop-node.ts";
import { type RestartResult, restartKept } from "./restart-kept.ts";

const READY_MS = 60_000;

export interface RehearsedRestart {
  readonly signal: AbortSignal;
  /** Milliseconds until the node that runs must be gone; default: its drain deadline and 30 s. */
  readonly deadlineMs?: number | undefined;
  /** Kills it when it is still there after that. */
  readonly force?: boolean;
  /** What is done now, in words for a progress line. */
  readonly onStep?: (step: string) => void;
  /** Called between the rehearsal and the stop: what the new node is to find changed. */
  readonly change?: () => Promise<void>;
}

/** Errors of `rehearseStart`, then of `change`, with the node that runs left as it is; then those of the restart itself. */
export async function restartRehearsed(prepared: Prepared, options: RehearsedRestart): Promise<RestartResult> {
  const { signal, force = false, onStep = () => undefined } = options;
  const { deployment } = prepared;
  const deadlineMs = options.deadlineMs ?? stopDeadlineMs(prepared.config.config.runtime.drain_deadline);
  try {
    onStep("Trying the configuration");
    await rehearseStart(deployment, { signal });
    await options.change?.();
    onStep("Restarting the node: turns that run are finished first");
    const kept = await restartKept(prepared, { readyMs: READY_MS, signal });
    if (kept !== null) return kept;
    onStep("Stopping the node: turns that run are finished first");
    const stopped = await stopNode(deployment.home, { deadlineMs, force, signal });
    onStep("Starting the node");
    return { ...(await launch(prepared, { deadlineMs: READY_MS, signal })), stopped };
  } catch (error) {
    signal.throwIfAborted();
    throw await withoutNode(error, deployment.home);
  }
}
