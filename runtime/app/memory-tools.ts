import type { z } from "zod";
import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import type { MemoryHit } from "../contracts/memory.ts";
import type { Role } from "../contracts/message.ts";
import type { Clock } from "../contracts/ports.ts";
import type { ToolDefinition } from "../contracts/provider.ts";
import { provenance, roleOf } from "../domain/memory-fence.ts";
import { parseInstant, type TimeSpan, type TimeWindow, windowSpan } from "../domain/time-window.ts";
import type { MemoryCaller, MemoryTools } from "./api.ts";
import {
  browseArguments,
  getFullArguments,
  parametersOf,
  parseArguments,
  searchArguments,
  statsArguments,
} from "./memory-arguments.ts";
import { appendArguments, ingestArguments, withoutNullsInMessages, withSessionKey } from "./memory-write-arguments.ts";
import type { MemoryWrites } from "./memory-writes.ts";
import type { QueueAdmin } from "./queue-admin.ts";
import { type AnswerSearch, NO_MODEL } from "./recall/answer.ts";
import { browse } from "./recall/browse.ts";
import type { Recover } from "./recall/disk/recover.ts";
import { getFull } from "./recall/full.ts";
import type { Recall } from "./recall/memory.ts";
import { memoryStats } from "./recall/stats.ts";

/** The memory tools, the same for agents, HTTP and MCP: gating, then validation, then the use case behind the name. */

export interface MemoryToolsDeps {
  readonly database: Database;
  readonly memory: Pick<Recall, "search" | "originsOf">;
  /** Where memory_stats reads the state of the queues. */
  readonly jobs?: Pick<QueueAdmin, "states">;
  readonly clock: Clock;
  /** IANA name; windows and dates without a time are meant there. */
  readonly timezone: string;
  /** Follows the disk pointers of captured rows; without it what was cut from them stays lost. */
  readonly recover?: Recover;
  /** Name of the embedding model that is configured; absent where the memory is searched by words alone. */
  readonly embeddingModel?: string;
  /** Absent where the write tools are not enabled: then they do not exist. */
  readonly writes?: MemoryWrites;
  /** Writes the answer of `synthesize`; absent where no language model is configured. */
  readonly answer?: AnswerSearch;
}

/** Name, description and JSON Schema of every memory tool that reads. */
export const MEMORY_TOOL_DEFINITIONS: readonly ToolDefinition[] = [
  {
    name: "memory_search",
    description:
      "Searches everything that was ever said, messages and summaries, best first. Top summaries come with what they summarize.",
    parameters: parametersOf(searchArguments),
  },
  {
    name: "memory_browse",
    description:
      "Lists messages in the order of time, page by page: for reviewing a session or catching up. Where rows that all filters let through are rare, a page may end before it is full: looked_until says how far it has looked, and next_cursor goes on.",
    parameters: parametersOf(browseArguments),
  },
  {
    name: "memory_stats",
    description: "Health of the memory: counts, embedding coverage, summaries, queues, database.",
    parameters: parametersOf(statsArguments),
  },
  {
    name: "memory_get_full",
    description:
      "The full payload of a message that was cut when it was stored, where a full copy is kept or the session it was captured from is still on this machine.",
    parameters: parametersOf(getFullArguments),
  },
];

/** The same of the tools that write: they are there only where they are enabled, and agents are never offered them. */
export const MEMORY_WRITE_TOOL_DEFINITIONS: readonly ToolDefinition[] = [
  {
    name: "memory_append",
    description:
      "Stores one message in a session of the memory. The same message, or the same event_id, is stored once.",
    parameters: parametersOf(appendArguments),
  },
  {
    name: "memory_ingest_session",
    description:
      "Stores a transcript in a session of the memory, all of it or nothing. Repeating it stores what is not there yet.",
    parameters: parametersOf(ingestArguments),
  },
];

type Tool = (args: unknown, caller: MemoryCaller) => Promise<unknown>;

