/** When a message of Telegram was sent, of which the platform says the second. */

import { expect, it } from "vitest";
import { sentAt } from "../../../../../runtime/plugins/channels/telegram/inbound.ts";

const SECOND = Date.UTC(2026, 0, 1, 12, 0, 0) / 1_000;

it.each([
  ["received in the same second", 400, "2026-01-01T12:00:00.400Z"],
  ["received later", 90_000, "2026-01-01T12:00:00.999Z"],
  ["where the receiver's clock is behind", -5_000, "2026-01-01T12:00:00.000Z"],
])("is within the second: %s", (_, after, expected) => {
  expect(sentAt(SECOND, SECOND * 1_000 + after)).toBe(expected);
});
