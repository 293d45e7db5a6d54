/** What one tool call may ask of its turn: a question to the user, a word on its progress, a message on the way. */

import { ToolError } from "../../contracts/errors.ts";
import type { StreamEvent } from "../../contracts/stream.ts";
import type { Answer, Question, ToolPorts } from "../../contracts/tool.ts";
import { sanitize } from "../../domain/cap.ts";
import type { AskedQuestion } from "./turn-rows.ts";

/** Ends a call that has asked; never shown to anybody. */
export class AnswerPending extends Error {}

export interface CallPorts extends ToolPorts {
  /** The question that the turn has to wait for; null while there is none. */
  asked(): AskedQuestion | null;
}

export interface CallPortsDeps {
  readonly turnId: string;
  readonly toolCallId: string;
  /** The answers of earlier attempts, in the order of the questions. */
  readonly answers: readonly Answer[];
  /** Puts a message into the outbox; `ordinal` counts those of the call from 0. */
  deliver(ordinal: number, text: string): Promise<void>;
  emit(event: StreamEvent): void;
}

const DAY_MS = 86_400_000;
const MAX_DEADLINE_MS = 30 * DAY_MS;
const MAX_TEXT = 10_000;
const MAX_CHOICES = 20;
const MAX_CHOICE = 200;

export function createCallPorts({ turnId, toolCallId, answers, deliver, emit }: CallPortsDeps): CallPorts {
  let questions = 0;
  let messages = 0;
  let asked: AskedQuestion | null = null;
  return {
    asked: () => asked,
    async ask(question) {
      const checked = checkedQuestion(question);
      const ordinal = questions++;
      const answer = answers[ordinal];
      if (answer) return answer;
      asked ??= { ordinal, ...checked };
      throw new AnswerPending("The turn waits for an answer.");
    },
    progress(text) {
      emit({ type: "tool.progress", turn_id: turnId, tool_call_id: toolCallId, text: sanitize(text) });
    },
    async deliver(text) {
      if (text.trim() === "") throw new ToolError("TOOL_INVALID_ARGUMENTS", "A message needs a text.");
      const clean = sanitize(text);
      await deliver(messages++, clean);
      emit({ type: "turn.message", turn_id: turnId, text: clean });
    },
  };
}

function checkedQuestion({ text, choices = [], deadlineMs = DAY_MS }: Question): Omit<AskedQuestion, "ordinal"> {
  const problem =
    text.trim() === "" || text.length > MAX_TEXT
      ? `a question has 1 to ${MAX_TEXT} characters`
      : choices.length > MAX_CHOICES || choices.some((choice) => choice === "" || choice.length > MAX_CHOICE)
        ? `a question has at most ${MAX_CHOICES} choices of 1 to ${MAX_CHOICE} characters`
        : deadlineMs > 0 && deadlineMs <= MAX_DEADLINE_MS
          ? null
          : "a question waits for at most 30 days";
  if (problem !== null) throw new ToolError("TOOL_INVALID_ARGUMENTS", `The tool asked wrongly: ${problem}.`);
  return { text: sanitize(text), choices: choices.map(sanitize), deadlineMs: Math.ceil(deadlineMs) };
}
