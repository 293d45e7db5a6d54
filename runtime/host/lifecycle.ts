/** Where a node is between its start and its end, and how an operator drains and resumes it in between. */

import type { Lifecycle } from "../app/api.ts";
import type { NodeState } from "../app/health.ts";
import type { Dispatcher } from "../app/turn/dispatcher.ts";
import type { Logger } from "../contracts/ports.ts";
import type { Service } from "./services.ts";

export interface NodeLifecycle extends Lifecycle {
  state(): NodeState;
  /** True from the beginning of a drain on, until the node is resumed. */
  refusesMessages(): boolean;
  /** The last service of a node: it is running when all others run. `ready` goes into the log with it. */
  service(ready: object): Service;
}

export interface LifecycleDeps {
  readonly dispatcher: () => Dispatcher;
  readonly drainDeadlineMs: number;
  /** Aborts when the node has to stop; this is final. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
  /** Whether it is drained has changed. */
  onChange(): void;
}

export function createLifecycle({
  dispatcher,
  drainDeadlineMs,
  stopping,
  logger,
  onChange,
}: LifecycleDeps): NodeLifecycle {
  let state: NodeState = "starting";
  let resumption: NodeJS.Timeout | undefined;

  function enterDrain(deadlineMs: number): void {
    state = "draining";
    clearTimeout(resumption);
    logger.info({ active: dispatcher().activeTurns, deadline_ms: deadlineMs }, "draining");
    onChange();
  }

  function resume(): void {
    clearTimeout(resumption);
    if (state !== "draining" || stopping.aborted) return;
    state = "running";
    logger.info({}, "resumed");
    onChange();
    dispatcher().resume();
  }

  return {
    state: () => state,
    refusesMessages: () => state === "draining" || state === "stopped",
    get draining() {
      return state === "draining";
    },
    async drain(deadlineMs = drainDeadlineMs, resumeAfterMs) {
      if (state === "stopped") return;
      enterDrain(deadlineMs);
      if (resumeAfterMs !== undefined) resumption = setTimeout(resume, resumeAfterMs).unref();
      await dispatcher().drain(deadlineMs);
    },
    resume: async () => resume(),
    service: (ready) => ({
      name: "node",
      start() {
        state = "running";
        logger.info(ready, "the node is ready");
      },
      // The dispatcher drains itself, after this.
      drain: () => enterDrain(drainDeadlineMs),
      stop() {
        state = "stopped";
      },
    }),
  };
}
