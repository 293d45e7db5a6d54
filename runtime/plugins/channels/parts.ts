/** Messages in parts, where they are longer than a platform takes: sent on from where an attempt ended, or changed into others. */

import type { Channel, EditResult, KeepSent, OutboundMessage } from "../../contracts/channel.ts";

/** What a channel's messages have in common; `edit` and `send` are those of the contract. */
export type PartedMessages = Pick<Channel, "send"> & Required<Pick<Channel, "edit">>;

/** Of a text of the service's own: what an earlier attempt has sent of it, and `keep` as in `Channel.send`. */
export interface SaidBefore {
  readonly sent: EditResult | null;
  readonly keep: KeepSent;
}

/** For platforms that take a message twice where their first answer was not heard. */
export const MAY_REPEAT = "(This may have reached you before.)";

/** The note where a message may be the second one: a change repeats nothing. */
export function repeatNote({ mayRepeat, sent, draft }: OutboundMessage): string {
  const isNew = idsOf(sent).length >= idsOf(draft).length;
  return mayRepeat && (isNew || draft?.unheard) ? MAY_REPEAT : "";
}

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
  const done = idsOf(sent).length;
  for (const [index, part] of parts.entries()) {
    if (index < done) continue;
    sent = withPart(sent, await part());
    await keep?.(sent, index < parts.length - 1);
  }
  return sent;
}

/**
 * `put` changes the message with the id into the piece, or sends it where there is none, or where that one cannot be changed any more: then it
 * calls `adding` first. `remove` takes away those that are left over.
 */
export async function changeParts<Piece>(
  ids: readonly string[],
  pieces: readonly Piece[],
  {
    put,
    remove,
    signal,
    keep,
  }: {
    put(id: string | undefined, piece: Piece, adding: () => Promise<void>): Promise<string>;
    remove(ids: readonly string[]): Promise<void>;
    readonly signal: AbortSignal | undefined;
    readonly keep: KeepSent | undefined;
  },
): Promise<EditResult | null> {
  const shown = [...ids];
  const kept = async (more: boolean): Promise<void> => {
    const sent = editResult(shown);
    if (sent !== null) await keep?.(sent, more);
  };
  for (const [index, piece] of pieces.entries()) {
    signal?.throwIfAborted();
    if (index === ids.length) await kept(true);
    const id = await put(ids[index], piece, () => kept(true));
    if (id === ids[index]) continue;
    shown[index] = id;
    await kept(index < pieces.length - 1);
  }
  if (pieces.length === 0) return null;
  signal?.throwIfAborted();
  await remove(ids.slice(pieces.length));
  return editResult(shown.slice(0, pieces.length));
}

function withPart(sent: EditResult | null, id: string): EditResult {
  return sent === null ? { primary: id, overflow: [] } : { ...sent, overflow: [...sent.overflow, id] };
}

function editResult([primary, ...overflow]: readonly string[]): EditResult | null {
  return primary === undefined ? null : { primary, overflow };
}
