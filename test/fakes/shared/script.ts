/** What a fake model server is told to answer, and what it sees: the same for every API that is imitated. */

export interface FakeToolCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments?: unknown;
  /** The arguments as the model wrote them, in place of `arguments`: may be malformed. */
  readonly raw?: string;
}

export type FakeFault =
  /** An error response; the body has the API's own shape unless one is given. */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly message?: string;
      readonly type?: string | undefined;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** A good status with a body that is no answer. */
  | { readonly kind: "garbage"; readonly body?: string; readonly contentType?: string }
  /** The stream stops after so many events: the socket is destroyed, or the body ends as if all were well. */
  | { readonly kind: "cut"; readonly after: number; readonly how: "destroy" | "end" }
  /** Nothing more comes: before the response begins, or after so many events. */
  | { readonly kind: "hang"; readonly after?: number }
  /** The first event that holds this text is sent again and again, without an end. */
  | { readonly kind: "repeat"; readonly holding: string }
  /** An error inside the stream, in the API's own shape. */
  | { readonly kind: "error-event"; readonly after: number; readonly type: string; readonly message: string };

export interface FakeReply {
  /** Several strings are several chunks; one string is cut into words. */
  readonly text?: string | readonly string[];
  readonly reasoning?: string | readonly string[];
  /** Signature of the thinking, where the API has that. */
  readonly signature?: string;
  readonly toolCalls?: readonly FakeToolCall[];
  readonly stopReason?: "end" | "tool_calls" | "length" | "refusal";
  readonly usage?: {
    readonly input?: number;
    readonly output?: number;
    readonly cached?: number;
    readonly written?: number;
  };
  /** Milliseconds before the response begins, and between events. */
  readonly delayMs?: number;
  readonly paceMs?: number;
  /** Waits for `release(gate)`: before the response begins, or after so many events. */
  readonly hold?: { readonly gate: string; readonly after?: number };
  readonly fault?: FakeFault;
  /** The body, byte by byte, in these pieces, in place of everything above but delays. */
  readonly bytes?: readonly Uint8Array[];
}

/** What a request says, whatever the API's words for it. */
export interface RequestView {
  readonly model: string;
  readonly stream: boolean;
  /** All system text, joined with blank lines. */
  readonly system: string;
  /** Text of the newest message of the user. */
  readonly lastUser: string;
  /** Replies since that message: 0 on the first request of a turn. */
  readonly step: number;
  /** Tool results since that message, in order. */
  readonly results: readonly { readonly id: string; readonly text: string }[];
  /** Every text of the request in order. */
  readonly texts: readonly string[];
  readonly toolNames: readonly string[];
}

export interface RecordedRequest extends RequestView {
  /** 1 for the first one. */
  readonly number: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** `open` until the response is out; `closed` when the client went away before. */
  readonly state: "open" | "answered" | "closed";
}

export type FakeScript = (request: RecordedRequest) => FakeReply | Promise<FakeReply>;

/** Text of a reply as the chunks that it is sent in. */
export function chunksOf(text: string | readonly string[] | undefined): readonly string[] {
  if (text === undefined) return [];
  return typeof text === "string" ? (text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === "" ? [] : [text])) : text;
}

/** The arguments of a call as text. */
export function argumentsOf(call: FakeToolCall): string {
  return call.raw ?? JSON.stringify(call.arguments ?? {});
}

/** A text in pieces of so many characters, never through the middle of one; a long one in a hundred pieces. */
export function fragments(text: string, length = Math.max(7, Math.ceil(text.length / 100))): string[] {
  const characters = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += length) pieces.push(characters.slice(at, at + length).join(""));
  return pieces;
}
