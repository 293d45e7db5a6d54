import type { Queryable } from "../../contracts/database.ts";
import { embeddingTable } from "../recall/embedding-tables.ts";

/**
 * What is in an archive, in the order in which foreign keys allow it to be restored. Everything of the store is, but for
 * jobs, work in progress and who holds which lease: those belong to the running nodes.
 */

export interface Section {
  /** Of the section; several may hold rows of one table. */
  readonly name: string;
  readonly table: string;
  /** Rows, with the table as `t`. */
  readonly from: string;
  readonly order: string;
  /**
   * For rows that never change once written: the sequence they are paged by, of messages or of summaries. Such rows can
   * be read long after the snapshot was taken.
   */
  readonly pagedBy?: { readonly sequence: "messages" | "summaries"; readonly expression: string };
  /** Only these columns; default all. */
  readonly only?: readonly string[];
  readonly without?: readonly string[];
  /** Columns that its rows cannot be restored without: their meaning would change. */
  readonly required?: readonly string[];
  /**
   * Restored values that differ from the archived ones: SQL over the archived row. They hold also for a column that the
   * archive leaves out, whose default could be work for a node.
   */
  readonly restored?: Readonly<Record<string, string>>;
  /** How rows are restored: as new ones, or as changes of rows that are there. Default insert. */
  readonly how?: "insert" | "update" | "merge";
}

const paged = (sequence: "messages" | "summaries", alias: string): Pick<Section, "order" | "pagedBy"> => ({
  order: `${alias}.seq`,
  pagedBy: { sequence, expression: `${alias}.seq` },
});

const NOTICE = "'Interrupted: the store was restored from a backup before this turn had ended.'";
const OPEN = "state in ('queued', 'running', 'waiting')";

const BEFORE_EMBEDDINGS: readonly Section[] = [
  {
    name: "conversations",
    table: "conversations",
    from: "conversations t",
    order: "t.created_at, t.id",
    // An archive of an older version lacks them; there, turns alone named the channel-side conversation.
    restored: {
      opened_by: "coalesce(opened_by, case when channel_id is null then 'capture' else 'turn' end)",
      by_owner: "coalesce(by_owner, channel_id is not null and user_id = '')",
    },
  },
  { name: "messages", table: "messages", from: "messages t", ...paged("messages", "t") },
  {
    name: "message_keys",
    table: "message_keys",
    from: "message_keys t join messages m on m.id = t.message_id",
    ...paged("messages", "m"),
  },
  {
    name: "payloads",
    table: "payloads",
    from: "payloads t join messages m on m.id = t.message_id",
    ...paged("messages", "m"),
  },
  // A summary may have a parent that is younger than itself: all of them first, then their places in the tree.
  { name: "summaries", table: "summaries", from: "summaries t", order: "t.seq", without: ["parent_id"] },
  {
    name: "summary_parents",
    table: "summaries",
    from: "summaries t where t.parent_id is not null",
    order: "t.seq",
    only: ["id", "parent_id"],
    required: ["id", "parent_id"],
    how: "update",
  },
  {
    name: "summary_sources",
    table: "summary_sources",
    from: "summary_sources t join summaries s on s.id = t.summary_id",
    order: "s.seq, t.ordinal",
    pagedBy: { sequence: "summaries", expression: "s.seq" },
  },
  {
    name: "prompt_summaries",
    table: "prompt_summaries",
    from: "prompt_summaries t",
    order: "t.conversation_id",
    restored: { retry_at: "null" },
  },
  { name: "erasures", table: "erasures", from: "erasures t", order: "t.created_at, t.id" },
  { name: "forgotten", table: "forgotten", from: "forgotten t", order: "t.message_id" },
  { name: "forgotten_keys", table: "forgotten_keys", from: "forgotten_keys t", order: "t.conversation_id, t.key_hash" },
  {
    name: "forgotten_summaries",
    table: "forgotten_summaries",
    from: "forgotten_summaries t",
    order: "t.summary_id",
    // An archive changes no files of a workspace.
    restored: { wiki_at: "coalesce(wiki_at, now())" },
  },
  { name: "access", table: "access", from: "access t", order: "t.kind, t.id" },
  { name: "embedding_models", table: "embedding_models", from: "embedding_models t", order: "t.id" },
];

