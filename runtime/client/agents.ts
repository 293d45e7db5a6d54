/** The routes of an agent as functions: messages, turns, answers, commands. */

import { randomUUID } from "node:crypto";
import type { CommandReply } from "../contracts/channel.ts";
import { CairnError, fromErrorBody, RuntimeError } from "../contracts/errors.ts";
import type { StreamEvent, TurnResult, WaitingQuestion } from "../contracts/stream.ts";
import { type Connection, call, type RequestOptions, request } from "./http.ts";
import { EVENT_STREAM, followTurn, turnPath } from "./turn-stream.ts";
import type { CallOptions, FollowOptions, MessageRequest, SendOptions } from "./types.ts";

/** A turn that has not ended. */
export interface PendingTurn {
  readonly turn_id: string;
  readonly state: "queued" | "running" | "waiting";
  /** What it waits for. */
  readonly question?: WaitingQuestion;
}

export function agentCalls(connection: Connection) {
  const agentPath = (agent: string) => `/api/agents/${encodeURIComponent(agent)}`;

  /** Once more when the connection breaks before the answer: under the same key it stays the same message. */
  async function post(path: string, options: RequestOptions): Promise<Response> {
    try {
      return await request(connection, path, { ...options, method: "POST" });
    } catch (error) {
      if (!(error instanceof CairnError) || error.code !== "CHANNEL_CONNECTION_LOST") throw error;
      return request(connection, path, { ...options, method: "POST" });
    }
  }

  async function* stream(agent: string, message: MessageRequest, given: SendOptions = {}): AsyncGenerator<StreamEvent> {
    const { signal, onConnection } = given;
    const response = await post(`${agentPath(agent)}/messages`, {
      headers: { ...EVENT_STREAM, "idempotency-key": given.idempotencyKey ?? randomUUID() },
      json: toBody(message),
      signal,
    });
    const turnId = response.headers.get("x-turn-id");
    if (turnId === null) throw new RuntimeError("RUNTIME_INTERNAL", "The node named no turn.");
    onConnection?.("accepted");
    yield* followTurn(connection, { agent, turnId }, { response, signal, onConnection });
  }

  return {
    stream,
    async send(agent: string, message: MessageRequest, given?: SendOptions): Promise<TurnResult> {
      for await (const event of stream(agent, message, given)) {
        if (event.type === "turn.failed") throw fromErrorBody({ ...event.error, turn_id: event.turn_id });
        if (event.type === "turn.finished") {
          const { type: _, ...result } = event;
          return result;
        }
      }
      throw new RuntimeError("RUNTIME_INTERNAL", "The turn's events ended without a result.");
    },
    follow: (
      agent: string,
      turnId: string,
      { lastEventId, ...given }: FollowOptions & { readonly lastEventId?: string } = {},
    ) => followTurn(connection, { agent, turnId, lastEventId }, given),
    turn: (agent: string, turnId: string, given?: CallOptions) =>
      call<TurnResult | PendingTurn>(connection, turnPath(agent, turnId), given),
    /** The bytes of a file that the turn has sent. */
    async attachment(agent: string, turnId: string, sha256: string, given?: CallOptions): Promise<Uint8Array> {
      const path = `${turnPath(agent, turnId)}/attachments/${encodeURIComponent(sha256)}`;
      return (await request(connection, path, given)).bytes();
    },
    async answer(
      agent: string,
      turnId: string,
      { text, questionId }: { readonly text: string; readonly questionId?: string },
      given?: CallOptions,
    ): Promise<void> {
      const json = { text, ...(questionId === undefined ? {} : { question_id: questionId }) };
      await call(connection, `${turnPath(agent, turnId)}/answer`, { method: "POST", json, ...given });
    },
    command: (
      agent: string,
      { line, ...rest }: { session: string; line: string; user?: string },
      given?: CallOptions,
    ) =>
      call<CommandReply>(connection, `${agentPath(agent)}/commands`, {
        method: "POST",
        json: { ...rest, command: line },
        ...given,
      }),
  };
}

function toBody({ session, text, user, attachments }: MessageRequest): object {
  return {
    session,
    text,
    ...(user === undefined ? {} : { user }),
    ...(attachments?.length
      ? { attachments: attachments.map(({ name, mediaType, data }) => ({ name, media_type: mediaType, data })) }
      : {}),
  };
}
