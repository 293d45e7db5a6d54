import type { Queryable } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Visibility } from "../../contracts/memory.ts";
import type { Metadata } from "../../contracts/records.ts";
import { visible } from "./filters.ts";
import { Values } from "./sql.ts";

/** memory_get_full: a row as it was before anything was cut from it. */

export interface FullRow {
  readonly id: string;
  /** False when something was cut and no full copy is known: then the fields hold what the row holds. */
  readonly recovered: boolean;
  readonly source: "row" | "payload";
  readonly content: string;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  /** Why it could not be recovered. */
  readonly reason?: string;
}

interface Row {
  readonly content: string;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  readonly metadata: Metadata;
  readonly kept: boolean;
  readonly full_content: string | null;
  readonly full_tool_args: unknown;
  readonly full_tool_result: string | null;
}

/** MEMORY_NOT_FOUND when there is no such message, or none that the caller may see. `id` is a UUID. */
export async function getFull(database: Queryable, id: string, visibility: Visibility): Promise<FullRow> {
  const values = new Values();
  const condition = [`m.id = ${values.add(id)}::uuid`, ...visible("m", visibility, values)].join(" and ");
  const { rows } = await database.query<Row>(
    `select m.content, m.tool_args, m.tool_result, m.metadata, p.message_id is not null as kept,
       p.content as full_content, p.tool_args as full_tool_args, p.tool_result as full_tool_result
     from messages m left join payloads p on p.message_id = m.id where ${condition}`,
    values.list,
  );
  const row = rows[0];
  if (row === undefined) throw new MemoryError("MEMORY_NOT_FOUND", "There is no message with this id.");
  const missing = missingParts(row);
  return {
    id: id.toLowerCase(),
    recovered: missing.length === 0,
    source: row.kept ? "payload" : "row",
    content: row.full_content ?? row.content,
    tool_args: row.full_tool_args ?? row.tool_args,
    tool_result: row.full_tool_result ?? row.tool_result,
    ...(missing.length > 0
      ? { reason: `${missing.join(" and ")} was cut when the row was written, and no full copy is kept here.` }
      : {}),
  };
}

/** What was cut from the row and is in no payload. */
function missingParts({ metadata, full_content, full_tool_args, full_tool_result }: Row): string[] {
  const cut = (key: string) => typeof metadata[key] === "number";
  const known = ["full_content_length", "full_tool_result_length", "full_tool_args_length"].some(cut);
  return [
    ...(cut("full_content_length") && full_content === null ? ["content"] : []),
    ...(cut("full_tool_result_length") && full_tool_result === null ? ["tool_result"] : []),
    ...(cut("full_tool_args_length") && full_tool_args === null ? ["tool_args"] : []),
    ...(metadata.truncated === true && !known && full_content === null && full_tool_result === null ? ["A part"] : []),
  ];
}
