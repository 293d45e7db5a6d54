/** The tool calls of one reply: those that only read run side by side, the others one after the other; each outcome is recorded. */

import { setTimeout as sleep } from "node:timers/promises";
import { toCairnError } from "../../contracts/errors.ts";
import type { StreamEvent } from "../../contracts/stream.ts";
import type { Tool, ToolContext, ToolPorts, ToolResult } from "../../contracts/tool.ts";
import type { FileLimits } from "../../domain/outgoing-file.ts";
import type { RepeatGuard } from "../../domain/repeated-calls.ts";
import type { Delegation } from "./delegation.ts";
import type { FileChanges } from "./file-changes.ts";
import { sentAttachment } from "./sent-files.ts";
import { type CallApprovals, createCallPorts, createTaskBatch, type TaskBatch } from "./tool-ports.ts";
import type { ToolRunner } from "./tool-runner.ts";
import type { TurnJournal } from "./turn-journal.ts";
import { type PlannedCall, UNKNOWN_OUTCOME } from "./turn-resume.ts";
import type { AskingCall } from "./turn-waiting.ts";

/** How long a tool may take to end after its signal was aborted; then its outcome counts as unknown. */
const ABORT_GRACE_MS = 5_000;

export interface ToolCallsDeps {
  readonly runner: ToolRunner;
  readonly journal: TurnJournal;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly context: Omit<ToolContext, "toolCallId" | keyof ToolPorts>;
  readonly signal: AbortSignal;
  readonly repeats: RepeatGuard;
  readonly changes: FileChanges;
  /** Of the turn's tasks for other turns. */
  readonly delegation: Delegation;
  /** Of a file that is sent. */
  readonly fileLimits: FileLimits;
  /** A message or a file of the turn stands in the outbox. */
  onDelivered(): void;
  readonly approvals: Omit<CallApprovals, keyof ToolContext>;
  emit(event: StreamEvent): void;
}

/**
 * The turn has to wait: the calls that asked, one of them for the user's answer or some for the ends of tasks. Other parallel calls have
 * ended, later ones have not begun.
 */
export class TurnWaits extends Error {
  readonly calls: readonly AskingCall[];

  constructor(calls: readonly AskingCall[]) {
    super("The turn waits for an answer.");
    this.calls = calls;
  }
}

/** Rejects with TurnWaits when a call has asked. */
export async function runToolCalls(
  deps: ToolCallsDeps,
  calls: readonly PlannedCall[],
  step: number,
): Promise<ToolResult[]> {
  const results: ToolResult[] = [];
  deps.changes.begin(calls);
  for (const batch of batches(calls, deps.tools)) {
    deps.signal.throwIfAborted();
    const tasks = createTaskBatch();
    const outcomes = await Promise.allSettled(
      batch.map(({ call, index }) => runOne(deps, call, step, tasks).then((outcome) => ({ index, outcome }))),
    );
    const asking: AskingCall[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") throw outcome.reason;
      const { index, outcome: ended } = outcome.value;
      if ("question" in ended) asking.push(ended);
      else results[index] = ended;
    }
    if (asking.length > 0) throw new TurnWaits(withTokens(withOpenQuestions(asking), deps.delegation));
  }
  return results;
}

/** Hooks have seen the tasks, so that those are handed on; the user is asked one question at a time, and then nothing else. */
function withOpenQuestions(asking: readonly AskingCall[]): readonly AskingCall[] {
  const handsOn = asking.some(({ question }) => question !== null && question.delegate !== null);
  const first = asking.find(({ question }) => question !== null);
  return asking.map((call) => {
    const isOpen = handsOn ? call.question?.delegate !== null : call === first;
    return isOpen ? call : { ...call, question: null };
  });
}

/** How many tasks are handed on at once, and so what each of them may use, is certain when all calls have asked. */
function withTokens(asking: readonly AskingCall[], { divide }: Pick<Delegation, "divide">): readonly AskingCall[] {
  const limited = asking.filter(({ question }) => typeof question?.delegate?.limits?.tokens === "number");
  const given = divide(limited.map(({ question }) => question?.delegate?.limits?.tokens ?? 0));
  return asking.map((call) => {
    const { question } = call;
    const tokens = given[limited.indexOf(call)];
    if (tokens === undefined || !question?.delegate?.limits) return call;
    const limits = { ...question.delegate.limits, tokens };
    return { ...call, question: { ...question, delegate: { ...question.delegate, limits } } };
  });
}

