/** The fleet's lease under `up` and `up --roll`: who has it keeps others away, and a database that stops in the middle takes it from nobody. */

import { describe, expect, it } from "vitest";
import { withFleetLease } from "../../../../control/deploy/operations/roll/fleet-lease.ts";
import type { Session } from "../../../../control/deploy/operations/session.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { fleetInMemory } from "../../../support/rollout/fleet-in-memory.ts";

const NODES = ["one", "two"];

/** `waits` gets each pause of the renewals, which goes on when it resolves. */
function stack(
  nodes = NODES,
  { running = nodes, waits }: { running?: readonly string[]; waits?: () => Promise<void> } = {},
) {
  const fleet = fleetInMemory(nodes);
  const said: string[] = [];
  const ended = (signal: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  const services = {
    nodes: { call: fleet.call },
    identity: async () => ({ user: "ada", host: "desk", pid: 7, boot: "b" }),
    sleep: (_ms: number, signal: AbortSignal) => Promise.race([ended(signal), waits?.() ?? ended(signal)]),
  };
  const session = {
    run: { services, signal: new AbortController().signal },
    project: { plan: { nodes: nodes.map((name) => ({ name })) } },
    driver: { observe: async () => running.map((name) => ({ name, state: "running" })) },
    state: async () => ({ version: 3, deployment: {} }),
    engineRun: (signal: AbortSignal) => ({ onNote: () => undefined, signal }),
    report: (text: string) => said.push(text),
    warn: (text: string) => said.push(text),
  } as unknown as Session; // All that is asked.
  const acquire = (holder: string) =>
    fleet.call({ node: "one" } as never, new AbortController().signal, (client) =>
      client.acquireRolloutLease({ id: holder, holder }),
    );
  return { fleet, session, said, acquire };
}

describe("the lease of a run that changes a fleet", () => {
  it("is held while it works, and given back", async () => {
    const { session, acquire } = stack();
    const refused = await withFleetLease(session, () => acquire("bob@den").catch((error: unknown) => error));
    expect(refused).toMatchObject({
      code: "INFRA_LOCKED",
      message: "The fleet is being changed by ada@desk (process 7).",
    });
    expect(await acquire("bob@den")).toMatchObject({ number: 2 });
  });

  it("is refused while a rollout of another machine has it, with nothing done", async () => {
    const { fleet, session } = stack();
    fleet.take("bob@den");
    let began = false;
    const work = async () => {
      began = true;
    };
    await expect(withFleetLease(session, work)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    expect(began).toBe(false);
  });

  it("is not asked for where no node runs, nor where one is all there is; and where none answers this is said", async () => {
    for (const { fleet, session } of [stack(NODES, { running: [] }), stack(["one"])]) {
      fleet.take("bob@den");
      expect(await withFleetLease(session, async () => "done")).toBe("done");
    }
    const { fleet, session, said } = stack();
    for (const node of NODES) fleet.unreachable.add(node);
    expect(await withFleetLease(session, async () => "done")).toBe("done");
    expect(said).toEqual([expect.stringContaining("is not known: No node of the fleet answers")]);
  });

  it("is taken again where it expired while the database was away, and ends the work where another one has it", async () => {
    const pauses: (() => void)[] = [];
    const { fleet, session } = stack(NODES, { waits: () => new Promise((resolve) => pauses.push(resolve)) });
    const renewed = async (): Promise<void> => {
      await expect.poll(() => pauses.length).toBe(1);
      pauses.pop()?.();
      await expect.poll(() => pauses.length).toBe(1);
    };
    const ended = withFleetLease(session, async (held) => {
      for (const node of NODES) fleet.unreachable.add(node);
      await renewed();
      fleet.unreachable.clear();
      fleet.expire();
      await renewed();
      expect(held.run.signal.aborted).toBe(false);
      fleet.take("bob@den");
      pauses.pop()?.();
      await expect.poll(() => held.run.signal.aborted).toBe(true);
      expect(held.engineRun().signal.aborted).toBe(true);
      throw held.run.signal.reason;
    });
    await expect(ended).rejects.toEqual(new InfraError("INFRA_LOCKED", "The fleet is being changed by bob@den."));
  });
});
