/** The channels and providers of a node one by one: which of them fails, with a code and what to do. */

import type { Health, StreamEvent } from "../../runtime/client/index.ts";
import { isWell } from "../../runtime/contracts/channel.ts";
import { CairnError } from "../../runtime/contracts/errors.ts";
import { Late, withDeadline } from "./deadline.ts";

/** One channel, or one provider. */
export interface Part {
  readonly id: string;
  readonly status: "pass" | "fail";
  /** Null where nothing failed. */
  readonly code: string | null;
  readonly message: string;
  readonly fix: string | null;
}

/** A service that a channel needs, and that is not well. */
export interface ChannelProblem {
  readonly id: string;
  readonly message: string;
  readonly fix: string;
}

export interface AskedProvider {
  readonly id: string;
  /** Agent whose own provider it is; null where it stands behind others alone. */
  readonly agent: string | null;
}

const CHANNEL_FIX = "See `cairn doctor --only channels`, and `cairn logs --grep channel`.";
const PROVIDER_FIX = "See `cairn doctor --only providers`, and `cairn logs --level warn`.";

export function channelParts({ channels }: Health, problems: readonly ChannelProblem[]): readonly Part[] {
  return Object.entries(channels).map(([id, { state, reason }]) => {
    const why = reason ? `: ${reason}` : "";
    const problem = problems.find((one) => one.id === id);
    if (!isWell(state)) return failed(id, "CHANNEL_CONNECTION_LOST", `${state}${why}`, problem?.fix ?? CHANNEL_FIX);
    if (problem !== undefined) return failed(id, "CHANNEL_CONNECTION_LOST", problem.message, problem.fix);
    return passed(id, state);
  });
}

/** The tested agent's provider first; then each other one, by the first agent that has it. */
export function providersToAsk({ agents, providers }: Health, first: string): readonly AskedProvider[] {
  const names = [first, ...Object.keys(agents).filter((name) => name !== first)];
  const asked = new Map<string, string | null>();
  for (const name of names) {
    const provider = agents[name]?.provider;
    if (provider !== undefined && !asked.has(provider)) asked.set(provider, name);
  }
  for (const id of Object.keys(providers)) if (!asked.has(id)) asked.set(id, null);
  return [...asked].map(([id, agent]) => ({ id, agent }));
}

/** By what the node says of it: no call is made. */
export function availablePart({ providers }: Health, id: string): Part {
  if (providers[id]?.available === true) return passed(id, "available, not asked");
  return failed(id, "PROVIDER_UNREACHABLE", "the node cannot use it", PROVIDER_FIX);
}

/** What the events of one turn say. */
export async function answeredPart(
  id: string,
  agent: string,
  events: AsyncIterable<StreamEvent>,
): Promise<{ readonly part: Part; readonly reply: string }> {
  try {
    for await (const event of events) {
      if (event.type === "turn.failed") {
        const { code, message } = event.error;
        return { part: failed(id, code, `${agent} got no answer: ${message}`, hintOf(event.error)), reply: "" };
      }
      if (event.type !== "turn.finished") continue;
      if (event.text.trim() === "") break;
      return { part: passed(id, `${agent} answered with ${event.text.length} characters`), reply: event.text };
    }
    const message = `${agent} got no answer: the turn ended without a reply.`;
    return { part: failed(id, "PROVIDER_EMPTY_ANSWER", message, PROVIDER_FIX), reply: "" };
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    const part = failed(id, error.code, `${agent} got no answer: ${error.message}`, error.details.hint ?? PROVIDER_FIX);
    return { part, reply: "" };
  }
}

/** What `ask` finds; where it ends in an error or is late, this provider fails and no other. Rejects with the signal's reason. */
export async function askedPart(
  id: string,
  agent: string,
  { timeoutMs }: { readonly timeoutMs: number },
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<Part>,
): Promise<Part> {
  try {
    return await withDeadline(timeoutMs, signal, ask);
  } catch (error) {
    if (error instanceof Late) return failed(id, "PROVIDER_TIMEOUT", `${agent}: ${error.message}`, PROVIDER_FIX);
    if (!(error instanceof CairnError)) throw error;
    return failed(id, error.code, error.message, error.details.hint ?? PROVIDER_FIX);
  }
}

/**
 * After an answered turn: null unless the provider could not have given the answer, or calls of the agent's model have failed
 * since `before`, so that another provider of the agent may have answered.
 */
export function fallbackPart(id: string, agent: string, before: Health, after: Health): Part | null {
  const available = availablePart(after, id);
  if (available.status === "fail") return available;
  const model = after.agents[agent]?.model;
  const circuitOf = ({ providers }: Health) => providers[id]?.circuits?.find((one) => one.model === model);
  const circuit = circuitOf(after);
  if (circuit === undefined) return null;
  const { state, failures, last_error: code } = circuit;
  if (state === "closed" && failures <= (circuitOf(before)?.failures ?? 0)) return null;
  const message = `calls of ${circuit.model} fail, and another provider may have answered in its place`;
  return failed(id, code, message, PROVIDER_FIX);
}

function hintOf(error: object): string {
  return "hint" in error && typeof error.hint === "string" ? error.hint : PROVIDER_FIX;
}

/** Those that failed, in one sentence; else all. */
export function partsText(parts: readonly Part[]): string {
  const wrong = parts.filter(({ status }) => status === "fail");
  return (wrong.length > 0 ? wrong : parts).map(({ id, message }) => `${id}: ${message}`).join("; ") || "none";
}

function passed(id: string, message: string): Part {
  return { id, status: "pass", code: null, message, fix: null };
}

function failed(id: string, code: string, message: string, fix: string): Part {
  return { id, status: "fail", code, message, fix };
}
