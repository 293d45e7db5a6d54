/** From TOOL_SYNTH_* or `memory.summarizer` to what gives tool calls their sentences. */

import { setTimeout as sleep } from "node:timers/promises";
import { CircuitBreaker } from "../app/synthesis/circuit-breaker.ts";
import { createSynthesis } from "../app/synthesis/synthesis.ts";
import type { WorkerState } from "../app/worker-state.ts";
import { type LoadedConfig, toolSynth } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { JobQueue } from "../contracts/jobs.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import { startSynthesizer } from "../workers/synthesizer.ts";
import { createTextModel } from "./text-models.ts";

export interface SynthesisHostDeps {
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  readonly logger: Logger;
  /** A row has content now and can be embedded. */
  readonly onWritten: () => void;
}

export interface SynthesisParts {
  /** Takes jobs from now on. Without a model they wait, which is logged. */
  start(): Promise<void>;
  state(): WorkerState;
}

export function createSynthesisParts(
  { config, env }: Pick<LoadedConfig, "config" | "env">,
  deps: SynthesisHostDeps,
): SynthesisParts {
  const logger = deps.logger.child({ part: "synthesizer" });
  const chosen = toolSynth(config.memory.summarizer, env);
  if (chosen.endpoint === null) {
    const { reason, wrong } = chosen;
    return {
      async start() {
        const message = "tool calls without content wait: no model is there to describe them";
        if (wrong) logger.warn({ reason }, message);
        else logger.info({ reason }, message);
      },
      state: () => ({ state: "off", model: null, reason }),
    };
  }
  const { database, jobs, clock, redact, onWritten } = deps;
  const model = createTextModel(chosen.endpoint, logger);
  const breaker = new CircuitBreaker({ clock, sleep: (ms, signal) => sleep(ms, undefined, { signal }) });
  const synthesis = createSynthesis({ database, model, redact, logger, onWritten });
  return {
    start: () => startSynthesizer({ synthesis, breaker, jobs }),
    state: () => ({
      state: breaker.error === null ? "on" : "unavailable",
      model: model.model,
      reason: breaker.error,
    }),
  };
}
