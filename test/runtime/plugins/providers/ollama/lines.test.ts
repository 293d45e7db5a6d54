/** Lines of an answer of Ollama's that are none. */

import { expect, it } from "vitest";
import { checkedLines } from "../../../../../runtime/plugins/providers/ollama/lines.ts";
import { createWatch } from "../../../../../runtime/plugins/providers/shared/watch.ts";

it("gives up on a line without an end, and reads no more of it", async () => {
  const watch = createWatch({ timeoutMs: 60_000, fetch });
  const chunk = new TextEncoder().encode("{".padEnd(1024 * 1024, "x"));
  let sent = 0;
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull(sink) {
      if (++sent > 20) throw new Error("It was read on and on.");
      sink.enqueue(chunk);
    },
    cancel() {
      cancelled = true;
    },
  });
  const reading = new Response(checkedLines(endless, watch)).text();
  await expect(reading).rejects.toMatchObject({ failure: { kind: "garbage", found: "a line without an end" } });
  expect(cancelled).toBe(true);
  expect(sent).toBeLessThan(8);
  watch.dispose();
});
