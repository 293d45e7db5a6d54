import { expect, test } from "vitest";
import { readServerReport } from "../../../runtime/app/server-report.ts";
import { describeEachDatabase } from "../../support/databases.ts";

const clock = { now: () => new Date() };

describeEachDatabase("the report of the server", (open) => {
  test("has extensions, connections and clock of a server, and nothing of the embedded store", async () => {
    const database = await open();
    const report = await readServerReport(database, clock);
    if (database.backend === "embedded") {
      expect(report).toBeNull();
      return;
    }
    expect(report).toEqual({
      extensions: { vector: expect.stringMatching(/^\d+\.\d+/), pg_trgm: expect.stringMatching(/^\d+\.\d+/) },
      connections: { used: expect.any(Number), allowed: expect.any(Number) },
      clock: { ahead_ms: expect.any(Number), uncertain_ms: expect.any(Number) },
    });
    expect(report?.connections.used).toBeGreaterThan(0);
    expect(report?.connections.allowed).toBeGreaterThan(report?.connections.used ?? 0);
  });

  test("says by how much the server's clock is ahead of the node's", async () => {
    const database = await open();
    if (database.backend === "embedded") return;
    const hour = 3_600_000;
    const report = await readServerReport(database, { now: () => new Date(Date.now() - hour) });
    const { ahead_ms: ahead = 0, uncertain_ms: uncertain = 0 } = report?.clock ?? {};
    expect(Math.abs(ahead - hour)).toBeLessThanOrEqual(uncertain + 1);
  });
});