const AFTER_EMBEDDINGS: readonly Section[] = [
  {
    name: "inbox",
    table: "inbox",
    from: "inbox t",
    order: "t.seq",
    restored: { done_at: "coalesce(done_at, now())" },
  },
  {
    name: "turns",
    table: "turns",
    from: "turns t",
    order: "t.seq",
    restored: {
      epoch: "epoch + 1",
      lease_node: "null",
      lease_boot: "null",
      lease_until: "null",
      abort_requested: "false",
      interrupted: `coalesce(interrupted, false) or ${OPEN}`,
      notice: `case when ${OPEN} then ${NOTICE} else notice end`,
      error: `case when ${OPEN} then jsonb_build_object('code', 'RUNTIME_TURN_INTERRUPTED', 'message', ${NOTICE},
        'severity', 'error', 'retryable', false) else error end`,
      finished_at: `case when ${OPEN} then now() else finished_at end`,
      state: `case when ${OPEN} then 'failed' else state end`,
    },
  },
  {
    name: "turn_steps",
    table: "turn_steps",
    from: "turn_steps t",
    order: "t.turn_id, t.n",
    restored: { state: "case when state in ('intended', 'asked') then 'unknown' else state end" },
  },
  {
    name: "turn_questions",
    table: "turn_questions",
    from: "turn_questions t",
    order: "t.created_at, t.id",
    restored: { state: "case when state = 'open' then 'expired' else state end" },
  },
  { name: "turn_steers", table: "turn_steers", from: "turn_steers t", order: "t.seq" },
  {
    name: "outbox",
    table: "outbox",
    from: "outbox t",
    order: "t.seq",
    // The store that was backed up has sent it since then; sending it again would repeat an old message.
    restored: {
      state: "case when state = 'pending' then 'failed' else state end",
      last_error: "case when state = 'pending' then 'not sent before the backup was taken' else last_error end",
    },
  },
  {
    name: "drafts",
    table: "drafts",
    from: "drafts t",
    order: "t.turn_id",
    // The messages that show a draft may have become something else since then.
    restored: { platform_ids: "'{}'::text[]" },
  },
  {
    name: "pairings",
    table: "pairings",
    // A code is for an hour.
    from: "pairings t where t.approved_at is not null",
    order: "t.channel, t.user_id",
  },
  { name: "approvals", table: "approvals", from: "approvals t", order: "t.id" },
  // Pauses are kept; what was planned since the backup was taken counts as missed.
  { name: "schedules", table: "schedules", from: "schedules t", order: "t.agent, t.name", how: "merge" },
  { name: "model_usage", table: "model_usage", from: "model_usage t", order: "t.day, t.agent, t.provider, t.model" },
  {
    name: "leases",
    table: "leases",
    // What is known of scheduled backups is of the store that was backed up: another one has none yet.
    from: "leases t where t.name <> 'backup'",
    order: "t.name",
    // A time in an archive may be none, and is cast for every lease.
    restored: {
      holder: "''",
      epoch: "epoch + 1",
      expires_at: "timestamptz 'epoch'",
      data: "data - 'granted_at'",
    },
    how: "merge",
  },
  {
    name: "api_tokens",
    table: "api_tokens",
    from: "api_tokens t",
    order: "t.created_at, t.id",
    required: ["revoked_at"],
    how: "merge",
  },
];

/** The section of attachments, which `attachment-lines.ts` writes and reads, and the table of their bytes. */
export const ATTACHMENTS = "attachments";

/**
 * Tables that stay out on purpose. Who embeds or summarizes what belongs to the running nodes; what was given up gets its
 * attempts anew where it is restored. What is counted for searches is counted again there, and summaries are merged into the
 * wiki's pages again, which changes what they have said and adds nothing. The nodes that share the store, and how they were rolled
 * out, are of those nodes.
 */
export const NOT_ARCHIVED: readonly string[] = [
  "embedding_work",
  "compaction_work",
  "compaction_status",
  "compaction_counts",
  "wiki_sources",
  "search_terms",
  "search_totals",
  "search_agents",
  "search_gaps",
  "access_version",
  "nodes",
  "rollouts",
  "remote_tasks",
  // Which nodes there are, and which mesh they are in: of the nodes, which have a copy in their homes.
  "nodes",
  "mesh",
  "revocations",
  "join_tokens",
];

/** The sections of a store whose embedding models have the given ids. */
export function sectionsOf(modelIds: readonly number[]): readonly Section[] {
  return [...BEFORE_EMBEDDINGS, ...modelIds.flatMap(embeddingSections), ...AFTER_EMBEDDINGS];
}

/** Sections of the vectors of one model; vectors of rows that came after the snapshot stay out. */
export function embeddingSections(modelId: number): readonly Section[] {
  const table = embeddingTable(modelId);
  const of = (kind: "message" | "summary"): Section => ({
    name: `${table}/${kind}`,
    table,
    from: `${table} t join ${kind === "message" ? "messages" : "summaries"} o on t.kind = '${kind}' and o.id = t.id`,
    ...paged(kind === "message" ? "messages" : "summaries", "o"),
  });
  return [of("message"), of("summary")];
}

/** The section with this name, or undefined; embedding sections are known by their model. */
export function sectionNamed(name: string): Section | undefined {
  const model = /^embeddings_([1-9]\d{0,8})\//.exec(name)?.[1];
  const sections = model === undefined ? sectionsOf([]) : embeddingSections(Number(model));
  return sections.find((section) => section.name === name);
}

/** Columns of the section's table that are stored, in their order; those that PostgreSQL computes are left out. */
export async function columnsOf(database: Queryable, section: Section): Promise<string[]> {
  const { rows } = await database.query<{ readonly name: string }>(
    `select attname as name from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [section.table],
  );
  return rows
    .map(({ name }) => name)
    .filter((name) => section.only?.includes(name) ?? !section.without?.includes(name));
}
