/** Input and results of the capture client. */

import type { CaptureBatch, CaptureResult } from "../../contracts/capture.ts";
import type { CertificatePin } from "../../contracts/certificates.ts";
import type { ErrorBody } from "../../contracts/errors.ts";

export interface CaptureClientOptions {
  /** For example `http://127.0.0.1:7433`. */
  readonly baseUrl: string;
  /** A token of the scope `capture`. */
  readonly token: string;
  /** The only certificates that the node may show, as in ClientOptions. */
  readonly certificate?: CertificatePin | undefined;
  /** A directory of its own, made 0700; several processes may share it. */
  readonly spoolDirectory: string;
  /** Milliseconds that one request may take; default 10,000. */
  readonly timeoutMs?: number;
  /** Bytes that waiting files may have together; default 256 MiB. What would go beyond is refused, never dropped. */
  readonly maxSpoolBytes?: number;
  /** Called with warnings for the user; nothing of it is thrown. */
  readonly onProblem?: (problem: SpoolProblem) => void;
  readonly fetch?: typeof fetch;
  /** Milliseconds since 1970; default the system's clock. */
  readonly now?: () => number;
}

export type SpoolProblem =
  /** The node refused a batch for good; the file has it, and the reason. */
  | { readonly kind: "dead"; readonly file: string; readonly status: number; readonly error: ErrorBody }
  /** A file that is no whole batch, set aside in `bad/`. */
  | { readonly kind: "bad-file"; readonly file: string; readonly reason: string }
  /** The waiting files take more than 80 % of what they may. */
  | { readonly kind: "nearly-full"; readonly bytes: number; readonly maxBytes: number };

/** What became of a batch: at the node, in the spool, or refused by the node and kept in `dead/`. */
export type Delivery =
  | { readonly outcome: "stored"; readonly result: CaptureResult }
  | { readonly outcome: "spooled"; readonly reason: string }
  | { readonly outcome: "dead"; readonly status: number; readonly error: ErrorBody };

export interface SendReport {
  /** One for each request that the batch was split into, in order. */
  readonly deliveries: readonly Delivery[];
  readonly replay: ReplayReport;
}

export interface ReplayReport {
  /** Files that the node has now. */
  readonly stored: number;
  /** Files that the node refused for good. */
  readonly dead: number;
  /** Files that still wait. */
  readonly waiting: number;
  /** Why the rest waits, where the node has refused it. */
  readonly reason?: string;
}

export interface SpoolStatus {
  readonly directory: string;
  readonly waiting: number;
  readonly dead: number;
  readonly bad: number;
  /** Of the waiting files. */
  readonly bytes: number;
  /** When the oldest waiting file was written, ISO 8601. */
  readonly oldest: string | null;
}

export interface CaptureClient {
  /**
   * Replays at most 50 of the oldest spooled files, then posts the batch, in parts where it is larger than a request
   * may be. What the node cannot take now is in the spool, on disk, when this resolves. Never overtakes an earlier
   * batch of the same session. Rejects when nothing could be kept either: MEMORY_SPOOL_FULL, MEMORY_SPOOL_UNWRITABLE;
   * what came before in the batch is safe then, and sending the whole again is harmless. Once the signal aborts the
   * node gets no more requests: the rest goes to the spool.
   */
  send(batch: CaptureBatch, options?: { readonly signal?: AbortSignal }): Promise<SendReport>;
  /** Only the replay, as far as the node takes files; `limit` files at most (default 50). */
  replay(options?: { readonly signal?: AbortSignal; readonly limit?: number }): Promise<ReplayReport>;
  status(): Promise<SpoolStatus>;
  /** Lets the dead files wait again, oldest first; answers how many. */
  requeueDead(): Promise<number>;
}
