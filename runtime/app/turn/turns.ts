/** Turns as channels and routes see them: accept a message, wait for its reply, follow its events. */

import type { InboundMessage } from "../../contracts/channel.ts";
import type { Database } from "../../contracts/database.ts";
import type { HandedTask } from "../../contracts/delegation.ts";
import { CairnError, DelegationError, fromErrorBody, RuntimeError } from "../../contracts/errors.ts";
import { isFinal, type TurnResult } from "../../contracts/stream.ts";
import { MAX_DELEGATION_DEPTH } from "../../domain/delegation.ts";
import { type ChannelRouting, routeToAgent } from "../../domain/routing.ts";
import type { NumberedEvent, TurnState, Turns } from "../api.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { ForwardedStreams } from "./forwarded-streams.ts";
import type { Inbox } from "./inbox.ts";
import type { Placement } from "./placement.ts";
import type { Receipts } from "./receipts.ts";
import { finalIdOf, type StreamHub } from "./stream-hub.ts";
import { STOP_TURN, withOwn } from "./turn-delegation.ts";
import { finalEvent, waitingEvent } from "./turn-end.ts";
import { TURN_CHANNEL } from "./turn-fence.ts";
import type { TurnStore } from "./turn-store.ts";

export interface TurnsDeps {
  readonly database: Database;
  readonly agents: ReadonlySet<string>;
  readonly inbox: Inbox;
  readonly store: TurnStore;
  readonly hub: StreamHub;
  readonly dispatcher: Dispatcher;
  readonly placement: Placement;
  readonly receipts: Receipts;
  /** Of turns that other nodes run; null where this one is alone. */
  readonly forwarded: ForwardedStreams | null;
  /** The bindings of a channel, for messages that name no agent. */
  readonly routing: (channel: string) => ChannelRouting;
  /** Messages are refused while this is true. */
  isDraining(): boolean;
}

/** Milliseconds between reads of the row of a turn that another process may end. */
const POLL_MS = 500;
/** How many accepted turns are cached for their first follower, which comes at once. */
const MAX_FRESH = 1_000;
/** Errors after which the row is read again at the next poll. */
const UNAVAILABLE: ReadonlySet<string> = new Set(["MEMORY_UNAVAILABLE", "MEMORY_TIMEOUT", "MEMORY_LOCK_TIMEOUT"]);

