/** `memory`: where the transcript is stored, and what embeds, summarizes and ranks it. */

import { z } from "zod";
import { EMBEDDINGS } from "../../plugins/embeddings/manifests.ts";
import { choice, decimal, duration, flag, integer, list, path, section, text, tokens, url } from "./scalars.ts";

const POSTGRES = ["postgres", "postgresql"];

const postgres = section({
  connection_string: url(POSTGRES).meta({ derived: true }).describe("Default ${SERVICE_PG_URL}."),
  direct_url: url(POSTGRES)
    .optional()
    .describe("For LISTEN and session locks where connection_string is a PgBouncer. Default ${SERVICE_PG_DIRECT_URL}."),
  pool: integer({ min: 2 }).prefault(10).describe("Connections of this node."),
});

const embedding = section({
  provider: choice(["off", ...EMBEDDINGS.map(({ id }) => id)])
    .default("off")
    .describe("Who computes vectors; without one, memory works on text, trigrams and time."),
  base_url: url().optional(),
  model: text().optional(),
  api_key: text().optional(),
  dimensions: integer({ min: 1 }).optional().describe("The model's own when absent."),
  batch: integer({ min: 1 }).prefault(32).describe("Messages in one request."),
  interval: duration({ min: 100 }).prefault("10s"),
});

const summarizer = section({
  base_url: z
    .union([z.literal("off"), z.literal(false), url()], {
      error: "off, or an address that starts with http:// or https://",
    })
    .transform((value) => (value === "off" || value === false ? undefined : value))
    .optional()
    .describe("Address of a chat-completions-compatible API; off when absent."),
  model: text().optional(),
  api_key: text().optional(),
  interval: duration({ min: 1_000 }).prefault("5m"),
  context_window: tokens().prefault("128k").describe("Of the model, in tokens; summaries need 16k at least."),
});

const wiki = section({
  enabled: flag()
    .prefault(false)
    .describe("Keep a page for each topic in the folder `wiki` of every agent's workspace, from summaries."),
  interval: duration({ min: 1_000 }).prefault("1h").describe("How often new summaries are looked for."),
  page_limit: integer({ min: 1_000 })
    .prefault(40_000)
    .describe("Characters of a page that the runtime keeps; the oldest statements beyond it are left out."),
});

const backup = section({
  enabled: flag().prefault(true).describe("Back up the whole memory on schedule; one node of the set does it."),
  every: duration({ min: 60_000, max: Number.POSITIVE_INFINITY })
    .prefault("24h")
    .describe("How old the newest backup becomes before the next one."),
  keep: integer({ min: 1 })
    .prefault(7)
    .describe("Backups that a node keeps, in `backups` in its home directory; older ones are deleted."),
});

const weight = () => decimal({ min: 0 }).optional();

export const memorySection = section({
  postgres: postgres.optional().describe("A PostgreSQL server: for anything that matters and for every fleet."),
  embedded: section({
    path: path().optional().describe("Directory of the store; `store` in the home directory when absent."),
  })
    .optional()
    .describe("The store of a single process without a server; used when there is no memory.postgres."),
  session_roots: list(path())
    .optional()
    .describe(
      "Directories of coding assistants' session files that memory_get_full may read; those of this user when absent, none with [].",
    ),
  embedding: embedding.prefault({}).describe("Vectors for search."),
  summarizer: summarizer
    .prefault({})
    .describe("The model that writes summaries, and tool-call sentences unless TOOL_SYNTH_ENDPOINT is set."),
  wiki: wiki.prefault({}).describe("Markdown pages by topic, written by memory.summarizer."),
  backup: backup
    .prefault({})
    .describe("Scheduled backups: archives as of `cairn memory backup`, on the disk of the node that takes them."),
  search: section({
    weights: section({ fts: weight(), semantic: weight(), temporal: weight(), importance: weight() })
      .optional()
      .describe("Weights of memory_search; the tuned ones when absent."),
  }).prefault({}),
});
