import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createCaptureClient } from "../../../../runtime/client/index.ts";
import { OWNER_TOKEN } from "../../../support/fake-application.ts";
import { listening, startServer } from "../../../support/http-server.ts";

/** Against the real server, whose limits the client does not ask for. */
async function setUp() {
  const spoolDirectory = await mkdtemp(join(tmpdir(), "cairn-spool-"));
  onTestFinished(() => rm(spoolDirectory, { recursive: true, force: true }));
  const baseUrl = await listening(startServer());
  const client = createCaptureClient({ baseUrl, token: OWNER_TOKEN, spoolDirectory });
  return (session: string, results: readonly string[]) =>
    client.send({
      session_key: session,
      agent: "codex",
      channel: "codex",
      events: results.map((tool_result, n) => ({ event_id: `${n}`, role: "tool", tool_result })),
    });
}

test("an event of 40 MiB, which no request can hold, is refused and kept, and blocks nobody", async () => {
  const send = await setUp();
  const large = await send("large", ["x".repeat(40 * 1024 * 1024), "after it"]);
  expect(large.deliveries).toMatchObject([{ outcome: "dead", status: 413 }, { outcome: "stored" }]);
  expect((await send("small", ["x"])).deliveries).toMatchObject([{ outcome: "stored" }]);
});

test("a batch is split by what it is on the wire: 8 million characters that are 6 bytes each fit", async () => {
  const send = await setUp();
  const { deliveries } = await send("s", new Array(8).fill("\u001b".repeat(1_000_000)));
  expect(deliveries.map(({ outcome }) => outcome)).toEqual(new Array(8).fill("stored"));
});
