/** One message as the import of a node takes it: a line of JSON, with the fields of `memory export` that it needs. */

export interface MessageLine {
  readonly session_key: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly agent: string;
  readonly channel: string;
  /** One line of at most 200 characters. */
  readonly title?: string;
  /** ISO 8601. */
  readonly created_at?: string;
  /** Makes a repeat skip the message. */
  readonly event_id: string;
}

/** What an exported conversation holds for the memory. */
export interface ReadConversation {
  readonly lines: readonly MessageLine[];
  /** Messages of it that are no conversation: hidden ones, those of tools, those of branches that were given up. */
  readonly ignored: number;
}

/** A reader of one service's conversations; null when it is none of that service. */
export type ReadExported = (conversation: unknown) => ReadConversation | null;

const LONGEST_TITLE = 200;

/** As a title may be stored; undefined when nothing of it can be seen. */
export function titleLine(title: string | null | undefined): string | undefined {
  const line = (title ?? "")
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim()
    .slice(0, LONGEST_TITLE)
    .toWellFormed()
    .trim();
  return line === "" ? undefined : line;
}
