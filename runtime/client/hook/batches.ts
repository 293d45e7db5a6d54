/** Collects what a session holds into batches, and attaches the thinking to what followed from it. */

import type { CaptureBatch, CaptureEvent } from "../../contracts/capture.ts";
import { cap } from "../../domain/cap.ts";
import { elided, type Harness, type SessionPiece, titleFrom } from "../../domain/harnesses/event.ts";
import { visibleText } from "../../domain/prompt-data.ts";
import type { CaptureClient } from "../capture/types.ts";

const MAX_EVENTS = 400;
const MAX_UNITS = 4 * 1024 * 1024;
/** The node refuses a longer title, and the whole batch with it. */
const MAX_TITLE = 200;

/** Where a piece is on the disk, as metadata of its events. */
export interface Pointer {
  readonly [key: string]: string | number;
}

interface Thinking {
  length: number;
  readonly pointer: Pointer;
}

export interface BatchesOptions {
  readonly client: Pick<CaptureClient, "send">;
  readonly harness: Harness;
  readonly sessionKey: string;
  readonly signal: AbortSignal;
  /** What to call the session where it has no name yet; undefined: the user's first message. */
  readonly title?: string | undefined;
  /** Whether the session is read from its start. */
  readonly fromStart: boolean;
}

export class Batches {
  readonly #options: BatchesOptions;
  #events: CaptureEvent[] = [];
  #units = 0;
  #title: string | undefined;
  #thinking: Thinking | null = null;
  #sent = 0;

  constructor(options: BatchesOptions) {
    this.#options = options;
    this.#title = options.title;
  }

  /** Events that have been sent or are in the spool. */
  get sent(): number {
    return this.#sent;
  }

  /** Whether thinking was read whose consequence was not: it must be read again the next time. */
  get isThinking(): boolean {
    return this.#thinking !== null;
  }

  get isFull(): boolean {
    return this.#events.length >= MAX_EVENTS || this.#units >= MAX_UNITS;
  }

  /** `reasoningPointer` is where a piece of thinking begins, as metadata of the event that will follow. */
  add(piece: SessionPiece, pointer: Pointer, reasoningPointer: Pointer): void {
    if (piece.title !== undefined) this.#title = piece.title;
    if (piece.reasoning) {
      this.#thinking ??= { length: 0, pointer: reasoningPointer };
      this.#thinking.length += piece.reasoning.length;
    }
    for (const event of piece.events) {
      const thinking = event.role === "assistant" ? this.#thinking : null;
      const metadata = { ...event.metadata, ...pointer, ...thinking?.pointer };
      this.#events.push(elided({ ...event, metadata }, thinking ?? undefined));
      this.#units += (event.content?.length ?? 0) + (event.tool_result?.length ?? 0) + 1_000;
      this.#thinking = null;
      if (event.role === "user" && this.#options.fromStart) this.#title ??= titleFrom(event.content ?? "");
    }
  }

  /** Resolves once the events are at the node or on disk; rejects as CaptureClient.send does. */
  async flush(finalize = false): Promise<void> {
    if (this.#events.length === 0 && !finalize) return;
    const { client, harness, sessionKey, signal } = this.#options;
    const batch: CaptureBatch = {
      session_key: sessionKey,
      agent: harness,
      channel: harness,
      source: `${harness}-hook`,
      ...(this.#title === undefined
        ? {}
        : { title: cap(visibleText(this.#title).replaceAll("\n", " "), MAX_TITLE).text }),
      events: this.#events,
      ...(finalize ? { finalize } : {}),
    };
    await client.send(batch, { signal });
    this.#sent += this.#events.length;
    this.#events = [];
    this.#units = 0;
  }
}
