/**
 * The agent loop: ask the model, run the tools that it asks for, ask again, until it answers without tools or the
 * iteration cap is hit. Between iterations it checks the abort signal and the steer queue. Started with the steps of an
 * earlier attempt it goes on where that one stopped (turn-resume.ts).
 */

import type { Message, ToolCall, Usage } from "../../contracts/message.ts";
import { NO_USAGE } from "../../contracts/message.ts";
import type { ChatReply } from "../../contracts/provider.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { sanitize, sanitizeJson } from "../../domain/cap.ts";
import type { InterruptedReply } from "./model-caller.ts";
import { addUsage, type PlannedCall, replyMessages, resultMessages, resumeTurn, steerMessage } from "./turn-resume.ts";
import type { Steer, StoredReply, StoredStep } from "./turn-rows.ts";

export interface LoopPorts {
  /** Whether the turn is the owner's: only then is a steer shown with the role of the system. */
  readonly owner: boolean;
  /** Random, made for this attempt: marks replies of other agents as data. */
  readonly mark: string;
  /** One reply; text is passed to `say` as it arrives. `interrupted`: see ModelCall.onInterrupted. */
  ask(
    messages: readonly Message[],
    say: (text: string) => void,
    interrupted: (reply: InterruptedReply) => Promise<readonly Message[]>,
  ): Promise<ChatReply>;
  /** Runs the calls of one reply, whose step is `step`; results in the order of the calls. `turn`: its messages, that reply the last. */
  runTools(calls: readonly PlannedCall[], step: number, turn: readonly Message[]): Promise<readonly ToolResult[]>;
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
  /** Models whose replies broke off and were continued by another one. */
  readonly interrupted: readonly string[];
  readonly stopReason: ChatReply["stopReason"];
}

/** What a turn has said and done so far; readable while the loop runs, so that an aborted turn keeps it. */
export class LoopProgress {
  /** All text so far, replies separated by a blank line: the sum of the deltas that were emitted. */
  text = "";
  /** Text of the reply that is being streamed. */
  partial = "";
  usage: Usage = NO_USAGE;
  interrupted: readonly string[] = [];
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
  const resumed = resumeTurn(steps, ports.owner, ports.mark);
  const messages = [...base, ...resumed.messages];
  const usedCallIds = new Set(resumed.callIds);
  let { iterations, pending } = resumed;
  progress.nextStep = resumed.nextStep;
  progress.usage = resumed.usage;
  progress.interrupted = resumed.interrupted;
  for (const text of resumed.texts) {
    separate();
    progress.text += text;
    ports.emitText(text);
  }
  for (const { n, replyStep, call, result } of resumed.unknown) await ports.recordUnknown(n, replyStep, call, result);

  for (;;) {
    signal.throwIfAborted();
    if (pending) {
      const { calls, step, asked } = pending;
      const ran = await ports.runTools(calls, step, messages.slice(base.length));
      const results = new Map(pending.results);
      for (const [index, { call }] of calls.entries()) {
        const result = ran[index];
        if (result) results.set(call.id, result);
      }
      messages.push(...resultMessages(asked, results));
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
      const { text, usage, interrupted } = progress;
      if (await ports.finish({ text, usage, last, capped, interrupted, stopReason: reply.stopReason })) return;
    }
    const stored: StoredReply = capped ? { ...reply, toolCalls: [] } : reply;
    await ports.recordReply(n, toStored(stored, progress.partial));
    progress.partial = "";
    messages.push(...replyMessages(stored));
    if (stored.toolCalls.length > 0) {
      iterations++;
      pending = { calls: stored.toolCalls.map(planned), step: n, asked: stored.toolCalls, results: new Map() };
    }
  }

  function planned(call: ToolCall): PlannedCall {
    return { call, n: progress.nextStep++, answers: [] };
  }

  async function ask(): Promise<ChatReply> {
    progress.partial = "";
    const say = (said: string): void => {
      // NUL cannot be stored; what is stored is what was streamed.
      const text = said.replaceAll("\0", "\uFFFD");
      if (text === "") return;
      if (progress.partial === "") separate();
      progress.partial += text;
      progress.text += text;
      ports.emitText(text);
    };
    const reply = await ports.ask(messages, say, interrupted);
    progress.usage = addUsage(progress.usage, reply.usage);
    return { ...reply, toolCalls: uniqueCalls(reply.toolCalls, progress.nextStep) };
  }

  /** Keeps what was said of a reply that broke off: the next model goes on from it, also after a crash. */
  async function interrupted({ model, usage }: InterruptedReply): Promise<readonly Message[]> {
    const half: StoredReply = { text: progress.partial, toolCalls: [], usage, model, interrupted: true };
    await ports.recordReply(progress.nextStep++, half);
    progress.partial = "";
    progress.usage = addUsage(progress.usage, usage);
    progress.interrupted = [...progress.interrupted, model];
    messages.push(...replyMessages(half));
    return messages;
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
}

/** Ids stand in an index, names in messages; no built-in tool has a longer one. */
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
