/**
 * The agent loop: ask the model, run the tools that it asks for, ask again, until it answers without tools or the
 * iteration cap is hit. Between iterations it looks at the abort signal and the steer queue. Started with the steps of an
 * earlier attempt it goes on where that one stopped; a call whose outcome is unknown is never run again.
 */

import type { Message, ToolCall, Usage } from "../../contracts/message.ts";
import { NO_USAGE } from "../../contracts/message.ts";
import type { ChatReply } from "../../contracts/provider.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { sanitize, sanitizeJson } from "../../domain/cap.ts";
import type { Steer, StoredAnswer, StoredReply, StoredStep } from "./turn-rows.ts";

export interface LoopPorts {
  /** Whether the turn is the owner's: only then is a steer shown with the role of the system. */
  readonly owner: boolean;
  /** One reply; text is passed to `say` as it arrives. */
  ask(messages: readonly Message[], say: (text: string) => void): Promise<ChatReply>;
  /** Runs the calls of one reply, whose step is `step`; results in the order of the calls. */
  runTools(calls: readonly PlannedCall[], step: number): Promise<readonly ToolResult[]>;
  takeSteers(): Promise<readonly Steer[]>;
  recordReply(n: number, reply: StoredReply): Promise<void>;
  recordSteer(n: number, steer: Steer): Promise<void>;
  /** A call of an earlier attempt that was begun and has no result. */
  recordUnknown(n: number, replyStep: number, call: ToolCall, result: ToolResult): Promise<void>;
  /** Ends the turn with this text; false when a steer has come in between, then the loop goes on. */
  finish(end: LoopEnd): Promise<boolean>;
  emitText(text: string): void;
}

export interface LoopEnd {
  /** All text of the turn, as it was streamed. */
  readonly text: string;
  readonly usage: Usage;
  /** The last reply, whose own text is not recorded yet. */
  readonly last: { readonly n: number; readonly text: string; readonly model: string };
  readonly capped: boolean;
  readonly stopReason: ChatReply["stopReason"];
}

/** A call that is to run, at its step. */
export interface PlannedCall {
  readonly call: ToolCall;
  readonly n: number;
  /** To the questions that it asked, and the tasks that it handed on, in earlier attempts. */
  readonly answers: readonly StoredAnswer[];
}

interface PendingCalls {
  readonly calls: readonly PlannedCall[];
  readonly step: number;
}

export const UNKNOWN_OUTCOME: ToolResult = {
  content:
    "TOOL_OUTCOME_UNKNOWN: the service was interrupted while this call ran. It may or may not have taken effect; it was not run again. Check before you repeat it.",
  isError: true,
};

/** What a turn has said and done so far; readable while the loop runs, so that an aborted turn keeps it. */
export class LoopProgress {
  /** All text so far, replies separated by a blank line: the sum of the deltas that were emitted. */
  text = "";
  /** Text of the reply that is being streamed. */
  partial = "";
  usage: Usage = NO_USAGE;
  nextStep = 1;
}

