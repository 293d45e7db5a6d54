import { expect, it } from "vitest";
import { retryAfterSeconds } from "../../../../runtime/domain/web/retry-after.ts";

it.each([
  ["1", 1],
  ["86400", 86_400],
  ["86401", undefined],
  ["0", undefined],
  ["-1", undefined],
  ["1.5", undefined],
  ["", undefined],
  ["soon", undefined],
  ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
])("of %j is %j", (header, seconds) => {
  expect(retryAfterSeconds(header)).toBe(seconds);
});
