/** Locks of an engine that was killed, in a backend that shows none: they go only where it is said that nobody is at work. */

import { expect, it } from "vitest";
import { clearEngineLocks } from "../../../../control/deploy/operations/engine-locks.ts";

it.each([
  ["s3://bucket", true, 1],
  ["s3://bucket", false, 0],
  ["file:///srv/state", true, 0],
])("of %s with force %s are cancelled %d times where none is seen", async (backend, force, times) => {
  let cancelled = 0;
  const engine = {
    backend,
    locks: async () => [],
    async cancel() {
      cancelled++;
    },
  };
  // All that is asked.
  await clearEngineLocks({ engine } as never, { host: "here" }, { force });
  expect(cancelled).toBe(times);
});
