/** A fleet's journal as it goes to the nodes. */

import { expect, it } from "vitest";
import { createFleetDatabase } from "../../../control/rollout/fleet-database.ts";
import { fleetInMemory } from "../../support/rollout/fleet-in-memory.ts";

it("ends a rollout whatever a program that failed has said: a node takes reasons of a bounded length", async () => {
  const { rollouts, call } = fleetInMemory(["one"]);
  const never = new AbortController().signal;
  const door = {
    name: "one",
    call: (signal: AbortSignal, work: never) => call({ node: "one" } as never, signal, work),
  };
  const database = createFleetDatabase([door as never], { now: () => 0, sleep: async () => undefined });
  const { number } = await database.lease.acquire("me", never);
  const end = {
    outcome: "operator",
    done: [],
    failed: "one",
    reason: "x".repeat(50_000),
    stuck: ["one"],
    unknown: [],
  } as const;
  const startedAt = new Date(0).toISOString();
  const from = [{ node: "one", image: "a" }];
  const entry = {
    id: "1",
    holder: "me",
    to: "b",
    from,
    onFailure: "rollback",
    maxUnavailable: 1,
    startedAt,
    steps: [],
    end,
  } as const;
  await database.journal.write(entry, number);
  expect(rollouts[0]?.end?.reason?.length).toBe(10_000);
  expect(await database.journal.read(never)).toMatchObject({ to: "b", onFailure: "rollback", end: { failed: "one" } });
});
