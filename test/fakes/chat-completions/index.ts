import { startOpenAiFake } from "../openai/index.ts";
import type { FakeReply, RecordedRequest } from "../shared/script.ts";
import type { FakeOptions, FakeServer } from "../shared/server.ts";
import { answerFrom } from "./answer.ts";

/**
 * A chat model that writes about memory, on loopback: the chat-completions fake with answers that follow from what it is
 * given, reasoning beside them, and the faults that such models have.
 */

export type TextFault =
  /** Never answers, or stops in the middle of its answer. */
  | { readonly kind: "hang"; readonly inPart?: boolean }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterS?: number; readonly message?: string }
  /** The socket is destroyed in the middle of the answer. */
  | { readonly kind: "cut" }
  | { readonly kind: "garbage" }
  | { readonly kind: "empty" }
  /** Reasoning up to the limit of the answer, and no answer. */
  | { readonly kind: "reasoning-only" }
  /** More than it was allowed, by a server that does not count. */
  | { readonly kind: "over-budget"; readonly words: number }
  /** Cut off at the limit, as a server does that counts. */
  | { readonly kind: "cut-off" }
  /** Says this in place of its answer. */
  | { readonly kind: "says"; readonly text: string }
  /** Answers once `release(gate)` of the server is called. */
  | { readonly kind: "hold"; readonly gate: string };

export interface TextFakeOptions {
  /** What it answers; default `answerFrom`. */
  readonly answer?: (request: RecordedRequest) => string;
  /** Which request fails, and how; asked at each. */
  readonly fault?: (request: RecordedRequest) => TextFault | undefined;
  readonly apiKey?: FakeOptions["apiKey"];
  readonly port?: number;
  /** Tokens of a request that it says to have read; default a rough count of all of them. */
  readonly inputTokens?: (request: RecordedRequest) => number;
}

export interface TextFake extends FakeServer {
  setFault(fault: TextFakeOptions["fault"]): void;
}

export async function startTextFake(options: TextFakeOptions = {}): Promise<TextFake> {
  const { answer = answerFrom, apiKey, port, inputTokens } = options;
  let { fault } = options;
  const server = await startOpenAiFake({
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(port === undefined ? {} : { port }),
    script: (request) => ({
      ...reply(answer(request), fault?.(request)),
      ...(inputTokens === undefined ? {} : { usage: { input: inputTokens(request) } }),
    }),
  });
  return Object.assign(server, {
    setFault(next: TextFakeOptions["fault"]) {
      fault = next;
    },
  });
}

const REASONING = "Let me look at what was said, one thing after the other.";

function reply(text: string, fault: TextFault | undefined): FakeReply {
  // In one piece: an event for every word of a long answer would only take time.
  const answer: FakeReply = { reasoning: [REASONING], text: [text] };
  switch (fault?.kind) {
    case undefined:
      return answer;
    case "hang":
      return fault.inPart ? { ...answer, fault: { kind: "hang", after: 3 } } : { fault: { kind: "hang" } };
    case "status": {
      const { status, message, retryAfterS } = fault;
      const headers = retryAfterS === undefined ? {} : { headers: { "retry-after": String(retryAfterS) } };
      return { fault: { kind: "status", status, ...(message === undefined ? {} : { message }), ...headers } };
    }
    case "cut":
      return { ...answer, fault: { kind: "cut", after: 2, how: "destroy" } };
    case "garbage":
      return { fault: { kind: "garbage" } };
    case "empty":
      return { text: [] };
    case "reasoning-only":
      return { reasoning: [REASONING], stopReason: "length" };
    case "over-budget":
      return { text: [`${text}\n${"And so on it went. ".repeat(Math.ceil(fault.words / 5))}`] };
    case "cut-off":
      return { text: [text.slice(0, Math.ceil(text.length / 2))], stopReason: "length" };
    case "says":
      return { text: [fault.text] };
    case "hold":
      return { ...answer, hold: { gate: fault.gate } };
  }
}
