/** What one tool call may ask of its turn: a question, a task for another turn, a word on its progress, a message or a file on the way. */

import { DelegationError, ToolError } from "../../contracts/errors.ts";
import type { HookContexts } from "../../contracts/hooks.ts";
import type { StreamEvent } from "../../contracts/stream.ts";
import { AnswerPending, type Question, type TaskReply, type ToolPorts, type TurnTask } from "../../contracts/tool.ts";
import { approvalRequest, approvalText } from "../../domain/approval.ts";
import { sanitize } from "../../domain/cap.ts";
import type { FileLimits } from "../../domain/outgoing-file.ts";
import type { TaskRequest } from "../../domain/task-allowance.ts";
import type { Approvals } from "../approvals.ts";
import type { Delegation, TaskEnd } from "./delegation.ts";
import { checkedFile, type SentFile } from "./sent-files.ts";
import type { AskedQuestion, StoredAnswer } from "./turn-rows.ts";
import type { SeenEnd } from "./turn-waiting.ts";

export interface CallPorts extends ToolPorts, Pick<HookContexts["tool:before"], "approve"> {
  /** What the turn has to wait for; null while there is nothing, `later` where other calls of the batch are to go on first. */
  asked(): AskedQuestion | "later" | null;
  /** See AskingCall. */
  seen(): readonly SeenEnd[];
  /** Those that the call has sent. */
  files(): readonly SentFile[];
}

/**
 * The tasks of calls that run side by side, through the hooks one after the other. Resolves to null where `most` are handed on already:
 * no hook is to see a task that is not. One that is refused is none.
 */
export type TaskBatch = (most: number, prepare: () => Promise<AskedQuestion>) => Promise<AskedQuestion | null>;

export function createTaskBatch(): TaskBatch {
  let handedOn: Promise<number> = Promise.resolve(0);
  return (most, prepare) => {
    const before = handedOn;
    const task = before.then((count) => (count < most ? prepare() : null));
    handedOn = task.then(
      async (question) => (await before) + (question === null ? 0 : 1),
      () => before,
    );
    return task;
  };
}

export interface CallPortsDeps {
  readonly turnId: string;
  readonly toolCallId: string;
  /** The answers of earlier attempts, in the order of the questions. */
  readonly answers: readonly StoredAnswer[];
  readonly delegation: Delegation;
  readonly tasks: TaskBatch;
  readonly approvals: CallApprovals;
  /** Stores what the call has done once; `ordinal` is that of its questions and tasks. */
  note(ordinal: number, text: string): Promise<void>;
  /** Puts a message into the outbox; `ordinal` counts those of the call from 0. */
  deliver(ordinal: number, text: string): Promise<void>;
  readonly fileLimits: FileLimits;
  /** How many files the turn has sent before the call. */
  filesBefore(): Promise<number>;
  emit(event: StreamEvent): void;
}

/** What an approval of a call depends on. */
export interface CallApprovals {
  readonly agent: string;
  readonly workspace: string;
  /** Whether the turn is the owner's: nobody else is asked, and what the owner has approved for good holds for nobody else. */
  readonly owner: boolean;
  /** Takes the service's own secrets out of what is shown. */
  readonly redact: (text: string) => string;
  readonly isStanding: Approvals["isStanding"];
  expired(question: string): void;
}

const DAY_MS = 86_400_000;
const MAX_DEADLINE_MS = 30 * DAY_MS;
const TASK_DEADLINE_MS = 900_000;
const MAX_TASK = 100_000;
const AT_ONCE = 4;
const MAX_AT_ONCE = 16;
const MAX_NOTE = 1_000_000;
const MAX_TEXT = 10_000;
const MAX_CHOICES = 20;
const MAX_CHOICE = 200;

