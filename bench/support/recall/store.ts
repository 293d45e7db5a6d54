/** A store that was filled the way that conversations come in: through the writer and the embedder, then asked by its tools. */

import type { EmbeddingService } from "../../../runtime/contracts/embedding.ts";
import { type BenchMemory, openMemory } from "../memory.ts";
import type { Conversation, Turn } from "./locomo.ts";

export type Mode = "hybrid" | "fts" | "vector";

export interface RecallStore {
  readonly memory: BenchMemory;
  /** The turns' ids by the rows' ids, with the conversation's before them: `conv-26 D1:3`. */
  readonly turns: ReadonlyMap<string, string>;
  /** Through memory_search: the turns that it finds, best first. */
  ask(question: string, mode: Mode, limit: number): Promise<readonly string[]>;
}

/** How a conversation is written down. */
export type Form = (turn: Turn) => { readonly content: string; readonly metadata?: Readonly<Record<string, unknown>> };

/** The speaker's name before what is said, as transcripts have it. */
export const named: Form = (turn) => ({ content: `${turn.speaker}: ${said(turn)}` });
/** The speaker beside the text. */
export const tagged: Form = (turn) => ({ content: said(turn), metadata: { speaker: turn.speaker } });

function said({ text, caption }: Turn): string {
  return caption === null ? text : `${text} [shares ${caption}]`;
}

/** One of the two people is the user. */
export function roleOf(turn: Turn, { turns }: Conversation): "user" | "assistant" {
  return turn.speaker === turns[0]?.speaker ? "user" : "assistant";
}

/** The database is empty; the caller closes the store's memory. */
export async function fillRecallStore(
  connectionString: string,
  service: EmbeddingService,
  conversations: readonly Conversation[],
  form: Form,
  signal: AbortSignal,
): Promise<RecallStore> {
  const memory = await openMemory(connectionString, service);
  const turns = new Map<string, string>();
  for (const conversation of conversations) {
    const { id, turns: said } = conversation;
    const { rows } = await memory.writer.write({
      sessionKey: `main:agent:${id}`,
      agent: "main",
      channel: "agent",
      openedBy: "turn",
      entries: said.map((turn) => ({
        role: roleOf(turn, conversation),
        ...form(turn),
        createdAt: turn.at,
        key: turn.id,
        cap: true,
      })),
    });
    for (const [n, row] of rows.entries()) turns.set(row.id, `${id} ${said[n]?.id}`);
  }
  await memory.waitForWork(signal);
  return {
    memory,
    turns,
    async ask(question, mode, limit) {
      const found = await memory.ask({ query: question, mode, limit, scope: "messages", expand: false });
      await memory.idle();
      return found.map((id) => turns.get(id) ?? id);
    },
  };
}
