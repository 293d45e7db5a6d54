/** Messages in parts, where they are longer than a platform takes: sent on from where an attempt ended, or changed into others. */

import type { Channel, EditResult, KeepSent } from "../../contracts/channel.ts";

/** What a channel's messages have in common; `edit` and `send` are those of the contract. */
export type PartedMessages = Pick<Channel, "send"> & Required<Pick<Channel, "edit">>;

/** For platforms that take a message twice where their first answer was not heard. */
export const MAY_REPEAT = "(This may have reached you before.)";

/** Codes of what comes before a connection: nothing of the request has left. */
export const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

export function idsOf(sent: EditResult | null | undefined): readonly string[] {
  return sent ? [sent.primary, ...sent.overflow] : [];
}

/** Sends what an earlier attempt has not sent. Each part resolves to its id. */
export async function sendParts(
  parts: readonly (() => Promise<string>)[],
  before: EditResult | null | undefined,
  keep: KeepSent | undefined,
): Promise<EditResult | null> {
  let sent = before ?? null;
  for (const part of parts.slice(idsOf(sent).length)) {
    sent = withPart(sent, await part());
    await keep?.(sent);
  }
  return sent;
}

/** `put` changes the message with the id into the piece, or sends it where there is none; `remove` takes away those that are left over. */
export async function changeParts<Piece>(
  ids: readonly string[],
  pieces: readonly Piece[],
  {
    put,
    remove,
    signal,
  }: {
    put(id: string | undefined, piece: Piece): Promise<string>;
    remove(ids: readonly string[]): Promise<void>;
    readonly signal: AbortSignal | undefined;
  },
): Promise<EditResult | null> {
  let sent: EditResult | null = null;
  for (const [index, piece] of pieces.entries()) {
    signal?.throwIfAborted();
    sent = withPart(sent, await put(ids[index], piece));
  }
  if (sent === null) return null;
  signal?.throwIfAborted();
  await remove(ids.slice(pieces.length));
  return sent;
}

function withPart(sent: EditResult | null, id: string): EditResult {
  return sent === null ? { primary: id, overflow: [] } : { ...sent, overflow: [...sent.overflow, id] };
}
