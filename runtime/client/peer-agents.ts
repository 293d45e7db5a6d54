/** Agents of other nodes, by the routes that any client has: a task is a message to the agent channel, under a token of this node. */

import type { PeerAgents, PeerTask, PeerTurn } from "../contracts/delegation.ts";
import { CairnError, ChannelError, RuntimeError } from "../contracts/errors.ts";
import type { NodeEntry } from "../contracts/node-entry.ts";
import type { NumberedEvent } from "../contracts/stream.ts";
import { causeCodeOf } from "../contracts/system-errors.ts";
import type { RequestOptions } from "./http.ts";
import type { PeerClients } from "./peer.ts";
import { EVENT_STREAM, eventsOf, turnPath } from "./turn-stream.ts";

/** Milliseconds until a peer must have begun to answer: it writes a message to its database before. */
const ANSWER_MS = 20_000;
/** Bytes of one event: it is held in memory whole. */
const MAX_EVENT = 8 * 1024 * 1024;

export function createPeerAgents(clients: PeerClients): PeerAgents {
  /** Its own deadline: that of the client would be told as the peer's own answer, which says that nothing was accepted. */
  async function open(
    peer: NodeEntry,
    path: string,
    options: RequestOptions & { readonly signal: AbortSignal },
  ): Promise<Response> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), ANSWER_MS);
    try {
      const signal = AbortSignal.any([options.signal, late.signal]);
      return await clients.to(peer).open(path, { ...options, timeoutMs: 0, signal });
    } catch (error) {
      options.signal.throwIfAborted();
      if (late.signal.aborted) throw noAnswer(peer);
      if (causeCodeOf(error) === "UND_ERR_CONNECT_TIMEOUT") throw notConnected(peer, error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async send(peer, task, signal) {
      const headers = { ...EVENT_STREAM, "idempotency-key": task.key };
      const path = `/api/agents/${encodeURIComponent(task.agent)}/messages`;
      const response = await open(peer, path, { method: "POST", headers, json: bodyOf(task), signal });
      const turnId = response.headers.get("x-turn-id");
      if (turnId === null) throw new RuntimeError("RUNTIME_INTERNAL", `The node ${peer.name} named no turn.`);
      return { turnId, events: numbered(response, signal) };
    },
    async *events(peer, turn, { lastEventId, forwarded }, signal) {
      const headers = {
        ...EVENT_STREAM,
        "last-event-id": String(lastEventId),
        ...(forwarded ? { "max-forwards": "0" } : {}),
      };
      yield* numbered(await open(peer, turnPath(turn.agent, turn.turnId), { headers, signal }), signal);
    },
    async stop(peer, turn: PeerTurn, signal) {
      const path = `${turnPath(turn.agent, turn.turnId)}/stop`;
      const response = await open(peer, path, { method: "POST", json: {}, signal });
      await response.body?.cancel();
    },
  };
}

function bodyOf({ text, key, user, chain, deadlineMs }: PeerTask): object {
  return {
    session: `task:${key}`,
    text,
    ...(user === undefined ? {} : { user }),
    task: { chain, deadline_ms: deadlineMs },
  };
}

async function* numbered(response: Response, signal: AbortSignal): AsyncGenerator<NumberedEvent> {
  try {
    for await (const { id, event } of eventsOf(response, signal, MAX_EVENT)) {
      const number = Number(id);
      if (Number.isSafeInteger(number) && number > 0) yield { id: number, event };
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof CairnError
      ? error
      : new ChannelError("CHANNEL_CONNECTION_LOST", "The connection to the node broke.", { cause: error });
  }
}

function noAnswer({ name }: NodeEntry): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", `The node ${name} did not answer within ${ANSWER_MS / 1_000} s.`);
}

function notConnected({ name }: NodeEntry, cause: unknown): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_RUNNING", `The node ${name} cannot be reached.`, { cause });
}
