import { expect, it } from "vitest";
import { createPlacement } from "../../../../runtime/app/turn/placement.ts";
import { silent } from "../../../support/databases.ts";

it("stops waiting for the lease of its identity when the node is told to stop meanwhile", async () => {
  const placement = createPlacement({
    agents: new Map(),
    // Somebody else holds everything.
    leases: { acquire: async () => null, release: async () => {} },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 600_000,
    clock: { now: () => new Date(0), monotonic: () => 0 },
    logger: silent,
    onGained: () => {},
  });
  const stopping = new AbortController();
  const started = placement.start(stopping.signal);
  stopping.abort();
  await expect(started).rejects.toMatchObject({ name: "AbortError" });
  expect(placement.hosted()).toEqual([]);
  await placement.stop();
});