export function createCallPorts(deps: CallPortsDeps): CallPorts {
  const { turnId, toolCallId, answers, delegation, tasks, approvals, deliver, emit } = deps;
  const files: SentFile[] = [];
  let questions = 0;
  let messages = 0;
  let asked: AskedQuestion | "later" | null = null;
  const seen: SeenEnd[] = [];

  function wait(question: AskedQuestion | "later"): never {
    asked ??= question;
    throw new AnswerPending("The turn waits for an answer.");
  }

  async function handOver(target: string | null, task: TurnTask, limits: TaskRequest = {}): Promise<TaskReply> {
    const { message, deadlineMs = TASK_DEADLINE_MS, atOnce = AT_ONCE, maxDepth } = task;
    const text = checkedTask(message, deadlineMs, atOnce);
    const ordinal = questions++;
    const answer = answers[ordinal];
    if (answer) {
      return replyOf(answer, target === null ? "sub-agent" : "other agent", async (end) => {
        const result = await delegation.after(target, end);
        seen.push({ ordinal, text: result });
        return result;
      });
    }
    const question = await tasks(atOnce, async () => {
      const { message: task, ...delegate } = await delegation.before(target, text, { maxDepth, ...limits });
      return { ordinal, deadlineMs: Math.ceil(deadlineMs), text: task, choices: [], delegate };
    });
    return wait(question ?? "later");
  }

  return {
    asked: () => asked,
    files: () => files,
    seen: () => seen,
    async ask(question) {
      const checked = checkedQuestion(question);
      const ordinal = questions++;
      const answer = answers[ordinal];
      if (answer && answer.kind !== "answered" && answer.kind !== "expired") throw outOfOrder();
      if (answer) return answer;
      delegation.assertAnswerable();
      return wait({ ordinal, ...checked, delegate: null });
    },
    async approve(call, reason) {
      const { agent, workspace, owner, redact, isStanding, expired } = approvals;
      if (!owner) {
        throw new ToolError(
          "TOOL_REFUSED",
          `The call was refused: ${reason}. Only the owner approves, in turns of their own.`,
        );
      }
      const approval = approvalRequest({ agent, workspace, call, reason }, redact);
      if (approval === null) {
        throw new ToolError("TOOL_REFUSED", `The call was refused: ${reason}, and it is too long to be shown whole.`, {
          hint: "Write what is long into a file first.",
        });
      }
      // A decision about another call than this one is none.
      while (isOther(answers[questions], approval.digest)) questions++;
      const decided = answers[questions];
      if (decided) {
        questions++;
        if (decided.kind !== "approval") throw outOfOrder();
        if (decided.outcome === "expired") expired(decided.id);
        return decided.outcome;
      }
      if (await isStanding({ agent, tool: call.name, digest: approval.digest })) return "approved";
      delegation.assertAnswerable();
      const text = approvalText(agent, approval);
      return wait({ ordinal: questions++, deadlineMs: DAY_MS, text, choices: [], delegate: null, approval });
    },
    delegate: (task) => handOver(task.agent, task),
    spawn: ({ tools, maxTokens, ...task }) => handOver(null, task, { tools, maxTokens }),
    async once(work) {
      const ordinal = questions++;
      const answer = answers[ordinal];
      if (answer && answer.kind !== "noted") throw outOfOrder();
      if (answer) return answer.text;
      const text = sanitize(await work());
      if (text.length > MAX_NOTE)
        throw new ToolError("TOOL_FAILED", "What the tool has done is too long to be stored.");
      await deps.note(ordinal, text);
      return text;
    },
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

function checkedTask(message: string, deadlineMs: number, atOnce: number): string {
  const problem =
    message.trim() === "" || message.length > MAX_TASK
      ? `a task has 1 to ${MAX_TASK} characters`
      : deadlineMs > 0 && deadlineMs <= DAY_MS
        ? atOnce >= 1 && atOnce <= MAX_AT_ONCE
          ? null
          : `at most ${MAX_AT_ONCE} tasks run at once`
        : "a task has at most one day";
  if (problem !== null) throw new ToolError("TOOL_INVALID_ARGUMENTS", `The tool delegated wrongly: ${problem}.`);
  return sanitize(message);
}

async function replyOf(
  answer: StoredAnswer,
  who: string,
  after: (end: TaskEnd) => Promise<string>,
): Promise<TaskReply> {
  if (answer.kind !== "delegated" && answer.kind !== "overdue") throw outOfOrder();
  const { task, seen } = answer;
  const read = async (ok: boolean, result: string) => seen ?? (await after({ task, ok, result }));
  if (answer.kind === "overdue")
    throw new DelegationError("DELEGATION_TIMEOUT", await read(false, overdue(who, answer.sent)));
  const { outcome } = answer;
  const { turnId } = outcome;
  if (outcome.ok) return { turnId, text: await read(true, outcome.text) };
  const failure = `The ${who}'s turn failed: ${outcome.message} (${outcome.code})`;
  throw new DelegationError("DELEGATION_FAILED", await read(false, failure), { turnId });
}

function isOther(answer: StoredAnswer | undefined, digest: string): boolean {
  return answer?.kind === "approval" && answer.digest !== digest;
}

/** `sent`: see StoredAnswer. */
function overdue(who: string, sent: boolean | null): string {
  if (sent === null) return `The ${who} did not reply before the deadline, and was stopped.`;
  return sent
    ? "The node of the other agent did not reply before the deadline. Whether the task was done, or a part of it, is unknown."
    : "No node of the other agent took the task before the deadline.";
}

function outOfOrder(): ToolError {
  return new ToolError("TOOL_FAILED", "The call asked in another order when it was executed again.");
}
