import { type Issue, MemoryError } from "../contracts/errors.ts";
import { dedupeKey, type Said } from "../domain/dedupe.ts";
import { type GivenTags, resolveTags, type Tags, tagIssues } from "../domain/memory-tags.ts";
import { parseInstant } from "../domain/time-window.ts";
import type { AppendArguments, IngestArguments } from "./memory-write-arguments.ts";
import type { WriteEntry } from "./transcript/batch.ts";
import { refuseTurnSession } from "./transcript/turn-sessions.ts";
import type { Writer } from "./transcript/writer.ts";

/** memory_append and memory_ingest_session: from arguments to one batch of the writer, which stores all of it or nothing. */

export interface MemoryWrites {
  append(args: AppendArguments): Promise<AppendResult>;
  ingest(args: IngestArguments): Promise<IngestResult>;
}

export interface MemoryWritesDeps {
  readonly writer: Pick<Writer, "write">;
  /** Tags of the environment: what a call leaves out. */
  readonly tags: GivenTags;
  /** IANA name; times without an offset are meant there. */
  readonly timezone: string;
  /** Names of the agents that have turns of their own; their sessions are refused. */
  readonly agents: ReadonlySet<string>;
}

export interface AppendResult {
  /** Of the row that is stored: this one, or the earlier one of the same key. */
  readonly id: string;
  /** The given one, else the key that was made of what was said. */
  readonly event_id: string;
  readonly conversation_id: string;
  /** True when it was there already. */
  readonly skipped: boolean;
  readonly truncated: boolean;
  /** Length before the cut, in UTF-16 code units. */
  readonly full_content_length: number;
  /** The same of tool_result; null without one. */
  readonly full_tool_result_length: number | null;
  readonly agent: string;
  readonly channel: string;
  readonly source: string;
}

export interface IngestResult {
  readonly conversation_id: string;
  readonly ingested: number;
  readonly skipped: number;
  /** Of the stored rows, one for each message, in order. */
  readonly ids: readonly string[];
}

type Message = Pick<AppendArguments, "role" | "content" | "tool_name" | "tool_args" | "tool_result" | "created_at">;

export function createMemoryWrites(deps: MemoryWritesDeps): MemoryWrites {
  const { writer, tags: environment, timezone, agents } = deps;

  function checkSession(sessionKey: string): void {
    const refused = refuseTurnSession(sessionKey, agents);
    if (refused !== null) throw invalid([refused]);
  }

  function tagsOf(args: GivenTags): Tags {
    const tags = resolveTags(args, environment);
    const issues = tagIssues({ ...tags });
    if (issues.length > 0) throw invalid(issues);
    return tags;
  }

  function entryOf(message: Message, path: string, key: string, metadata: WriteEntry["metadata"]): WriteEntry {
    const { role, content, tool_args: toolArgs, created_at: at } = message;
    const createdAt = at === undefined ? undefined : parseInstant(at, timezone);
    if (createdAt === null) throw invalid([{ path: `${path}created_at`, message: "must be an ISO 8601 date or time" }]);
    const toolName = nameOf(message);
    if (content === "" && toolName === undefined && message.tool_result === undefined) {
      throw invalid([{ path: `${path}content`, message: "may be empty only with tool_name or tool_result" }]);
    }
    return {
      role,
      content,
      toolName,
      toolArgs,
      toolResult: message.tool_result,
      metadata,
      createdAt: createdAt?.toISOString(),
      key,
      cap: true,
    };
  }

  return {
    async append(args) {
      checkSession(args.session_key);
      const tags = tagsOf(args);
      const key = dedupeKey(saidOf(args), { domain: "append", eventId: args.event_id });
      const { conversationId, rows } = await writer.write({
        sessionKey: args.session_key,
        agent: tags.agent,
        channel: tags.channel,
        openedBy: "append",
        entries: [entryOf(args, "", key, metadataOf(tags))],
      });
      const row = rows[0];
      if (row === undefined) throw new MemoryError("MEMORY_QUERY_FAILED", "The message was not stored.");
      return {
        id: row.id,
        event_id: args.event_id?.trim() ? args.event_id : key,
        conversation_id: conversationId,
        skipped: !row.inserted,
        truncated: row.truncated,
        full_content_length: args.content.length,
        full_tool_result_length: args.tool_result?.length ?? null,
        agent: tags.agent,
        channel: tags.channel,
        source: tags.source,
      };
    },

    async ingest(args) {
      checkSession(args.session_key);
      const tags = tagsOf(args);
      const entries = args.messages.map((message, ordinal) => {
        const key = dedupeKey(saidOf(message), { domain: "ingest", ordinal, eventId: message.event_id });
        return entryOf(message, `messages.${ordinal}.`, key, { ...message.metadata, ...metadataOf(tags) });
      });
      const { conversationId, rows } = await writer.write({
        sessionKey: args.session_key,
        agent: tags.agent,
        channel: tags.channel,
        openedBy: "append",
        entries,
      });
      const ingested = rows.filter(({ inserted }) => inserted).length;
      return {
        conversation_id: conversationId,
        ingested,
        skipped: rows.length - ingested,
        ids: rows.map(({ id }) => id),
      };
    },
  };
}

/** What the hash is made of: the message before it is cut. */
function saidOf(message: Message): Said {
  const { role, content, tool_args: toolArgs, tool_result: toolResult } = message;
  return { role, content, toolName: nameOf(message), toolArgs, toolResult };
}

function nameOf({ tool_name: name }: Message): string | undefined {
  return name?.trim() ? name : undefined;
}

function metadataOf({ source, persona }: Tags): { readonly source: string; readonly persona?: string } {
  return { source, ...(persona === undefined ? {} : { persona }) };
}

function invalid(issues: readonly Issue[]): MemoryError {
  const said = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  return new MemoryError("MEMORY_INVALID_ARGUMENT", `The arguments are not valid: ${said}.`, { issues });
}
