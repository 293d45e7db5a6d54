/**
 * Rollouts of simulated fleets while command lines, nodes, databases and networks fail at random: what must hold is checked after each
 * event (test/support/rollout/simulation.ts). `CAIRN_ROLLOUT_SEED` plays one schedule, the one of a failure again.
 */

import { describe, expect, it } from "vitest";
import { describeMany, firstSeed, playMany } from "../../support/rollout/many.ts";
import type { Fault, Schedule } from "../../support/rollout/schedule.ts";
import { describePlayed, type Played, play } from "../../support/rollout/simulation.ts";
import type { Mutant } from "../../support/rollout/world.ts";

const asked = process.env["CAIRN_ROLLOUT_SEED"] !== undefined;
const SCHEDULES = asked ? 1 : 1_000;
/** Schedules in which each mutant has to be found: many times what it takes. */
const MUTANT_SCHEDULES = 600;

const schedule = (faults: readonly Fault[], more: Partial<Schedule> = {}): Schedule => ({
  ...{ seed: 1, nodes: 3, maxUnavailable: 1, onFailure: "rollback", next: null, faults },
  ...more,
});
const unbroken = (played: Played): void => expect(played.violation, describePlayed(played)).toBeNull();
const outcomes = ({ rollouts }: Played) => rollouts.map(({ end }) => end?.outcome);

