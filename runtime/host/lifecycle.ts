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
  /** What is before it in the list of services works on until others have seen that this node takes nothing new. */
  readonly notice: Service;
}

/**
 * Milliseconds from the beginning of a drain until something closes: proxies and clusters ask only every few seconds whether a node
 * is ready. Within the drain deadline, so that supervisors need no longer stop timeout.
 */
const NOTICE_MS = 5_000;

export interface LifecycleDeps {
  readonly dispatcher: () => Dispatcher;
  /** Whether another node shares the store; may reject. */
  readonly hasPeers: () => Promise<boolean>;
  readonly drainDeadlineMs: number;
  /** Aborts when the node has to stop; this is final. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
  /** Whether it is drained has changed. */
  onChange(): void;
}

export function createLifecycle(deps: LifecycleDeps): NodeLifecycle {
  const { dispatcher, hasPeers, drainDeadlineMs, stopping, logger, onChange } = deps;
  let state: NodeState = "starting";
  /** By the monotonic clock; of use while it drains. */
  let drainsSince = 0;
  let resumption: NodeJS.Timeout | undefined;

  function enterDrain(deadlineMs: number): void {
    if (state !== "draining") drainsSince = performance.now();
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

  /** A node that is alone ends at once: nothing could be sent elsewhere. So does one that has lost its store, and was not ready. */
  async function untilNoticed(): Promise<void> {
    const remainingMs = drainsSince + Math.min(NOTICE_MS, drainDeadlineMs) - performance.now();
    if (state !== "draining" || remainingMs <= 0) return;
    const noticed = Promise.withResolvers<void>();
    const timer = setTimeout(noticed.resolve, remainingMs);
    hasPeers().then(
      (has) => has || noticed.resolve(),
      () => noticed.resolve(),
    );
    await noticed.promise;
    clearTimeout(timer);
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
    notice: { name: "notice", drain: untilNoticed },
  };
}
