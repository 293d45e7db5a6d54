import type { Queryable } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Visibility } from "../../contracts/memory.ts";
import { type CutPart, type CutRow, cutParts } from "../../domain/harnesses/match.ts";
import type { Recover, Recovery } from "./disk/recover.ts";
import { visible } from "./filters.ts";
import { Values } from "./sql.ts";

/** memory_get_full: a row as it was before anything was cut from it. */

export interface FullRow {
  readonly id: string;
  /** False when something was cut and no full copy is known: then the fields hold what the row holds. */
  readonly recovered: boolean;
  /** Where what the row lacks was found; `row` where it lacks nothing, or nothing was found. */
  readonly source: "row" | "payload" | "jsonl" | "sqlite";
  readonly content: string;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  /** What the model thought before, where a hook left it out and it was found. */
  readonly reasoning?: string;
  /** Why it could not be recovered, or not all of it. */
  readonly reason?: string;
}

interface Row extends CutRow {
  readonly kept: boolean;
  readonly full_content: string | null;
  readonly full_tool_args: unknown;
  readonly full_tool_result: string | null;
}

export interface FullOptions {
  readonly visibility: Visibility;
  /** Absent: disk pointers are not followed. */
  readonly recover?: Recover | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** MEMORY_NOT_FOUND when there is no such message, or none that the caller may see. `id` is a UUID. */
export async function getFull(database: Queryable, id: string, options: FullOptions): Promise<FullRow> {
  const row = await read(database, id, options.visibility);
  const missing = cutParts(row).filter((part) => !inPayload(row, part));
  const stored = {
    id: id.toLowerCase(),
    content: row.full_content ?? row.content,
    tool_args: row.full_tool_args ?? row.tool_args,
    tool_result: row.full_tool_result ?? row.tool_result,
  };
  const source = row.kept ? "payload" : "row";
  if (missing.length === 0) {
    const cut = row.metadata["truncated"] === true && cutParts(row).length === 0 && !row.kept;
    return cut
      ? { ...stored, recovered: false, source, reason: lost(["A part"], null) }
      : { ...stored, recovered: true, source };
  }
  // No connection is held meanwhile: the query above has ended.
  const answer = (await options.recover?.(row, missing, options.signal)) ?? null;
  const parts: Recovery["parts"] = answer !== null && "parts" in answer ? answer.parts : {};
  const still = missing.filter((part) => !(part in parts));
  return {
    ...stored,
    ...parts,
    recovered: still.length === 0,
    source: answer !== null && "source" in answer ? answer.source : source,
    ...(still.length > 0 ? { reason: lost(still, answer !== null && "reason" in answer ? answer.reason : null) } : {}),
  };
}

async function read(database: Queryable, id: string, visibility: Visibility): Promise<Row> {
  const values = new Values();
  const condition = [`m.id = ${values.add(id)}::uuid`, ...visible("m", visibility, values)].join(" and ");
  const { rows } = await database.query<Row>(
    `select m.content, m.tool_name, m.tool_args, m.tool_result, m.metadata, p.message_id is not null as kept,
       p.content as full_content, p.tool_args as full_tool_args, p.tool_result as full_tool_result
     from messages m left join payloads p on p.message_id = m.id where ${condition}`,
    values.list,
  );
  const row = rows[0];
  if (row === undefined) throw new MemoryError("MEMORY_NOT_FOUND", await whyMissing(database, id, visibility));
  return row;
}

/** To those who see the whole memory a message that was forgotten is told apart from one that never was. */
async function whyMissing(database: Queryable, id: string, visibility: Visibility): Promise<string> {
  return ("all" in visibility ? await whenForgotten(database, id) : null) ?? "There is no message with this id.";
}

/** When and why a message was forgotten, as a sentence; null for an id that is no tombstone's. */
export async function whenForgotten(database: Queryable, id: string): Promise<string | null> {
  const { rows } = await database.query<{ readonly at: Date; readonly reason: string }>(
    `select coalesce(f.erased_at, e.created_at) as at, e.reason from forgotten f join erasures e on e.id = f.erasure_id
     where f.message_id = $1`,
    [id],
  );
  const [tombstone] = rows;
  if (tombstone === undefined) return null;
  return `This message was forgotten on ${tombstone.at.toISOString().slice(0, 10)}: ${tombstone.reason}`;
}

function inPayload({ full_content, full_tool_args, full_tool_result }: Row, part: CutPart): boolean {
  if (part === "content") return full_content !== null;
  if (part === "tool_args") return full_tool_args !== null;
  return part === "tool_result" && full_tool_result !== null;
}

/** `why` is what became of the disk pointer; null where the row has none. */
function lost(parts: readonly string[], why: string | null): string {
  const said = `${parts.join(" and ")} ${parts.length > 1 ? "were" : "was"} cut when the row was written, and`;
  return why === null ? `${said} no full copy is kept here.` : `${said} ${why}.`;
}
