/**
 * Whether a model goes in circles: the same calls with the same results, reply after reply, with nothing in between. A call whose
 * result changes, as of one that waits for something, and one beside others that go on, are none. Pure.
 */

import { ToolError } from "../contracts/errors.ts";
import { type Message, type ToolCall, textOf } from "../contracts/message.ts";
import type { ToolResult } from "../contracts/tool.ts";
import { canonicalJson } from "./dedupe.ts";
import { withoutMarks } from "./marked-fence.ts";

/** Times that a call may have the same result in a row; the next one is not run. */
export const MOST_REPEATS = 3;

const CODE = "TOOL_REPEATED";
const MESSAGE = `this call had the same result ${MOST_REPEATS} times in a row and was not run again. Do something else: change the arguments, use another tool, or say what is in the way.`;
const NOTICE = `\n\n[This was the same call with the same result ${MOST_REPEATS} times in a row. It will not be run again; do something else.]`;

export interface RepeatGuard {
  /** TOOL_REPEATED where the call is not to be run; null where it may run. */
  refusal(call: ToolCall): ToolError | null;
  /** The result, with a notice where the call will be refused from now on. */
  noted(call: ToolCall, result: ToolResult): ToolResult;
}

/** One reply's calls, each with its result. */
type Round = ReadonlyMap<string, string>;

/** `messages`: of the turn, up to the reply whose calls are to run; what is there of their results is no matter. */
export function createRepeatGuard(messages: readonly Message[]): RepeatGuard {
  const rounds = roundsOf(messages);
  const last = rounds.at(-1) ?? new Map<string, string>();
  const repeats = rounds.length - 1 - rounds.findLastIndex((round) => !isSame(round, last));
  return {
    refusal: (call) => (repeats >= MOST_REPEATS && last.has(keyOf(call)) ? new ToolError(CODE, MESSAGE) : null),
    noted: (call, result) =>
      repeats === MOST_REPEATS - 1 && last.get(keyOf(call)) === outcomeOf(result.content, result.isError)
        ? { ...result, content: `${result.content}${NOTICE}` }
        : result,
  };
}

/** From the newest message that is no call and no result on; without the reply that is under way, and without refusals. */
function roundsOf(messages: readonly Message[]): readonly Round[] {
  const from = messages.findLastIndex(({ role }) => role !== "assistant" && role !== "tool") + 1;
  const rounds: Map<string, string>[] = [];
  const keys = new Map<string, string>();
  for (const { role, toolCalls = [], toolCallId = "", content, isError } of messages.slice(from)) {
    if (role === "assistant") {
      rounds.push(new Map());
      for (const call of toolCalls) keys.set(call.id, keyOf(call));
    } else {
      rounds.at(-1)?.set(keys.get(toolCallId) ?? toolCallId, outcomeOf(textOf(content), isError));
    }
  }
  const refused = outcomeOf(`${CODE}: ${MESSAGE}`, true);
  return rounds.slice(0, -1).filter((round) => ![...round.values()].includes(refused));
}

function isSame(a: Round, b: Round): boolean {
  return a.size > 0 && a.size === b.size && [...a].every(([key, outcome]) => b.get(key) === outcome);
}

function keyOf(call: ToolCall): string {
  return canonicalJson([call.name, call.arguments]);
}

/** The mark of a fence is another one for each call. */
function outcomeOf(content: string, isError = false): string {
  return `${isError} ${withoutMarks(content.endsWith(NOTICE) ? content.slice(0, -NOTICE.length) : content)}`;
}