export function createMemoryTools(deps: MemoryToolsDeps): MemoryTools {
  const { database, memory, jobs, clock, timezone } = deps;

  function tool<Schema extends z.ZodObject>(
    schema: Schema,
    run: (args: z.output<Schema>, caller: MemoryCaller) => Promise<unknown>,
  ): Tool {
    return async (args, caller) => run(parseArguments(schema, args), caller);
  }

  const span = (args: Parameters<typeof spanOf>[0]) => spanOf(args, clock.now(), timezone);

  const tools = new Map<string, Tool>([
    [
      "memory_search",
      tool(searchArguments, async (args, caller) => {
        const started = clock.monotonic();
        const { since, before } = span(args);
        const { query, mode, scope, limit, agent, expand, synthesize } = args;
        let textOnly = false;
        const results = await memory.search(query, {
          mode,
          scope,
          limit,
          expand,
          visibility: caller.visibility,
          ...(agent === undefined ? {} : { agent }),
          ...(since === undefined ? {} : { since: since.toISOString() }),
          ...(before === undefined ? {} : { before: before.toISOString() }),
          caller: caller.name,
          ...(caller.signal === undefined ? {} : { signal: caller.signal }),
          onTextOnly: () => {
            textOnly = true;
          },
        });
        const noModel = { answer_missing: NO_MODEL };
        const answered = synthesize ? ((await deps.answer?.(query, results, caller)) ?? noModel) : {};
        const took_ms = Math.round((clock.monotonic() - started) * 10) / 10;
        const shown = await (caller.forModel === true ? withOrigins : withSessions)(memory, results);
        const notice =
          textOnly && deps.embeddingModel !== undefined ? { notice: textOnlyNotice(deps.embeddingModel) } : {};
        return { query, mode, results: shown, ...answered, ...notice, took_ms };
      }),
    ],
    [
      "memory_browse",
      tool(browseArguments, async (args, caller) => {
        const page = await browse(database, {
          conversationId: args.conversation_id,
          sessionKey: args.session_key,
          channel: args.channel,
          role: args.role,
          order: args.order,
          limit: args.limit,
          cursor: args.cursor,
          filters: { agent: args.agent, ...span(args), visibility: caller.visibility },
        });
        return caller.forModel === true ? { ...page, messages: await withOrigins(memory, page.messages) } : page;
      }),
    ],
    [
      "memory_stats",
      tool(statsArguments, async ({ agent }, { visibility }) => ({
        ...(await memoryStats(database, jobs, { agent, visibility })),
        embedding_model: deps.embeddingModel ?? null,
      })),
    ],
    [
      "memory_get_full",
      tool(getFullArguments, ({ id }, { visibility, signal }) =>
        getFull(database, id, { visibility, signal, recover: deps.recover }),
      ),
    ],
  ]);

  if (deps.writes !== undefined) {
    const { append, ingest } = deps.writes;
    const appending = tool(appendArguments, append);
    const ingesting = tool(ingestArguments, ingest);
    tools.set("memory_append", (args, caller) => appending(withSessionKey(args), caller));
    tools.set("memory_ingest_session", (args, caller) => ingesting(withoutNullsInMessages(args), caller));
  }

  return {
    names: () => [...tools.keys()],
    async call(name, args, caller) {
      const found = tools.get(name);
      if (found === undefined) {
        throw new MemoryError("MEMORY_TOOL_UNKNOWN", `There is no memory tool "${name.slice(0, 100)}" here.`, {
          hint: `Known are ${[...tools.keys()].join(", ")}.`,
        });
      }
      caller.signal?.throwIfAborted();
      return found(args, caller);
    },
  };
}

function textOnlyNotice(model: string): string {
  return `Searched by words alone: the embedding model ${model} does not answer, or has made no vectors yet.`;
}

interface Shown extends Partial<Pick<MemoryHit, "children" | "sources">> {
  readonly conversation_id: string | null;
  readonly role?: Role;
}

/** Rows with where they come from, in words; what other programs stored with the role of the system has it no more. */
async function withOrigins<Row extends Shown>(memory: Pick<Recall, "originsOf">, rows: readonly Row[]) {
  const all = rows.flatMap((row) => [row, ...(row.children ?? []), ...(row.sources ?? [])]);
  const origins = await memory.originsOf(all.map((row) => row.conversation_id));
  const one = <R extends Shown>(row: R): R & { readonly origin: string } => {
    const origin = origins.get(row.conversation_id ?? "") ?? null;
    return {
      ...row,
      ...(row.role === undefined ? {} : { role: roleOf({ role: row.role, origin }) }),
      origin: provenance(origin),
      ...(row.children ? { children: row.children.map(one) } : {}),
      ...(row.sources ? { sources: row.sources.map(one) } : {}),
    };
  };
  return rows.map(one);
}

/** Hits with the names of their sessions; a statement only where one is not in the cache. */
async function withSessions(memory: Pick<Recall, "originsOf">, hits: readonly MemoryHit[]): Promise<MemoryHit[]> {
  const origins = await memory.originsOf(hits.map(({ conversation_id: id }) => id));
  return hits.map((hit) => ({ ...hit, session: origins.get(hit.conversation_id ?? "")?.session ?? null }));
}

/** MEMORY_INVALID_ARGUMENT for a date that is none, for a span that ends before it begins, and for two spans at once. */
function spanOf(
  args: {
    readonly since?: string | undefined;
    readonly before?: string | undefined;
    readonly window?: TimeWindow | undefined;
  },
  now: Date,
  timezone: string,
): TimeSpan {
  const invalid = (path: string, message: string) =>
    new MemoryError("MEMORY_INVALID_ARGUMENT", `The arguments are not valid: ${path}: ${message}.`, {
      issues: [{ path, message }],
    });
  if (args.window !== undefined) {
    if (args.since !== undefined || args.before !== undefined) {
      throw invalid("window", "stands instead of since and before");
    }
    return windowSpan(args.window, now, timezone);
  }
  const instant = (path: "since" | "before") => {
    const text = args[path];
    if (text === undefined) return undefined;
    const time = parseInstant(text, timezone);
    if (time === null) throw invalid(path, "must be an ISO 8601 date or time");
    return time;
  };
  const since = instant("since");
  const before = instant("before");
  if (since !== undefined && before !== undefined && since >= before) {
    throw invalid("since", "must be earlier than before");
  }
  return { ...(since === undefined ? {} : { since }), ...(before === undefined ? {} : { before }) };
}
