/** What a conversation on a terminal begins with, and what moves while the agent is silent. */

import { shortened, shortTime } from "../memory/render-rows.ts";
import { visible } from "../output/visible.ts";
import type { Conversation } from "./turn-stream.ts";

const LONGEST_WORDS = 160;
const FRAMES = ["·  ", "·· ", "···", " ··", "  ·", "   "];
const TICKS_A_SECOND = 4;

/** `status`: data of the command `/status`; an older node has less in it. */
export function greeting({ agent, session }: Conversation, status: Readonly<Record<string, unknown>> = {}): string[] {
  const model = status["model"];
  const by = typeof model === "string" ? ` (${visible(model)})` : "";
  const last = lastWords(agent, status["last"]);
  return [`${visible(agent)}${by}, session ${visible(session)}. /help lists the commands.`, ...(last ? [last] : [])];
}

function lastWords(agent: string, last: unknown): string | null {
  if (typeof last !== "object" || last === null) return null;
  // Its fields are checked one by one.
  const { role, text, created_at: at } = last as Record<string, unknown>;
  if (typeof text !== "string" || typeof at !== "string") return null;
  const who = role === "user" ? "you" : visible(agent);
  return `Last, ${shortTime(at)}, ${who}: ${shortened(visible(text.replace(/\s+/g, " ").trim()), LONGEST_WORDS)}`;
}

/** After so many ticks of a quarter of a second. */
export function waitingText(ticks: number): string {
  return `${FRAMES[ticks % FRAMES.length]} ${Math.floor(ticks / TICKS_A_SECOND)} s`;
}
