/**
 * Messages that are to be taken, in the order of each conversation: those that were missed are read from Discord, before those that the
 * gateway brings. More than fit into memory are dropped, and read again when there is room.
 */

import type { ReceivedMessage } from "./inbound.ts";
import { before, type Positions } from "./positions.ts";

export interface BacklogDeps {
  readonly positions: Positions;
  isOwner(message: ReceivedMessage): boolean;
  /** Whether it may be for an agent. */
  isRelevant(message: ReceivedMessage): boolean;
  /** False where it is for none. Rejects where it is to come again. */
  take(message: ReceivedMessage): Promise<boolean>;
  /** It is to be taken after others. */
  notice(message: ReceivedMessage): void;
  /** Messages after one. */
  read(conversation: string, after: string): Promise<MissedMessages | "gone" | "closed">;
  /** Stores the positions. */
  store(): Promise<void>;
  /** A message was taken, or there is none to take. */
  progress(): void;
}

export interface MissedMessages {
  readonly messages: readonly ReceivedMessage[];
  /** After which there may be more; undefined where there are none. */
  readonly next: string | undefined;
}

export interface Backlog {
  /** From the gateway. Rejects where the position of a conversation that is a new one could not be stored. */
  put(message: ReceivedMessage): Promise<void>;
  /** Whatever may have been missed. */
  readAgain(): void;
  /** Takes what there is, one after the other, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const MOST_WAITING = 1_000;

export function createBacklog(deps: BacklogDeps): Backlog {
  const { positions, isOwner, isRelevant, take, notice, read, store, progress } = deps;
  const waiting: ReceivedMessage[] = [];
  const behind = new Set<string>();
  /** Conversations that the bot may not read for now: the next message says that it may again. */
  const closed = new Set<string>();
  /** What may have been missed is read, or about to be. */
  let isComplete = false;
  /** Nothing is missing, nothing waits, and nothing is being taken. */
  let isIdle = false;
  let resume: () => void = () => undefined;

  function wake(): void {
    isIdle = false;
    resume();
  }

  async function takeNext(message: ReceivedMessage, signal: AbortSignal): Promise<void> {
    if (signal.aborted || !positions.isNew(message)) return;
    if (!isRelevant(message)) return positions.advance(message.channel_id, message.id);
    const isTaken = await take(message).catch((error: unknown) => {
      // What waits is lost with this connection: it is read again, also in conversations that are not read else.
      for (const { channel_id: conversation, id } of [message, ...waiting]) {
        if (positions.of(conversation) === undefined) positions.advance(conversation, before(id));
      }
      throw error;
    });
    // It comes again, to this receiver or the next one, which know it by its key.
    if (signal.aborted) return;
    // Strangers must not fill the positions with conversations of theirs.
    if (!isTaken && positions.of(message.channel_id) === undefined) return;
    positions.advance(message.channel_id, message.id);
    if (isTaken) await store();
    progress();
  }

  async function catchUp(conversation: string, signal: AbortSignal): Promise<void> {
    behind.delete(conversation);
    for (let after = positions.of(conversation); after !== undefined && !signal.aborted; ) {
      const page = await read(conversation, after);
      if (page === "gone") return positions.remove(conversation);
      if (page === "closed") {
        closed.add(conversation);
        return;
      }
      const messages = page.messages.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
      for (const message of messages) if (positions.isNew(message) && isRelevant(message)) notice(message);
      for (const message of messages) await takeNext(message, signal);
      after = page.next;
    }
  }

  return {
    async put(message) {
      const { channel_id: conversation, id } = message;
      if (!isRelevant(message)) {
        // So that it need not be read after the next connection.
        if (isIdle && positions.of(conversation) !== undefined) positions.advance(conversation, id);
        return;
      }
      if (positions.isNew(message)) notice(message);
      if (closed.delete(conversation)) {
        // What was missed comes before it, and this message with it.
        behind.add(conversation);
        return wake();
      }
      // From the owner's first message on a conversation is one that is read.
      const isFirst = positions.of(conversation) === undefined && isOwner(message);
      if (isFirst) positions.advance(conversation, before(id));
      if (waiting.length < MOST_WAITING) waiting.push(message);
      else if (positions.of(conversation) !== undefined) behind.add(conversation);
      wake();
      // At once: it may wait for long behind others, and is read after a crash only where its conversation is known by then.
      if (isFirst) await store();
    },
    readAgain() {
      for (const conversation of positions.conversations()) behind.add(conversation);
      isComplete = true;
      wake();
    },
    async run(signal) {
      signal.addEventListener("abort", () => wake(), { once: true });
      while (!signal.aborted) {
        // Of a conversation that is read again, nothing newer is taken before.
        const [conversation] = behind;
        const message = conversation === undefined ? waiting.shift() : undefined;
        if (conversation !== undefined) await catchUp(conversation, signal);
        else if (message !== undefined) await takeNext(message, signal);
        else {
          isIdle = isComplete;
          progress();
          const woken = Promise.withResolvers<void>();
          resume = woken.resolve;
          await woken.promise;
        }
      }
    },
  };
}
