/** The tool call as it stands in the transcript, and the one change that a transcript row can ever see. */

import type { Queryable } from "../../contracts/database.ts";
import type { ToolCallView } from "../../domain/synthesis/prompt.ts";

export interface OpenCall extends ToolCallView {
  /** Arguments and result as far as names are looked up in them. */
  readonly texts: readonly string[];
}

/** Null when there is nothing to write: the message is not there, is no tool call, or has its content. */
export async function readOpenCall(database: Queryable, messageId: string): Promise<OpenCall | null> {
  const { rows } = await database.query<Row>(
    `select agent, tool_name, left(tool_args::text, ${LONGEST_ARGUMENTS}) as args, length(tool_args::text) as args_length,
            tool_result, metadata -> 'full_tool_result_length' as full_result, metadata -> 'is_error' as is_error, created_at
       from messages where id = $1 and content = '' and tool_name is not null`,
    [messageId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { args, args_length: length, tool_result: result } = row;
  // Only what the statement cut is no JSON any more.
  const whole = args !== null && length !== null && length <= LONGEST_ARGUMENTS;
  return {
    agent: row.agent,
    toolName: row.tool_name,
    toolArgs: args === null ? undefined : whole ? JSON.parse(args) : args,
    toolResult: result,
    fullResultLength: typeof row.full_result === "number" ? row.full_result : null,
    failed: row.is_error === true,
    at: row.created_at,
    texts: [row.tool_name, args ?? "", result ?? ""],
  };
}

/** Writes the content of a call that still has none; false when another worker has written it or the message is gone. */
export async function writeSentence(database: Queryable, messageId: string, sentence: string): Promise<boolean> {
  const { count } = await database.query(
    "update messages set content = $2 where id = $1 and content = '' and tool_name is not null",
    [messageId, sentence],
  );
  return count > 0;
}

/** Arguments are never capped in the row; the model gets no more than this. */
const LONGEST_ARGUMENTS = 1_000_000;

interface Row {
  readonly agent: string;
  readonly tool_name: string;
  readonly args: string | null;
  readonly args_length: number | null;
  readonly tool_result: string | null;
  readonly full_result: unknown;
  readonly is_error: unknown;
  readonly created_at: Date;
}
