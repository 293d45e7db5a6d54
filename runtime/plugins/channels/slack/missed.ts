/**
 * Messages that were written while nothing was received: read from the conversations in which messages were taken before. Of one that is
 * not read yet nothing newer is taken, so that its position does not pass what was missed.
 */

import { CairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { conversationOf, slackAddress } from "./address.ts";
import type { SlackApi } from "./api.ts";
import { connectionError, isGone, isRefused, refusalOf } from "./errors.ts";
import { messageOfHistory, type SlackMessage } from "./inbound.ts";
import { isLater, type Positions } from "./positions.ts";

export interface MissedDeps {
  readonly api: Pick<SlackApi, "messagesAfter">;
  readonly positions: Positions;
  readonly logger: Logger;
  /** Whether it may be for an agent. */
  isRelevant(message: SlackMessage): boolean;
}

export interface Missed {
  /** In each conversation messages may have been missed. */
  begin(): void;
  /** This one came, and was not kept. */
  add(message: SlackMessage): void;
  /** This one came: a conversation that Slack did not give out may be open again. */
  heard(message: SlackMessage): void;
  /** Gives to `found` what was missed, the oldest of each conversation first. Rejects where Slack cannot be reached. */
  read(signal: AbortSignal, found: (message: SlackMessage) => void): Promise<void>;
  /** What comes before it in its conversation is not read. */
  isHeld(message: SlackMessage): boolean;
  /** Milliseconds until there is something to read; undefined: there is nothing. */
  pauseMs(): number | undefined;
}

/** What is not read of a conversation. */
interface Gap {
  readonly after: string;
  /** When it may be read, of `performance.now()`; Infinity: once Slack gives it out again. */
  due: number;
  /** Of the page at which Slack asked for a pause. */
  cursor?: string | undefined;
  /** The oldest of the pages before. */
  oldest: SlackMessage[];
  /** More were read than there was room for. */
  isCut: boolean;
}

/** Messages that are read at once: the rest of them when these are taken. */
const MOST_READ = 1_000;
/** Whatever pause Slack asks for. */
const MOST_PAUSE_MS = 300_000;

export function createMissed({ api, positions, logger, isRelevant }: MissedDeps): Missed {
  const gaps = new Map<string, Gap>();

  function open(conversation: string, due: number): void {
    const after = positions.of(conversation);
    if (after !== undefined) gaps.set(conversation, { after, due, oldest: [], isCut: false });
  }

  /** Slack promises no order of pages: all are read, and the oldest messages are kept. */
  async function readPages(conversation: string, gap: Gap, signal: AbortSignal): Promise<void> {
    const address = slackAddress(conversation);
    do {
      const page = await api.messagesAfter(address, gap.after, gap.cursor, signal);
      const messages = page.messages.flatMap((value) => {
        const message = messageOfHistory(value, address.channel);
        // A page of a thread begins with its first message, whatever was asked for.
        return message !== undefined && isLater(message.ts, gap.after) && isRelevant(message) ? [message] : [];
      });
      gap.oldest = [...gap.oldest, ...messages].toSorted((a, b) => (isLater(a.ts, b.ts) ? 1 : -1));
      gap.isCut ||= gap.oldest.length > MOST_READ;
      gap.oldest.length = Math.min(gap.oldest.length, MOST_READ);
      gap.cursor = page.cursor;
    } while (gap.cursor !== undefined);
  }

  function fail(conversation: string, gap: Gap, error: unknown): void {
    const retryAfterS = error instanceof CairnError ? error.details.retryAfterS : undefined;
    const reason = isRefused(error) ? refusalOf(error) : connectionError(error).message;
    if (isGone(error)) {
      positions.remove(conversation);
      gaps.delete(conversation);
    } else if (isRefused(error)) {
      Object.assign(gap, { due: Number.POSITIVE_INFINITY, cursor: undefined, oldest: [], isCut: false });
    } else if (retryAfterS !== undefined) gap.due = performance.now() + Math.min(retryAfterS * 1_000, MOST_PAUSE_MS);
    else throw error;
    logger.warn({ conversation, reason }, "messages that were missed could not be read");
  }

  return {
    begin() {
      const former = new Map(gaps);
      gaps.clear();
      for (const conversation of positions.conversations()) {
        const due = former.get(conversation)?.due ?? 0;
        open(conversation, due === Number.POSITIVE_INFINITY ? 0 : due);
      }
    },
    add(message) {
      const conversation = conversationIn(message);
      open(conversation, gaps.get(conversation)?.due ?? 0);
    },
    heard(message) {
      const gap = gaps.get(conversationIn(message));
      if (gap?.due === Number.POSITIVE_INFINITY) gap.due = 0;
    },
    async read(signal, found) {
      let count = 0;
      for (const [conversation, gap] of [...gaps]) {
        if (signal.aborted || count >= MOST_READ) return;
        if (gap.due > performance.now()) continue;
        try {
          await readPages(conversation, gap, signal);
        } catch (error) {
          fail(conversation, gap, error);
          continue;
        }
        for (const message of gap.oldest) found(message);
        count += gap.oldest.length;
        // One that was opened meanwhile is read by itself.
        if (gaps.get(conversation) !== gap) continue;
        const last = gap.oldest.at(-1);
        if (gap.isCut && last) gaps.set(conversation, { after: last.ts, due: 0, oldest: [], isCut: false });
        else gaps.delete(conversation);
      }
    },
    isHeld(message) {
      const gap = gaps.get(conversationIn(message));
      return gap !== undefined && isLater(message.ts, gap.after);
    },
    pauseMs() {
      const due = Math.min(...[...gaps.values()].map((gap) => gap.due));
      return due === Number.POSITIVE_INFINITY ? undefined : Math.max(0, due - performance.now());
    },
  };
}

function conversationIn({ channel, thread }: SlackMessage): string {
  return conversationOf(channel, thread);
}
