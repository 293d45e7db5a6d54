/** A circuit breaker for each provider and model: while it is open their calls fail at once, and the next of the chain is asked. */

import { type CairnError, ProviderError } from "../../contracts/errors.ts";
import type { CircuitReport } from "../../contracts/health-report.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import {
  admit,
  afterCall,
  type CallOutcome,
  type Circuit,
  CLOSED,
  failuresOf,
  isIdle,
} from "../../domain/circuit-breaker.ts";

/** A call that was let through. The first outcome counts. */
export interface Permit {
  end(outcome: CallOutcome, error?: CairnError): void;
}

export interface ProviderCircuits {
  /** PROVIDER_CIRCUIT_OPEN while calls of this model are suspended. */
  enter(provider: string, model: string): Permit;
  /** Of those that have failed lately. */
  report(provider: string): readonly CircuitReport[];
}

interface Entry {
  readonly provider: string;
  readonly model: string;
  readonly circuit: Circuit;
  readonly lastError: string;
}

export function createProviderCircuits(deps: { clock: Pick<Clock, "monotonic">; logger: Logger }): ProviderCircuits {
  const { clock, logger } = deps;
  /** Only of models whose calls have failed: a session may name any model. */
  const entries = new Map<string, Entry>();

  function store(key: string, entry: Entry): void {
    const now = clock.monotonic();
    for (const [other, { circuit }] of entries) if (isIdle(circuit, now)) entries.delete(other);
    if (!isIdle(entry.circuit, now)) entries.set(key, entry);
    else entries.delete(key);
  }

  function record(key: string, entry: Entry, probe: boolean, outcome: CallOutcome, error?: CairnError): void {
    // Other calls may have changed it meanwhile.
    const current = entries.get(key) ?? { ...entry, circuit: CLOSED };
    const circuit = afterCall(current.circuit, probe, outcome, clock.monotonic());
    if (circuit === current.circuit) return;
    store(key, { ...current, circuit, lastError: error?.code ?? current.lastError });
    const { provider, model } = entry;
    if (circuit.state === "open" && outcome === "failed")
      logger.warn({ provider, model, code: error?.code }, "calls of a model are suspended after failures");
    if (probe && circuit.state === "closed") logger.info({ provider, model }, "calls of a model have resumed");
  }

  return {
    enter(provider, model) {
      const key = JSON.stringify([provider, model]);
      const entry = entries.get(key) ?? { provider, model, circuit: CLOSED, lastError: "" };
      const admission = admit(entry.circuit, clock.monotonic());
      if (!admission.admitted) {
        const retryAfterS = Math.ceil(admission.retryAfterMs / 1_000);
        throw new ProviderError(
          "PROVIDER_CIRCUIT_OPEN",
          `Calls of ${provider}:${model} are suspended after repeated failures (last: ${entry.lastError}).`,
          { retryAfterS, hint: `The next call is tried in ${retryAfterS} s.` },
        );
      }
      if (admission.probe) store(key, { ...entry, circuit: admission.circuit });
      let ended = false;
      return {
        end(outcome, error) {
          if (ended) return;
          ended = true;
          record(key, entry, admission.probe, outcome, error);
        },
      };
    },
    report(provider) {
      const now = clock.monotonic();
      return [...entries.values()].flatMap(({ circuit, lastError, ...entry }) =>
        entry.provider !== provider || isIdle(circuit, now)
          ? []
          : [
              {
                model: entry.model,
                state: circuit.state,
                failures: failuresOf(circuit, now),
                retry_after_s: circuit.state === "open" ? Math.max(0, Math.ceil((circuit.until - now) / 1_000)) : null,
                last_error: lastError,
              },
            ],
      );
    },
  };
}
