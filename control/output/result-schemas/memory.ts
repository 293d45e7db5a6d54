/** Results of the commands of `memory`. */

import { z } from "zod";
import { count, obstacles, time } from "./parts.ts";

const written = z.strictObject({ file: z.string(), bytes: count });

/** Loose: the node's report grows with its version. */
const queue = z.looseObject({ queue: z.string(), waiting: count, failed: count });

const hit = z.looseObject({
  kind: z.enum(["message", "summary"]),
  id: z.string(),
  session: z.string().nullable().optional().describe("Name of its session, else the session's key"),
  agent: z.string().nullable(),
  role: z.string().optional(),
  content: z.string(),
  created_at: z.string(),
  score: z.number(),
});

const rowSession = {
  session_key: z.string(),
  conversation_id: z.string().describe("Of a session its newest one"),
  name: z.string().nullable().describe("The channel's name of the session"),
  agent: z.string(),
  channel: z.string(),
  user: z.string().describe("Channel-side; empty is the owner"),
  opened_by: z.enum(["turn", "capture", "append", "import"]),
};

const sessions = z.strictObject({
  sessions: z
    .array(
      z.looseObject({
        ...rowSession,
        title: z.string().nullable().describe("Its title, else the first words of a user"),
        model: z.string().nullish().describe("Given with /model, as provider:name; null: the agent's own"),
        conversations: count,
        messages: count,
        created_at: time,
        last_at: time,
      }),
    )
    .describe("Those that were written to last first"),
});

/** Loose: the node's records grow with its version. */
const message = z.looseObject({
  id: z.string(),
  conversation_id: z.string(),
  agent: z.string(),
  channel: z.string(),
  role: z.string(),
  content: z.string(),
  tool_name: z.string().nullable(),
  created_at: time,
});

const summary = z.looseObject({
  id: z.string(),
  parent_id: z.string().nullable(),
  summary_kind: z.string(),
  content: z.string(),
  message_count: count,
  created_at: time,
});

const page = { slug: z.string(), title: z.string(), updated: z.string(), statements: count };

/** Of `sessions`, which is no command of `memory` but prints the same. */
export const SESSIONS_SCHEMA = sessions;

export const MEMORY_SCHEMAS = {
  "memory-sessions": sessions,
  "memory-show": z.union([
    z.strictObject({
      kind: z.literal("message"),
      session: z.looseObject(rowSession),
      message,
      missing: z.string().nullable().describe("Why a part that was cut is not there"),
      before: z.array(message),
      after: z.array(message),
    }),
    z.strictObject({
      kind: z.literal("summary"),
      session: z.looseObject(rowSession).nullable(),
      summary,
      children: z.array(summary),
      sources: z.array(message),
    }),
  ]),
  "memory-browse": z.strictObject({
    messages: z.array(message),
    next_cursor: z.string().nullable().describe("Null at the end"),
    looked_until: time.optional().describe("How far it was looked, where a page ended before it was full"),
  }),
  "memory-wiki": z.union([
    z.strictObject({ agent: z.string(), enabled: z.boolean(), pages: z.array(z.strictObject(page)) }),
    z.strictObject({ agent: z.string(), ...page, text: z.string().describe("Markdown with front matter") }),
  ]),
  "memory-backup": written,
  "memory-backups": z.strictObject({
    backups: z
      .array(
        z.strictObject({
          name: z.string(),
          node: z.string().describe("Which has it: of a group of equal pods the pod"),
          created_at: time,
          age_s: count.describe("By the clock of its node, which may differ from this machine's"),
          bytes: count,
          verified: z.boolean().describe("It was read back whole: when it was written, or now with --verify"),
        }),
      )
      .describe("Newest first"),
    unanswered: z
      .array(z.strictObject({ node: z.string(), message: z.string() }))
      .describe("Nodes and pods that may have more"),
    next: z
      .array(z.strictObject({ node: z.string(), message: z.string() }))
      .describe(
        "When the next one comes, or why none does: for each memory, from the first of its nodes that answered",
      ),
  }),
  "memory-export": written,
  "memory-restore": z.strictObject({
    file: z.string(),
    counts: z.record(z.string(), count),
    tokens: z.strictObject({
      left_out: count,
      restored: z.array(z.strictObject({ name: z.string(), scopes: z.array(z.string()), revoked: z.boolean() })),
    }),
    check: z
      .strictObject({ created_at: z.string(), version: z.string(), schema_version: count, obstacles })
      .optional()
      .describe("With --check: nothing was restored"),
  }),
  "memory-move": z.strictObject({
    outcome: z.enum(["moved", "nothing"]),
    from: z.enum(["postgres", "embedded"]),
    to: z.enum(["postgres", "embedded"]),
    counts: z.record(z.string(), count).describe("Rows of each section, as they are in the target now"),
    config_changed: z.boolean(),
    former_store: z.string().nullable().describe("Where the embedded store is that was moved"),
  }),
  "memory-forget": z.strictObject({
    outcome: z.enum(["forgotten", "preview", "declined"]),
    preview: z.looseObject({
      messages: count,
      conversations: count,
      summaries: count,
      first: z.array(
        z.looseObject({
          id: z.string(),
          role: z.string(),
          agent: z.string(),
          created_at: z.string(),
          text: z.string(),
        }),
      ),
      unfinished: z.string().nullable(),
    }),
    erased: z
      .looseObject({ id: z.string(), messages: count, summaries: count, turns: count, attachments: count })
      .nullable(),
  }),
  "memory-import": z.strictObject({
    file: z.string(),
    imported: count,
    skipped: count,
    ignored: count,
    unreadable: count,
  }),
  "memory-search": z.strictObject({
    query: z.string(),
    mode: z.string(),
    results: z.array(hit).describe("Best first"),
    answer: z
      .strictObject({
        text: z.string().describe("Its [1] [2] are places in the results, from 1"),
        citations: z.array(z.string()).min(1).describe("Ids of the results that it rests on"),
      })
      .optional()
      .describe("With --synthesize, where there is one"),
    answer_missing: z.string().optional().describe("With --synthesize: why there is no answer"),
    notice: z
      .string()
      .optional()
      .describe("What was left out: an embedding model is configured, and the search went by words alone"),
    took_ms: z.number().nonnegative(),
  }),
  "memory-stats": z.looseObject({
    messages: z.looseObject({ total: count, embedded: count, coverage: z.number() }),
    embedding_queue_depth: count,
    embedding_model: z
      .string()
      .nullable()
      .optional()
      .describe("Null: none is configured, and the memory is searched by words alone"),
    unsummarized: z.looseObject({ total: count, conversations_over_threshold: count }),
    summaries: z.looseObject({ leaf: count, branch: count, root: count, max_depth: count }),
    compaction: z.looseObject({ last_run_at: z.string().nullable(), last_error: z.string().nullable() }),
    queues: z.array(queue),
    database: z.looseObject({ backend: z.string(), schema_version: count.nullable(), size_bytes: count }),
  }),
  "memory-queue-status": z.looseObject({ queues: z.array(queue) }),
  "memory-backfill-tool-synth": z.strictObject({
    dry_run: z.boolean(),
    candidates: count,
    enqueued: count,
    queued: count,
    failed: count,
  }),
  "memory-retry-failed": z.strictObject({
    task: z.string(),
    dry_run: z.boolean(),
    matched: count,
    retried: count,
    skipped: count,
  }),
} as const;
