import { expect, it } from "vitest";
import { needsReceipt, type StoredMessage } from "../../../runtime/domain/receipt.ts";

const waits: StoredMessage = { isFresh: true, isQueued: true, isBehind: true, isPassedOver: true };

it.each<[string, Partial<StoredMessage>, boolean]>([
  ["waits behind another turn", { isPassedOver: false }, true],
  ["waits since the node is full", { isBehind: false }, true],
  ["may be claimed by another node at any moment", { isBehind: false, isPassedOver: false }, false],
  ["has begun", { isQueued: false }, false],
  ["was stored before", { isFresh: false }, false],
])("a message that %s: %j", (_what, given, expected) => {
  expect(needsReceipt({ ...waits, ...given })).toBe(expected);
});
