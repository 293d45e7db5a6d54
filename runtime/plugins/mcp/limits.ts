/** Bounds on what a server may send; a server that exceeds one is disconnected, or loses the tool. */

/** One message: a result, or a page of the list. */
export const MAX_MESSAGE_BYTES = 8 * 1024 ** 2;
/** Tools of one server; further ones are left out. */
export const MAX_TOOLS = 1_000;
export const MAX_PAGES = 100;
/** Characters of the whole list, all pages together; a server with more is disconnected. */
export const MAX_LIST_CHARS = 8 * 1024 ** 2;
/** Characters of what a server says of one tool, before anything of it is read. */
export const MAX_TOOL_CHARS = 262_144;
/** Names, descriptions and schemas of the tools of one server that are offered: each call of a model has them all in it. */
export const MAX_OFFERED_CHARS = 250_000;
/** Milliseconds until a server must be connected, and until it must have listed its tools. */
export const CONNECT_MS = 30_000;
export const LIST_MS = 30_000;
/** Milliseconds for an answer to the question whether it is still there. */
export const PING_MS = 5_000;
/** Milliseconds between two such questions to a server over HTTP, whose end is not seen otherwise. */
export const PING_EVERY_MS = 30_000;
/** Milliseconds from the news of a changed list until it is read: many at once are one. */
export const CHANGES_MS = 500;
/** The same for a server that goes on and on: it doubles up to here, and begins anew after as long without news. */
export const LONGEST_CHANGES_MS = 30_000;
/** Requests, notices and what is no message, in as many milliseconds; a server with more is disconnected. */
export const MAX_UNASKED = 5_000;
export const UNASKED_MS = 10_000;
/** Milliseconds between two reports of a call's progress. */
export const PROGRESS_MS = 250;
/** The longest wait that a Node timer can hold. */
export const LONGEST_TIMER_MS = 2_147_483_647;
