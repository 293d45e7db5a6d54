import { expect, it } from "vitest";
import { createHealth, type HealthDeps } from "../../../runtime/app/health.ts";
import type { Channel, ChannelState } from "../../../runtime/contracts/channel.ts";

const RECEIVERS: Readonly<Record<string, ChannelState>> = {
  standby: { state: "standby", reason: "two receives" },
  gone: { state: "connecting", reason: "no answer" },
};

const SCHEDULES = [
  { agent: "main", name: "morning", problem: null },
  { agent: "main", name: "evening", problem: "its last run failed: no model" },
];

/** A running node without agents, with these channels. */
function healthOf(channels: Readonly<Record<string, Channel["state"]>>, more: Partial<HealthDeps> = {}) {
  const deps = {
    version: "1.0.0",
    node: { id: "n", name: "n" },
    database: { status: async () => ({ reachable: true }) },
    store: { open: async () => [] },
    jobs: { states: async () => [] },
    agents: new Map(),
    providers: new Map(),
    circuits: { report: () => [] },
    budgets: { report: async () => new Map() },
    channels: new Map(Object.entries(channels).map(([id, state]) => [id, { id, platform: "test", state }])),
    receivers: { state: (id: string) => RECEIVERS[id] },
    mesh: async () => ({ enabled: false, standing: null, members: 0, problem: null }),
    audit: () => ({ failing: null, lost: 0 }),
    clock: { now: () => new Date(0), monotonic: () => 0 },
    startedAt: new Date(0),
    state: () => "running",
    schemaVersion: () => 1,
    workers: () => ({}),
    backups: { status: async () => Promise.reject(new Error("no store")) },
    schedules: { list: async () => SCHEDULES },
    approvals: { waiting: async () => ({ waiting: 2, oldest_waiting_ms: 90_000 }) },
    mcpServers: { report: () => ({}) },
    skills: { report: async () => ({ usable: 0, skipped: [] }) },
    plugins: () => [],
    ...more,
  };
  // What the report reads of them.
  return createHealth(deps as unknown as HealthDeps);
}

it("tells how each channel is, and answers also where one cannot say it", async () => {
  const report = await healthOf({
    good: () => ({ state: "up", reason: null }),
    broken: () => {
      throw new Error("token 123 is not connected");
    },
  }).report();
  expect(report.status).toBe("degraded");
  expect(report.channels).toEqual({
    good: { platform: "test", state: "up", reason: null },
    broken: { platform: "test", state: "down", reason: "it cannot say how it is" },
  });
});

it("is healthy while every channel is up", async () => {
  expect(await healthOf({ good: () => ({ state: "up", reason: null }) }).report()).toMatchObject({ status: "healthy" });
});

it("tells of a channel that receives on one node how that is, and takes no alarm at another node's receiving", async () => {
  const standby = { standby: undefined };
  const { status, channels } = await healthOf(standby).report();
  expect({ status, channels }).toEqual({
    status: "healthy",
    channels: { standby: { platform: "test", state: "standby", reason: "two receives" } },
  });
  expect(await healthOf({ ...standby, gone: undefined }).report()).toMatchObject({ status: "degraded" });
});

it("counts the calls that wait for the owner's word, and answers where they cannot be counted", async () => {
  const { status, approvals } = await healthOf({}).report();
  expect({ status, approvals }).toEqual({ status: "healthy", approvals: { waiting: 2, oldest_waiting_ms: 90_000 } });
  const failing = healthOf({}, { approvals: { waiting: async () => Promise.reject(new Error("no store")) } });
  expect((await failing.report()).approvals).toBeNull();
});

it("names the schedules that somebody should see to, which make no alarm of the node", async () => {
  const { status, schedules } = await healthOf({}).report();
  expect({ status, schedules }).toEqual({
    status: "healthy",
    schedules: [{ agent: "main", name: "evening", problem: "its last run failed: no model" }],
  });
});
