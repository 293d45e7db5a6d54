/** What passes between the main thread and the store's thread. */

export interface ThreadSettings {
  /** Directory of the database's files. */
  readonly directory: string;
  /** Files that were last changed before this (milliseconds since 1970) are known to be on the disk. */
  readonly syncedBefore?: number;
  /** PGlite's WebAssembly, compiled. */
  readonly program: object;
}

export type ToThread =
  /** Bytes of PostgreSQL's protocol, from the client; `relaxed`: what they write may be lost in a power cut. */
  { readonly type: "bytes"; readonly bytes: Uint8Array; readonly relaxed: boolean } | { readonly type: "close" };

export type FromThread =
  | { readonly type: "ready" }
  | { readonly type: "bytes"; readonly bytes: Uint8Array }
  | { readonly type: "closed" }
  /** The engine's last message, and whether it ended for want of disk space. */
  | { readonly type: "failed"; readonly lines: readonly string[]; readonly full: boolean };
