import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { onTestFinished } from "vitest";
import {
  type Compaction,
  type CompactionDeps,
  createCompaction,
} from "../../../../runtime/app/compaction/compaction.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { createTokenizer } from "../../../../runtime/domain/tokens.ts";
import { createOpenaiCompatibleProvider } from "../../../../runtime/plugins/providers/openai-compatible/index.ts";
import { createChatCompletionsTextModel } from "../../../../runtime/plugins/text-models/chat-completions/index.ts";
import { startTextFake, type TextFake, type TextFakeOptions } from "../../../fakes/chat-completions/index.ts";
import { quietLogger } from "../../../support/databases.ts";
import { said, systemClock, write, writerOf } from "../../../support/memory.ts";

/** A model for summaries and compactors over a test's database, whose pauses pass at once and are counted. */

export const never = new AbortController().signal;
const countTokens = createTokenizer();

export async function fakeModel(options: TextFakeOptions = {}): Promise<TextFake> {
  const fake = await startTextFake(options);
  onTestFinished(() => fake.close());
  return fake;
}

export interface Compactor extends Compaction {
  /** Milliseconds of every pause that was asked for. */
  readonly pauses: readonly number[];
}

export function compactorOf(database: Database, fake: TextFake, options: Partial<CompactionDeps> = {}): Compactor {
  const pauses: number[] = [];
  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    pauses.push(ms);
    await sleep(1, undefined, { signal });
  };
  const provider = createOpenaiCompatibleProvider({
    id: "memory.summarizer",
    path: "memory.summarizer",
    model: "writer",
    baseUrl: fake.baseUrl,
    maxRetries: 0,
    timeoutMs: 2_147_483_647,
    logger: quietLogger,
  });
  const compaction = createCompaction({
    database,
    model: createChatCompletionsTextModel({ provider, sleep: pause, logger: quietLogger }),
    window: 128_000,
    countTokens,
    newId: v7,
    clock: systemClock,
    sleep: pause,
    logger: quietLogger,
    ...options,
  });
  return { ...compaction, pauses };
}

/** Writes so many messages to a session; the first text is `<topic> 1`. Resolves to the conversation's id. */
export async function talk(
  database: Database,
  sessionKey: string,
  messages: number,
  topic = sessionKey,
): Promise<string> {
  const entries = Array.from({ length: messages }, (_, n) =>
    said(`${topic} ${n + 1}`, { role: n % 2 === 0 ? "user" : "assistant", key: `${topic.slice(0, 100)}/${n}` }),
  );
  return (await write(writerOf(database), sessionKey, entries)).conversationId;
}

export interface SummaryRow {
  readonly id: string;
  readonly kind: "leaf" | "branch" | "root";
  readonly depth: number;
  readonly parent_id: string | null;
  readonly content: string;
  readonly message_count: number;
  readonly earliest_at: Date;
  readonly latest_at: Date;
  readonly model: string;
  /** Contents of its source messages, by their ordinals. */
  readonly sources: readonly string[];
}

/** The summaries of a conversation, oldest first. */
export async function summariesOf(database: Database, conversationId: string): Promise<SummaryRow[]> {
  const { rows } = await database.query<SummaryRow>(
    `select s.id, s.kind, s.depth, s.parent_id, s.content, s.message_count, s.earliest_at, s.latest_at, s.model,
       coalesce((select jsonb_agg(m.content order by link.ordinal) from summary_sources link
         join messages m on m.id = link.message_id where link.summary_id = s.id), '[]') as sources
     from summaries s where s.conversation_id = $1 order by s.seq`,
    [conversationId],
  );
  return rows;
}

export interface WorkRow {
  readonly attempts: number;
  readonly error: string | null;
  readonly claimed: boolean;
  readonly due: boolean;
  readonly failed: boolean;
}

export async function workOf(database: Database, conversationId: string): Promise<WorkRow | undefined> {
  const { rows } = await database.query<WorkRow>(
    `select attempts, error, claimed_by is not null as claimed, due_at is not null as due, failed_at is not null as failed
     from compaction_work where conversation_id = $1`,
    [conversationId],
  );
  return rows[0];
}

/** As if the time of the next attempt had come. */
export async function makeDue(database: Database): Promise<void> {
  await database.query("update compaction_work set due_at = now() where due_at is not null");
}

export interface Counted {
  readonly twice: number;
  readonly never: number;
  readonly once: number;
}

/** Messages (of one conversation, or all) that several summaries stand for, that none does, and the others. */
export async function counted(database: Database, conversationId?: string): Promise<Counted> {
  const { rows } = await database.query<Counted>(
    `select count(*) filter (where n > 1)::int as twice, count(*) filter (where n = 0)::int as never,
       count(*) filter (where n = 1)::int as once
     from (select (select count(*) from summary_sources link where link.message_id = m.id) as n
       from messages m where $1::uuid is null or m.conversation_id = $1) as each`,
    [conversationId ?? null],
  );
  return rows[0] ?? { twice: -1, never: -1, once: -1 };
}
