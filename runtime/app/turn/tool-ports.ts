/** What one tool call may ask of its turn: a question, a task for another turn, a word on its progress, a message or a file on the way. */

import { DelegationError, ToolError } from "../../contracts/errors.ts";
import type { StreamEvent } from "../../contracts/stream.ts";
import type { Question, SpawnedTask, TaskReply, ToolPorts } from "../../contracts/tool.ts";
import { sanitize } from "../../domain/cap.ts";
import type { FileLimits } from "../../domain/outgoing-file.ts";
import type { Delegation } from "./delegation.ts";
import { checkedFile, type SentFile } from "./sent-files.ts";
import type { AskedQuestion, StoredAnswer } from "./turn-rows.ts";

/** Ends a call that has asked; never part of a result. */
export class AnswerPending extends Error {}

export interface CallPorts extends ToolPorts {
  /** The question that the turn has to wait for; null while there is none. */
  asked(): AskedQuestion | null;
  /** Those that the call has sent. */
  files(): readonly SentFile[];
}

export interface CallPortsDeps {
  readonly turnId: string;
  readonly toolCallId: string;
  /** The answers of earlier attempts, in the order of the questions. */
  readonly answers: readonly StoredAnswer[];
  readonly delegation: Delegation;
  /** Puts a message into the outbox; `ordinal` counts those of the call from 0. */
  deliver(ordinal: number, text: string): Promise<void>;
  readonly fileLimits: FileLimits;
  /** How many files the turn has sent before the call. */
  filesBefore(): Promise<number>;
  emit(event: StreamEvent): void;
}

const DAY_MS = 86_400_000;
const MAX_DEADLINE_MS = 30 * DAY_MS;
const TASK_DEADLINE_MS = 900_000;
const MAX_TASK = 100_000;
const MAX_TEXT = 10_000;
const MAX_CHOICES = 20;
const MAX_CHOICE = 200;

export function createCallPorts(deps: CallPortsDeps): CallPorts {
  const { turnId, toolCallId, answers, delegation, deliver, emit } = deps;
  const files: SentFile[] = [];
  let questions = 0;
  let messages = 0;
  let asked: AskedQuestion | null = null;

  function wait(question: AskedQuestion): never {
    asked ??= question;
    throw new AnswerPending("The turn waits for an answer.");
  }

  async function handOver(target: string | null, { message, deadlineMs = TASK_DEADLINE_MS, maxDepth }: SpawnedTask) {
    const text = checkedTask(message, deadlineMs);
    const ordinal = questions++;
    const answer = answers[ordinal];
    if (answer) return replyOf(answer, (reply) => delegation.after(target, text, reply));
    const { message: task, ...delegate } = await delegation.before(target, text, maxDepth);
    return wait({ ordinal, deadlineMs: Math.ceil(deadlineMs), text: task, choices: [], delegate });
  }

  return {
    asked: () => asked,
    files: () => files,
    async ask(question) {
      const checked = checkedQuestion(question);
      const ordinal = questions++;
      const answer = answers[ordinal];
      if (answer?.kind === "delegated" || answer?.kind === "overdue") throw outOfOrder();
      if (answer) return answer;
      delegation.assertAnswerable();
      return wait({ ordinal, ...checked, delegate: null });
    },
    delegate: (task) => handOver(task.agent, task),
    spawn: (task) => handOver(null, task),
    progress(text) {
      emit({ type: "tool.progress", turn_id: turnId, tool_call_id: toolCallId, text: sanitize(text) });
    },
    async deliver(text) {
      if (text.trim() === "") throw new ToolError("TOOL_INVALID_ARGUMENTS", "A message needs a text.");
      delegation.assertUser();
      const clean = sanitize(text);
      await deliver(messages++, clean);
      emit({ type: "turn.message", turn_id: turnId, text: clean });
    },
    async sendFile(file) {
      delegation.assertReceived();
      const before = await deps.filesBefore();
      files.push(checkedFile(file, deps.fileLimits, before + files.length));
    },
  };
}

function checkedQuestion({ text, choices = [], deadlineMs = DAY_MS }: Question) {
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

function checkedTask(message: string, deadlineMs: number): string {
  const problem =
    message.trim() === "" || message.length > MAX_TASK
      ? `a task has 1 to ${MAX_TASK} characters`
      : deadlineMs > 0 && deadlineMs <= DAY_MS
        ? null
        : "a task has at most one day";
  if (problem !== null) throw new ToolError("TOOL_INVALID_ARGUMENTS", `The tool delegated wrongly: ${problem}.`);
  return sanitize(message);
}

async function replyOf(answer: StoredAnswer, after: (reply: string) => Promise<string>): Promise<TaskReply> {
  if (answer.kind === "answered" || answer.kind === "expired") throw outOfOrder();
  if (answer.kind === "overdue") throw new DelegationError("DELEGATION_TIMEOUT", overdue(answer.sent));
  const { outcome } = answer;
  const { turnId } = outcome;
  if (outcome.ok) return { turnId, text: await after(outcome.text) };
  throw new DelegationError(
    "DELEGATION_FAILED",
    `The other agent's turn failed: ${outcome.message} (${outcome.code})`,
    {
      turnId,
    },
  );
}

/** `sent`: see StoredAnswer. */
function overdue(sent: boolean | null): string {
  if (sent === null) return "The other agent did not reply before the deadline, and was stopped.";
  return sent
    ? "The node of the other agent did not reply before the deadline. Whether the task was done, or a part of it, is unknown."
    : "No node of the other agent took the task before the deadline.";
}

function outOfOrder(): ToolError {
  return new ToolError("TOOL_FAILED", "The call asked in another order when it was executed again.");
}
