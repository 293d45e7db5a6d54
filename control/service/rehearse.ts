/** Tries a start beside the node that runs, before that one is stopped for it. */

import { CairnError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "./deployment.ts";
import { endChild, spawnNode, untilReady } from "./node-process.ts";
import { inspectNode } from "./stale-node-file.ts";

const REHEARSAL_MS = 30_000;
const END_MS = 5_000;

/**
 * Does nothing where no node runs. Rejects with the error that the start would report, and says that the running node was left as
 * it is.
 */
export async function rehearseStart(
  { dir, home }: Pick<Deployment, "dir" | "home">,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  const state = await inspectNode(home);
  if (state.state !== "running") return;
  const node = await spawnNode({ dir, home, rehearse: Number(new URL(state.node.url).port) });
  try {
    await untilReady(node, { deadlineMs: REHEARSAL_MS, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    throw withRemark(error, `The node that runs (process ${state.node.pid}) was left as it is.`);
  } finally {
    await endChild(node.child, END_MS);
  }
}

/** Says after a failed start that nothing runs now, where that is so. */
export async function withoutNode(error: unknown, home: string): Promise<unknown> {
  const state = await inspectNode(home).catch(() => null);
  if (!(error instanceof CairnError) || state?.state !== "stopped") return error;
  return withRemark(error, "No node runs now: `cairn start --detach` starts one.");
}

/** The same error, with one more sentence. */
export function withRemark(error: CairnError, remark: string): CairnError {
  const message = `${error.message.replace(/[.]?$/, ".")} ${remark}`;
  return new CairnError(error.code, message, { ...error.details, cause: error });
}