async function runOne(
  deps: ToolCallsDeps,
  planned: PlannedCall,
  step: number,
  tasks: TaskBatch,
): Promise<ToolResult | AskingCall> {
  const { runner, journal, signal, context, emit } = deps;
  const { call, n, answers } = planned;
  const { asked, seen, files, approve, ...ports } = createCallPorts({
    turnId: context.turnId,
    toolCallId: call.id,
    answers,
    delegation: deps.delegation,
    approvals: { ...deps.approvals, agent: context.agent, workspace: context.workspace, owner: context.owner },
    tasks,
    note: (ordinal, text) => journal.note(n, ordinal, text),
    deliver: async (ordinal, text) => {
      await journal.deliver(`message:${n}:${ordinal}`, text);
      deps.onDelivered();
    },
    fileLimits: deps.fileLimits,
    filesBefore: async () => (await journal.files()).length,
    emit,
  });
  const asking = (): AskingCall | null => {
    const question = asked();
    return question === null ? null : { n, call, question: question === "later" ? null : question, seen: seen() };
  };
  const repeated = deps.repeats.refusal(call);
  const own = { ...context, ...ports, toolCallId: call.id };
  const prepared = repeated
    ? await runner.refuse(call, own, repeated)
    : await runner.prepare(call, { ...own, approve }, deps.tools, signal, (ran, result) =>
        deps.changes.ended({ n, call: ran }, result),
      );
  if (prepared.refused) deps.changes.refused(planned);
  const askedBefore = asking();
  if (askedBefore) return askedBefore;
  const actual = prepared.refused ? call : prepared.call;
  await journal.intention(n, actual);
  signal.throwIfAborted();
  emit({
    type: "tool.started",
    turn_id: context.turnId,
    tool_call_id: call.id,
    name: call.name,
    arguments: actual.arguments,
  });
  const ended = prepared.refused ?? (await endedInTime(prepared.run(), signal));
  // A result is ignored when the call has asked: it is executed again with the answer.
  const askedInside = asking();
  if (askedInside) return askedInside;
  const state = ended === UNKNOWN_OUTCOME ? "unknown" : ended.isError ? "failed" : "done";
  const result = deps.repeats.noted(call, ended);
  const sent = state === "done" ? files() : [];
  await journal.result(n, step, actual, state, result, sent);
  if (sent.length > 0) deps.onDelivered();
  for (const file of sent) {
    emit({ type: "turn.attachment", turn_id: context.turnId, attachment: sentAttachment(file) });
  }
  emit({
    type: "tool.finished",
    turn_id: context.turnId,
    tool_call_id: call.id,
    name: call.name,
    ok: result.isError !== true,
    result: result.content,
  });
  return result;
}

/** After an abort a tool gets a grace period; one that has not ended by then has an unknown outcome. */
async function endedInTime(running: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  const done = new AbortController();
  const ended = running
    .catch(
      (error: unknown): ToolResult => ({
        content: `${toCairnError(error).code}: ${toCairnError(error).message}`,
        isError: true,
      }),
    )
    .finally(() => done.abort());
  const overdue = aborted(signal, done.signal)
    .then(() => sleep(ABORT_GRACE_MS, UNKNOWN_OUTCOME, { signal: done.signal }))
    .catch(() => ended);
  return Promise.race([ended, overdue]);
}

/** Resolves when `signal` aborts; rejects when `unless` does. */
function aborted(signal: AbortSignal, unless: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: unless });
    unless.addEventListener("abort", () => reject(unless.reason), { once: true });
  });
}

function batches(
  calls: readonly PlannedCall[],
  tools: ReadonlyMap<string, Tool>,
): { call: PlannedCall; index: number }[][] {
  const grouped: { call: PlannedCall; index: number }[][] = [];
  let open = false;
  calls.forEach((call, index) => {
    const parallel = tools.get(call.call.name)?.parallel === true;
    const current = grouped.at(-1);
    if (parallel && open && current) current.push({ call, index });
    else grouped.push([{ call, index }]);
    open = parallel;
  });
  return grouped;
}
