/** Messages that were written while nothing was received: read from the conversations in which messages were taken before. */

import { CairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { slackAddress } from "./address.ts";
import type { SlackApi } from "./api.ts";
import { connectionError, isGone, isRefused, refusalOf } from "./errors.ts";
import { messageOfHistory, type SlackMessage } from "./inbound.ts";
import { isLater, type Positions } from "./positions.ts";

export interface MissedDeps {
  readonly api: Pick<SlackApi, "messagesAfter">;
  readonly positions: Positions;
  readonly logger: Logger;
}

export interface Missed {
  /** Gives each one to `found`, in no order. Rejects where Slack cannot be reached. */
  read(signal: AbortSignal, found: (message: SlackMessage) => void): Promise<void>;
}

export function createMissed({ api, positions, logger }: MissedDeps): Missed {
  async function readOne(conversation: string, signal: AbortSignal, found: (message: SlackMessage) => void) {
    const address = slackAddress(conversation);
    const after = positions.of(conversation);
    if (after === undefined) return;
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await api.messagesAfter(address, after, cursor, signal);
      for (const value of page.messages) {
        const message = messageOfHistory(value, address.channel);
        // A page of a thread begins with its first message, whatever was asked for.
        if (message !== undefined && isLater(message.ts, after)) found(message);
      }
      cursor = page.cursor;
    }
  }

  return {
    async read(signal, found) {
      for (const conversation of positions.conversations()) {
        if (signal.aborted) return;
        try {
          await readOne(conversation, signal, found);
        } catch (error) {
          if (isGone(error)) positions.remove(conversation);
          // Slack asks for a pause: what comes now does not wait for it.
          const isAsked = error instanceof CairnError && error.details.retryAfterS !== undefined;
          if (!isAsked && !isRefused(error)) throw error;
          const reason = isRefused(error) ? refusalOf(error) : connectionError(error).message;
          logger.warn({ conversation, reason }, "messages that were missed could not be read");
        }
      }
    },
  };
}
