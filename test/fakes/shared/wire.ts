import type { IncomingHttpHeaders } from "node:http";
import { isRecord } from "../../../runtime/contracts/values.ts";
import type { FakeReply, RequestView } from "./script.ts";

/** An error that a server answers with, before it has the shape of its API. */
export interface WireError {
  readonly status: number;
  readonly message: string;
  readonly type?: string | undefined;
}

/** One API as it looks on the wire. The server around it is the same for all. */
export interface Wire {
  readonly name: string;
  /** Path of the chat route; a pattern where it has the model in it. */
  readonly chatPath: string | RegExp;
  /** What a client's `baseUrl` ends with. */
  readonly basePath: string;
  /** Another API of the same server. */
  readonly also?: Wire;
  /** Media type of a streamed answer; default `text/event-stream`. */
  readonly streamType?: string;
  /** The key that a request carries. */
  keyOf(headers: IncomingHttpHeaders): string | undefined;
  /** How a wrong key is refused; default 401. */
  wrongKey?(key: string | undefined): WireError;
  view(body: unknown, path: string): RequestView;
  /** What the API would refuse the request for. */
  check(body: unknown, headers: IncomingHttpHeaders, path: string): WireError | undefined;
  /** The reply as the frames of an event stream. */
  frames(reply: FakeReply, request: RequestView, number: number): readonly string[];
  /** The reply as one JSON document. */
  document(reply: FakeReply, request: RequestView, number: number): unknown;
  errorBody(error: WireError): unknown;
  errorFrame(error: WireError): string;
  /** Routes beside the chat route; undefined for an unknown one. */
  other(method: string, path: string, body: unknown): unknown;
}

/** The records of a list, wherever it comes from. */
export function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The text of a content field: a string, or the text parts of a list. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return records(content)
    .map((part) => (part["type"] === "text" ? String(part["text"]) : ""))
    .filter((text) => text !== "")
    .join("\n\n");
}

/** A rough count of tokens: enough for usage numbers that grow with the text. */
export function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}
