/**
 * Shows the author of a message that has to wait that it was taken, by a reaction of the platform. It is a courtesy: neither the message nor
 * its turn waits for it, and one that fails is not repeated.
 */

import type { AcceptedMessage, Channel, InboundMessage } from "../../contracts/channel.ts";
import type { Logger } from "../../contracts/ports.ts";
import { needsReceipt, RECEIPT } from "../../domain/receipt.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Placement } from "./placement.ts";
import type { TurnStore } from "./turn-store.ts";

export interface Receipts {
  /** Of a message that the inbox has stored, and whose turn may have been claimed. */
  show(message: InboundMessage, accepted: AcceptedMessage): void;
}

export interface ReceiptsDeps {
  readonly channels: ReadonlyMap<string, Pick<Channel, "react">>;
  readonly store: Pick<TurnStore, "standing">;
  readonly dispatcher: Pick<Dispatcher, "claimed">;
  readonly placement: Pick<Placement, "hosted">;
  readonly logger: Logger;
}

/** Under way at once: of a burst the others get none, since each is a request to a platform that counts them. */
const MOST_SHOWN = 20;

export function createReceipts({ channels, store, dispatcher, placement, logger }: ReceiptsDeps): Receipts {
  let pending = 0;

  async function showOne({ address, messageId = "" }: InboundMessage, accepted: AcceptedMessage): Promise<void> {
    const isHere = placement.hosted().includes(accepted.agent);
    if (isHere) await dispatcher.claimed();
    const standing = await store.standing(accepted.turnId);
    if (!needsReceipt({ isFresh: accepted.fresh, ...standing, isPassedOver: isHere })) return;
    await channels.get(address.channel)?.react?.(address.conversation, messageId, RECEIPT);
  }

  return {
    show(message, accepted) {
      const { address, messageId } = message;
      const canReact = channels.get(address.channel)?.react !== undefined;
      if (!canReact || messageId === undefined || !accepted.fresh || pending >= MOST_SHOWN) return;
      pending++;
      showOne(message, accepted)
        .catch((err: unknown) =>
          logger.debug({ err, channel: address.channel, turnId: accepted.turnId }, "a reaction could not be shown"),
        )
        .finally(() => pending--);
    },
  };
}
