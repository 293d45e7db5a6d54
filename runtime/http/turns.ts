/** What the agent routes and the OpenAI routes share: which agent, waiting for a turn's end, errors that name their turn. */

import type { FastifyReply } from "fastify";
import type { Application } from "../app/api.ts";
import type { AgentCaller } from "../contracts/agent-channel.ts";
import { type CairnError, fromErrorBody, RuntimeError } from "../contracts/errors.ts";
import type { TurnResult } from "../contracts/stream.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps } from "./deps.ts";
import { translate } from "./errors.ts";

export function requireAgent(app: Application, name: string): void {
  const agents = app.agents();
  if (agents.some((agent) => agent.name === name)) return;
  throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", `There is no agent "${name.slice(0, 100)}" here.`, {
    hint: agents.length > 0 ? `Agents: ${agents.map((agent) => agent.name).join(", ")}.` : "No agent is configured.",
  });
}

export function agentCaller(principal: { readonly id: string; readonly owner: boolean }): AgentCaller {
  return { id: principal.id, owner: principal.owner };
}

/** Every answer of a turn names it, also one that is an error: the reply can be fetched by it. */
export function nameTurn(reply: FastifyReply, turnId: string): void {
  reply.header("x-turn-id", turnId);
}

/**
 * The turn's result, or null when the wait ends first: the turn waits for an answer, the server closes, the deadline passes, or
 * the client disconnects.
 */
export async function waitForTurn(
  { app, limits, closing }: RouteDeps,
  reply: FastifyReply,
  agent: string,
  turnId: string,
): Promise<TurnResult | null> {
  const signal = AbortSignal.any([clientGone(reply), closing, AbortSignal.timeout(limits.waitMs)]);
  try {
    return await app.turns.waitForEndOrQuestion(agent, turnId, signal);
  } catch (error) {
    // By what it is, and not by the signal: a turn may end while the server begins to close.
    if (error === signal.reason) return null;
    throw withTurn(error, turnId);
  }
}

export function withTurn(error: unknown, turnId: string): CairnError {
  const failure = translate(error);
  if (failure.details.turnId) return failure;
  const { retryAfterS } = failure.details;
  return fromErrorBody(
    { ...failure.toBody(), turn_id: turnId },
    { cause: failure.cause ?? failure, ...(retryAfterS === undefined ? {} : { retryAfterS }) },
  );
}
