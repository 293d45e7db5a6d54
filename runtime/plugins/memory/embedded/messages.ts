/** What passes between the main thread and the store's thread. */

export interface ThreadSettings {
  /** Directory of the database's files. */
  readonly directory: string;
}

export type ToThread =
  /** Bytes of PostgreSQL's protocol, from the client. */
  { readonly type: "bytes"; readonly bytes: Uint8Array } | { readonly type: "close" };

export type FromThread =
  | { readonly type: "ready" }
  | { readonly type: "bytes"; readonly bytes: Uint8Array }
  | { readonly type: "closed" }
  | { readonly type: "failed"; readonly message: string; readonly code?: string };