export function createTurns(deps: TurnsDeps): Turns {
  const { store, hub } = deps;

  /** Turns that this process has just accepted, with their agents: saves the first read of their rows. */
  const fresh = new Map<string, string>();

  function track(turnId: string, agent: string): void {
    fresh.set(turnId, agent);
    const [oldest] = fresh.size > MAX_FRESH ? fresh.keys() : [];
    if (oldest !== undefined) fresh.delete(oldest);
  }

  async function readTurn(agent: string, turnId: string): Promise<TurnState & { readonly attempt: number }> {
    const row = await store.read(agent, turnId);
    if (!row) throw new RuntimeError("RUNTIME_TURN_UNKNOWN", `The agent "${agent}" has no such turn.`);
    if (row.state === "waiting") {
      const { state, user, attempt, conversation, question } = row;
      return { state, turnId, agent, user, attempt, conversation, question };
    }
    if (row.state !== "ended") return { state: row.state, turnId, agent, user: row.user, attempt: row.attempt };
    return {
      state: "finished",
      turnId,
      agent,
      user: row.user,
      attempt: row.turn.attempt,
      final: finalEvent(row.turn, row.turn, row.turn.files),
    };
  }

  async function* events(
    agent: string,
    turnId: string,
    lastEventId = 0,
    signal?: AbortSignal,
    here = false,
  ): AsyncGenerator<NumberedEvent> {
    const isNew = fresh.get(turnId) === agent && fresh.delete(turnId);
    const state = isNew ? ({ state: "queued" } as const) : await readTurn(agent, turnId);
    const isElsewhere = state.state !== "finished" && !deps.placement.hosted().includes(agent);
    const unfollow = here || !isElsewhere ? undefined : deps.forwarded?.follow(agent, turnId);
    try {
      yield* eventsFrom(state, agent, turnId, lastEventId, signal);
    } finally {
      unfollow?.();
    }
  }

  async function* eventsFrom(
    first: { readonly state: "queued" } | Awaited<ReturnType<typeof readTurn>>,
    agent: string,
    turnId: string,
    lastEventId: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<NumberedEvent> {
    let last = lastEventId;
    let state = first;
    /** The question that the follower has seen. */
    let shown: string | null = null;
    for (;;) {
      const wait = hub.next(turnId);
      let timer: NodeJS.Timeout | undefined;
      try {
        for (const numbered of hub.since(turnId, last)) {
          last = numbered.id;
          if (numbered.event.type === "turn.waiting") shown = numbered.event.question.id;
          yield numbered;
          if (isFinal(numbered.event)) return;
        }
        // After the events: those of a node that shuts down arrive last.
        signal?.throwIfAborted();
        if (state.state === "finished") {
          // Not held here any more, or ended elsewhere: the row has the whole answer.
          yield { id: Math.max(last + 1, finalIdOf(state.attempt)), event: state.final };
          return;
        }
        // Where an event of a later attempt was seen, the row was read before it: the question is an old one.
        if (state.state === "waiting" && state.question.id !== shown && last <= finalIdOf(state.attempt)) {
          // Asked before this process started, or on another node. Always with the same id, from which the next attempt goes on.
          shown = state.question.id;
          last = finalIdOf(state.attempt);
          yield { id: last, event: waitingEvent({ turnId, conversation: state.conversation }, state.question) };
        }
        timer = setTimeout(wait.cancel, POLL_MS);
        signal?.addEventListener("abort", wait.cancel);
        await wait.promise;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wait.cancel);
        wait.cancel();
      }
      // Events that are here already are newer than the row.
      const heard = signal?.aborted || hub.since(turnId, last).length > 0;
      if (!heard) state = (await readTurn(agent, turnId).catch(ignoreUnavailable)) ?? state;
    }
  }

  /** One that comes again goes to the same agent, though the bindings may have changed: it is answered once. */
  async function route(inbound: InboundMessage): Promise<string> {
    const { channel, conversation } = inbound.address;
    const before = await deps.inbox.agentOf(inbound, [...deps.agents]);
    return before ?? routeToAgent(deps.routing(channel), conversation);
  }

  /** A turn of the agent may be claimed, here or where the agent is hosted. */
  async function wake(agent: string): Promise<void> {
    if (deps.placement.hosted().includes(agent)) deps.dispatcher.kick();
    else await deps.database.query("select pg_notify($1, 'queued')", [TURN_CHANNEL]).catch(() => undefined);
  }

  /** Null where the turn waits for an answer and that is to end the wait. */
  async function resultOf(
    agent: string,
    turnId: string,
    signal: AbortSignal | undefined,
    untilWaiting: boolean,
  ): Promise<TurnResult | null> {
    for await (const { event } of events(agent, turnId, 0, signal)) {
      if (event.type === "turn.waiting" && untilWaiting) return null;
      if (event.type === "turn.finished") {
        const { type: _type, ...result } = event;
        return result;
      }
      if (event.type === "turn.failed") throw fromErrorBody({ ...event.error, turn_id: turnId });
    }
    throw new RuntimeError("RUNTIME_TURN_INTERRUPTED", "The turn has not ended; ask for it again.", { turnId });
  }

  return {
    async accept(inbound) {
      const agent = inbound.agent || (await route(inbound));
      const message = { ...inbound, agent };
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
      if (message.task) await assertTask(deps.database, message.agent, message.task);
      const accepted = await deps.inbox.accept(message);
      if (accepted.fresh) {
        track(accepted.turnId, message.agent);
        await wake(message.agent);
        deps.receipts.show(message, { ...accepted, agent });
      }
      return { ...accepted, agent };
    },
    find: (identity) => deps.inbox.find(identity),
    async read(agent, turnId) {
      const { attempt: _attempt, ...state } = await readTurn(agent, turnId);
      return state;
    },
    async answer(given) {
      const questionId = await store.waiting.answer(given);
      await wake(given.agent);
      return { questionId };
    },
    async wait(agent, turnId, signal) {
      // Never null without that: only the end of the turn ends it.
      return (await resultOf(agent, turnId, signal, false)) as TurnResult;
    },
    waitForEndOrQuestion: (agent, turnId, signal) => resultOf(agent, turnId, signal, true),
    events,
    async openAttachment(agent, turnId, sha256) {
      await readTurn(agent, turnId);
      return store.openFile(turnId, sha256);
    },
    async stop(agent, turnId) {
      const { state } = await readTurn(agent, turnId);
      if (state === "finished") return false;
      return (await deps.database.query(STOP_TURN, [turnId])).count > 0;
    },
  };
}

function ignoreUnavailable(error: unknown): undefined {
  if (error instanceof CairnError && UNAVAILABLE.has(error.code)) return undefined;
  throw error;
}

/** DELEGATION_TOO_DEEP; DELEGATION_CYCLE for an agent of this database that waits for the task, however many nodes are in between. */
async function assertTask(database: Database, agent: string, { chain }: HandedTask): Promise<void> {
  if (chain.length > MAX_DELEGATION_DEPTH) {
    throw new DelegationError("DELEGATION_TOO_DEEP", `A task is handed on at most ${MAX_DELEGATION_DEPTH} times.`);
  }
  if ((await withOwn(database, chain)).some((turn) => turn.own && turn.agent === agent)) {
    throw new DelegationError("DELEGATION_CYCLE", `The agent "${agent}" waits for this task already.`);
  }
}