describe("a rollout of a fleet", () => {
  it("holds what it promises in whatever goes wrong, and every end and every fault occurs", async () => {
    const many = await playMany(firstSeed(), SCHEDULES);
    expect(many.broken, many.broken === null ? "" : describePlayed(many.broken)).toBeNull();
    process.stdout.write(`${describeMany(many)}\n`);
    if (asked) return;
    expect(Object.entries(many.outcomes).filter(([, times]) => times === 0)).toEqual([]);
    expect(Object.entries(many.met).filter(([, times]) => times === 0)).toEqual([]);
  });

  it.each<[Mutant, RegExp]>([
    ["fence", /after a newer command/],
    ["journal", /the journal has/],
    ["gate", /out of service at the same time|does not serve/],
    ["drain", /was stopped with turn \d+ active/],
  ])("is found out where the %s is taken away", async (mutant, words) => {
    const { broken } = await playMany(firstSeed(), MUTANT_SCHEDULES, mutant);
    expect(broken?.violation?.message).toMatch(words);
  });

  it.each<[string, readonly Fault[], string]>([
    ["passes", [], "passed"],
    ["goes back", [{ kind: "never-ready", node: 1 }], "rolled_back"],
    [
      "needs an operator",
      [
        { kind: "never-ready", node: 2 },
        { kind: "rollback-image-missing", node: 2 },
      ],
      "operator",
    ],
  ])(
    "that %s comes to the same end when it is killed at whatever write of its journal",
    async (_words, faults, end) => {
      const [never, always] = [schedule(faults), schedule([{ kind: "killed", attempt: 0, write: 0, written: false }])];
      expect(outcomes(await play(never))).toEqual([end]);
      expect((await play(always)).met).toContain("killed");
      for (let write = 0; ; write++) {
        const kills = [false, true].map((written) => ({ kind: "killed", attempt: 0, write, written }) as const);
        const played = await Promise.all(kills.map((kill) => play(schedule([...faults, kill]))));
        for (const one of played) {
          unbroken(one);
          expect(outcomes(one), describePlayed(one)).toEqual([end]);
        }
        if (!played.some(({ met }) => met.has("killed"))) {
          expect(write).toBeGreaterThan(12);
          return;
        }
      }
    },
  );

  it("is not disturbed by a command of the one before that arrives when another node is out of service", async () => {
    // The drain of the second node, after two commands to the first.
    const late = { kind: "late-command", command: 2, sender: "cut-off" } as const;
    for (let ms = 180_000; ms <= 400_000; ms += 10_000) {
      const played = await play(schedule([{ ...late, ms }], { next: "v3" }));
      unbroken(played);
      expect(outcomes(played)).toEqual(["paused", "passed"]);
    }
  });

  it.each<[string, readonly Fault[]]>([
    [
      "expired while an image was pulled",
      [
        { kind: "slow-pull", node: 0, ms: 100_000 },
        { kind: "command-without-database", at: 8_000, ms: 60_000 },
        { kind: "second-command", at: 50_000, to: "v3" },
      ],
    ],
    // Its machine stands still between the check of the lease and the command, until the next upgrade is at work.
    ["was lost while its machine stood still", [{ kind: "frozen", command: 1, ms: 190_000, next: "v3" }]],
  ])("is not disturbed by a former holder whose lease %s", async (_words, faults) => {
    const played = await play(schedule(faults));
    unbroken(played);
    expect(played.events.filter((event) => /swap to v2 with 1\.\d+ is refused/.test(event))).toHaveLength(1);
    expect(played.rollouts.map(({ to, end }) => [to, end?.outcome])).toEqual([
      ["v2", "passed"],
      ["v3", "passed"],
    ]);
  });

  it("does not blame a node for a journal that could not be written", async () => {
    // Around the moment at which the first node has passed: a single write fails.
    for (let at = 46_000; at <= 53_000; at += 40) {
      const played = await play(schedule([{ kind: "journal-full", at, ms: 50 }]));
      unbroken(played);
      expect(outcomes(played), describePlayed(played)).toEqual(["passed"]);
    }
  });

  it.each<[string, number, object]>([
    ["waits for a node that has passed and is out of service for a while", 60_000, { outcome: "passed" }],
    [
      "pauses, and names it, where it does not come back",
      900_000,
      { outcome: "paused", done: ["n1", "n2"], reason: "n1 is out of service." },
    ],
  ])("%s", async (_words, ms, end) => {
    // While the second node is changed.
    const played = await play(schedule([{ kind: "node-without-database", node: 0, at: 70_000, ms }]));
    unbroken(played);
    expect(played.rollouts.map((one) => one.end)).toEqual([expect.objectContaining(end)]);
    const third = played.events.findIndex((event) => event.includes("apply n3 begun"));
    const serves = played.events.findIndex((event) => event.includes("n1 reaches its database again"));
    expect(third === -1 || third > serves).toBe(true);
  });

  it("repairs first what does not serve", async () => {
    const faults = [
      { kind: "never-ready", node: 1 },
      { kind: "rollback-image-missing", node: 1 },
    ] as const;
    const played = await play(schedule(faults, { next: "v3" }));
    unbroken(played);
    expect(outcomes(played)).toEqual(["operator", "passed"]);
    expect(played.rollouts[1]?.from.map(({ node }) => node)).toEqual(["n2", "n1", "n3"]);
  });

  describe("that is resumed looks at the nodes first", () => {
    // The first node has passed.
    const kill = { kind: "killed", attempt: 0, write: 5, written: true } as const;
    const byHand = (image: string) => ({ kind: "changed-by-hand", node: 0, at: 60_000, image }) as const;

    it("and gives one its version again that has the former", async () => {
      const played = await play(schedule([kill, byHand("v1")]));
      unbroken(played);
      expect(outcomes(played)).toEqual(["passed"]);
      expect(
        played.rollouts[0]?.steps.filter(({ name, state }) => name === "apply n1" && state === "done"),
      ).toHaveLength(2);
    });

    it("and leaves a program to the operator that it did not put there", async () => {
      const played = await play(schedule([kill, byHand("v0")]));
      unbroken(played);
      expect(played.rollouts[0]?.end).toMatchObject({ outcome: "operator", stuck: ["n1"], failed: "n1" });
      expect(played.rollouts[0]?.end?.reason).toMatch(/n1: it runs v0, which is neither v2 nor v1/);
    });
  });

  it("says in its journal which node was not reached, and goes on with the next one", async () => {
    const cutOff = { kind: "node-cut-off", node: 1, ms: 400_000 } as const;
    const played = await play(schedule([cutOff], { next: "v3" }));
    unbroken(played);
    const [first, ...others] = played.rollouts;
    expect(first?.end).toMatchObject({ outcome: "paused", failed: "n2", unknown: ["n2"], done: ["n1"] });
    expect(first?.end?.reason).toMatch(/n2 does not answer/);
    expect(others.map(({ end }) => end?.outcome)).toEqual(["passed"]);
  });
});
