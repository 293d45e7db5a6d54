/** Turns as channels and routes see them: accept a message, wait for its reply, follow its events. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../contracts/database.ts";
import { CairnError, RuntimeError } from "../../contracts/errors.ts";
import { isFinal } from "../../contracts/stream.ts";
import type { NumberedEvent, TurnState, Turns } from "../api.ts";
import { type Dispatcher, TURN_CHANNEL } from "./dispatcher.ts";
import type { Inbox } from "./inbox.ts";
import type { Placement } from "./placement.ts";
import { finalIdOf, type StreamHub } from "./stream-hub.ts";
import { finalEvent } from "./turn-end.ts";
import type { TurnStore } from "./turn-store.ts";

export interface TurnsDeps {
  readonly database: Database;
  readonly agents: ReadonlySet<string>;
  readonly inbox: Inbox;
  readonly store: TurnStore;
  readonly hub: StreamHub;
  readonly dispatcher: Dispatcher;
  readonly placement: Placement;
  /** Messages are refused while this is true. */
  isDraining(): boolean;
}

/** How often the row of a turn is looked at that another process may end. */
const LOOK_MS = 500;
/** Errors after which a look at the row is simply repeated. */
const AWAY: ReadonlySet<string> = new Set(["MEMORY_UNAVAILABLE", "MEMORY_TIMEOUT", "MEMORY_LOCK_TIMEOUT"]);

export function createTurns(deps: TurnsDeps): Turns {
  const { store, hub } = deps;

  async function look(agent: string, turnId: string): Promise<TurnState & { readonly attempt: number }> {
    const row = await store.look(agent, turnId);
    if (!row) throw new RuntimeError("RUNTIME_TURN_UNKNOWN", `The agent "${agent}" has no such turn.`);
    if (row.state !== "ended") return { state: row.state, turnId, agent, attempt: row.attempt };
    return { state: "finished", turnId, agent, attempt: row.turn.attempt, final: finalEvent(row.turn, row.turn) };
  }

  async function* events(
    agent: string,
    turnId: string,
    lastEventId = 0,
    signal?: AbortSignal,
  ): AsyncGenerator<NumberedEvent> {
    let last = lastEventId;
    let state = await look(agent, turnId);
    for (;;) {
      signal?.throwIfAborted();
      const wait = hub.next(turnId);
      const slept = new AbortController();
      try {
        for (const numbered of hub.since(turnId, last)) {
          last = numbered.id;
          yield numbered;
          if (isFinal(numbered.event)) return;
        }
        if (state.state === "finished") {
          // Not held here any more, or ended elsewhere: the row has the whole answer.
          yield { id: Math.max(last + 1, finalIdOf(state.attempt)), event: state.final };
          return;
        }
        const timer = sleep(LOOK_MS, undefined, { signal: slept.signal }).catch(() => undefined);
        await Promise.race([wait.promise, timer, ended(signal, slept.signal)]);
      } finally {
        slept.abort();
        wait.cancel();
      }
      // Events that are here already tell more than the row does.
      if (hub.since(turnId, last).length === 0) state = (await look(agent, turnId).catch(ignoreAway)) ?? state;
    }
  }

  return {
    async accept(message) {
      if (!deps.agents.has(message.agent)) {
        throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", `There is no agent "${message.agent}".`, {
          hint: `Agents: ${[...deps.agents].join(", ")}.`,
        });
      }
      if (deps.isDraining())
        throw new RuntimeError(
          "RUNTIME_DRAINING",
          "The service is shutting down; send the message again in a moment.",
          { retryAfterS: 5 },
        );
      const accepted = await deps.inbox.accept(message);
      if (accepted.fresh) {
        if (deps.placement.hosted().includes(message.agent)) deps.dispatcher.kick();
        else await deps.database.query("select pg_notify($1, 'queued')", [TURN_CHANNEL]).catch(() => undefined);
      }
      return accepted;
    },
    async look(agent, turnId) {
      const { attempt: _attempt, ...state } = await look(agent, turnId);
      return state;
    },
    async wait(agent, turnId, signal) {
      for await (const { event } of events(agent, turnId, 0, signal)) {
        if (event.type === "turn.finished") {
          const { type: _type, ...result } = event;
          return result;
        }
        if (event.type === "turn.failed")
          throw new CairnError(event.error.code, event.error.message, {
            turnId,
            ...(event.error.hint ? { hint: event.error.hint } : {}),
          });
      }
      throw new RuntimeError("RUNTIME_TURN_INTERRUPTED", "The turn has not ended; ask for it again.", { turnId });
    },
    events,
  };
}

function ignoreAway(error: unknown): undefined {
  if (error instanceof CairnError && AWAY.has(error.code)) return undefined;
  throw error;
}

function ended(signal: AbortSignal | undefined, unless: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!signal) return;
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: unless });
  });
}