export async function runAgentLoop(
  ports: LoopPorts,
  base: readonly Message[],
  steps: readonly StoredStep[],
  maxIterations: number,
  signal: AbortSignal,
  progress: LoopProgress,
): Promise<void> {
  const messages = [...base];
  const usedCallIds = new Set<string>();
  let iterations = 0;
  let pending: PendingCalls | null = await replay();

  for (;;) {
    signal.throwIfAborted();
    if (pending) {
      const { calls, step }: PendingCalls = pending;
      const results = await ports.runTools(calls, step);
      calls.forEach(({ call }, index) => {
        messages.push(toolMessage(call, results[index] ?? UNKNOWN_OUTCOME));
      });
      pending = null;
    }
    signal.throwIfAborted();
    // A turn that has only just begun has no steers yet: its first words need not wait for the question.
    if (progress.nextStep > 1) await steer();

    const reply = await ask();
    signal.throwIfAborted();
    const n = progress.nextStep++;
    const wantsTools = reply.toolCalls.length > 0;
    const capped = wantsTools && iterations >= maxIterations;
    if (!wantsTools || capped) {
      const last = { n, text: progress.partial, model: reply.model };
      if (
        await ports.finish({ text: progress.text, usage: progress.usage, last, capped, stopReason: reply.stopReason })
      )
        return;
    }
    const stored: StoredReply = capped ? { ...reply, toolCalls: [] } : reply;
    await ports.recordReply(n, toStored(stored, progress.partial));
    progress.partial = "";
    messages.push(replyMessage(stored));
    if (stored.toolCalls.length > 0) {
      iterations++;
      pending = { calls: stored.toolCalls.map(planned), step: n };
    }
  }

  function planned(call: ToolCall): PlannedCall {
    return { call, n: progress.nextStep++, answers: [] };
  }

  async function ask(): Promise<ChatReply> {
    progress.partial = "";
    const reply = await ports.ask(messages, (said) => {
      // NUL cannot be stored; what is stored is what was streamed.
      const text = said.replaceAll("\0", "\uFFFD");
      if (text === "") return;
      if (progress.partial === "") separate();
      progress.partial += text;
      progress.text += text;
      ports.emitText(text);
    });
    progress.usage = addUsage(progress.usage, reply.usage);
    return { ...reply, toolCalls: uniqueCalls(reply.toolCalls, progress.nextStep) };
  }

  async function steer(): Promise<void> {
    for (const message of await ports.takeSteers()) {
      await ports.recordSteer(progress.nextStep++, message);
      messages.push(steerMessage(message.text, ports.owner));
    }
  }

  /** Between two replies stands a blank line, in the stream as in the text. */
  function separate(): void {
    if (progress.text === "") return;
    progress.text += "\n\n";
    ports.emitText("\n\n");
  }

  /** Ids name calls within the whole turn; some servers number them anew in every reply. */
  function uniqueCalls(calls: readonly ToolCall[], step: number): ToolCall[] {
    return calls.map((call, index) => {
      const given = call.id.length <= LONGEST_NAME ? sanitize(call.id) : "";
      const id = given === "" || usedCallIds.has(given) ? `${given || "call"}-${step}-${index}` : given;
      usedCallIds.add(id);
      return { id, name: sanitize(call.name.slice(0, LONGEST_NAME)), arguments: storableArguments(call.arguments) };
    });
  }

  /** Rebuilds the messages of an earlier attempt; returns the calls that were never begun, or that have asked. */
  async function replay(): Promise<PendingCalls | null> {
    let open: PendingCalls | null = null;
    const outcomes = new Map(steps.flatMap((step) => (step.kind === "tool" ? [[step.call.id, step] as const] : [])));
    progress.nextStep = Math.max(0, ...steps.map((step) => step.n)) + 1;
    for (const step of steps) {
      if (step.kind === "steer") messages.push(steerMessage(step.text, ports.owner));
      if (step.kind !== "reply") continue;
      messages.push(replyMessage(step.reply));
      if (step.reply.text !== "") {
        separate();
        progress.text += step.reply.text;
        ports.emitText(step.reply.text);
      }
      progress.usage = addUsage(progress.usage, step.reply.usage);
      if (step.reply.toolCalls.length > 0) iterations++;
      const unbegun: PlannedCall[] = [];
      for (const call of step.reply.toolCalls) {
        usedCallIds.add(call.id);
        const outcome = outcomes.get(call.id);
        if (!outcome) unbegun.push(planned(call));
        else if (outcome.state === "asked") unbegun.push({ call, n: outcome.n, answers: outcome.answers });
        else if (outcome.result) messages.push(toolMessage(call, outcome.result));
        else {
          const unknown = unknownOutcome(outcome.answers);
          await ports.recordUnknown(outcome.n, step.n, call, unknown);
          messages.push(toolMessage(call, unknown));
        }
      }
      if (unbegun.length > 0) open = { calls: unbegun, step: step.n };
    }
    return open;
  }
}

/** What the user or another agent has answered is known all the same. */
function unknownOutcome(answers: readonly StoredAnswer[]): ToolResult {
  const given = answers.flatMap((answer) => (answer.kind === "answered" ? [JSON.stringify(answer.text)] : []));
  const replies = answers.flatMap((answer) =>
    answer.kind === "delegated" && answer.outcome.ok ? [JSON.stringify(answer.outcome.text)] : [],
  );
  const details = [
    ...(given.length > 0 ? [` The user had answered: ${given.join(", ")}.`] : []),
    ...(replies.length > 0 ? [` The other agent had replied: ${replies.join(", ")}.`] : []),
  ];
  return { ...UNKNOWN_OUTCOME, content: `${UNKNOWN_OUTCOME.content}${details.join("")}` };
}

/** Ids stand in an index, names in messages; no tool of ours has a longer one. */
const LONGEST_NAME = 256;

/** Arguments as they can be stored; what nests too deeply for that counts as malformed. */
function storableArguments(given: ToolCall["arguments"]): ToolCall["arguments"] {
  try {
    // Stays an object, as it was one.
    return sanitizeJson(given) as Record<string, unknown>;
  } catch {
    return { __invalid_json: "nested too deeply" };
  }
}

function toStored(reply: StoredReply, text: string): StoredReply {
  return {
    text,
    toolCalls: reply.toolCalls,
    usage: reply.usage,
    model: reply.model,
    ...(reply.state ? { state: reply.state } : {}),
  };
}

function replyMessage(reply: StoredReply): Message {
  return {
    role: "assistant",
    content: reply.text,
    ...(reply.toolCalls.length > 0 ? { toolCalls: reply.toolCalls } : {}),
    ...(reply.state ? { providerState: reply.state } : {}),
  };
}

function toolMessage(call: ToolCall, result: ToolResult): Message {
  return { role: "tool", toolCallId: call.id, content: result.content, ...(result.isError ? { isError: true } : {}) };
}

/** No word of another user has the role of the system. */
function steerMessage(text: string, owner: boolean): Message {
  const content = `The user adds, while you work: ${text}`;
  return owner ? { role: "system", content } : { role: "user", content, aside: true };
}

export function addUsage(a: Usage, b: Usage): Usage {
  const cacheWriteInputTokens = (a.cacheWriteInputTokens ?? 0) + (b.cacheWriteInputTokens ?? 0);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: (a.cachedInputTokens ?? 0) + (b.cachedInputTokens ?? 0),
    ...(cacheWriteInputTokens > 0 ? { cacheWriteInputTokens } : {}),
  };
}
