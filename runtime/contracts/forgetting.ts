/** The owner's erasure of messages, as routes, commands and the use case name it. */

export type Selection =
  | { readonly kind: "messages"; readonly ids: readonly string[] }
  | { readonly kind: "conversation"; readonly id: string }
  | { readonly kind: "session"; readonly key: string }
  /** Channel-side user, of all channels unless one is named. */
  | { readonly kind: "user"; readonly user: string; readonly channel?: string | undefined }
  /** Messages that hold the text, in any case. */
  | { readonly kind: "matching"; readonly text: string };

/** What an erasure would take. */
export interface ForgetPreview {
  readonly messages: number;
  readonly conversations: number;
  /** Summaries that say something of them, and are made again from what remains. */
  readonly summaries: number;
  /** The first of them, oldest first; `text` is the beginning. */
  readonly first: readonly {
    readonly id: string;
    readonly role: string;
    readonly agent: string;
    readonly created_at: string;
    readonly text: string;
  }[];
  /** Id of an erasure of the same selection that was interrupted: the next one finishes it. */
  readonly unfinished: string | null;
}

export interface ForgetReport {
  /** Null where nothing was selected. */
  readonly id: string | null;
  /** Counts of the whole erasure, what an interrupted run of it has erased included. */
  readonly messages: number;
  readonly summaries: number;
  readonly turns: number;
  readonly attachments: number;
}
