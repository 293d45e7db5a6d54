/** What a rollout asks of the nodes of a fleet: any of them keeps its lease and journal, and each tests itself. */

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createClient } from "../../runtime/client/index.ts";
import { TOKEN } from "../support/node-process.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

async function twoNodes() {
  const url = await databaseUrl();
  const start = async (name: string) => {
    const config = {
      providers: { offline: {} },
      agents: { main: { provider: "offline" } },
      mesh: { name },
      memory: { postgres: { connection_string: url } },
    };
    const node = await runningNode(await deploymentOf({ config }));
    return { node, client: createClient({ baseUrl: node.url, token: TOKEN }) };
  };
  return [await start("one"), await start("two")] as const;
}

it("any node of a fleet answers for its lease and its journal, and drains for the newest holder alone", async () => {
  const [one, two] = await twoNodes();
  const { number } = await one.client.acquireRolloutLease({ id: randomUUID(), holder: "ada@desk" });
  await expect(two.client.acquireRolloutLease({ id: randomUUID(), holder: "bob@den" })).rejects.toMatchObject({
    code: "INFRA_LOCKED",
    message: "The fleet is being changed by ada@desk.",
  });
  await two.client.renewRolloutLease(number);
  const rollout = {
    id: randomUUID(),
    holder: "ada@desk",
    to: "b",
    from: [{ node: "one", image: "a" }],
    on_failure: "pause",
    max_unavailable: 1,
    started_at: new Date().toISOString(),
    steps: [],
    end: null,
  } as const;
  await two.client.writeRollout(rollout, number);
  expect(await one.client.rollouts(5)).toEqual([rollout]);
  await two.client.releaseRolloutLease(number);
  const later = await two.client.acquireRolloutLease({ id: randomUUID(), holder: "bob@den" });
  await expect(one.client.drain({ lease: number })).rejects.toMatchObject({ code: "INFRA_LOCKED" });
  expect(await one.client.ready()).toBe(true);
  await one.client.drain({ lease: later.number, wait: true });
  expect(await one.client.ready()).toBe(false);
});

it("a node that hosts no agent runs a turn of its own, and does not while it is drained", async () => {
  const [one, two] = await twoNodes();
  const { nodes } = await two.node.call<{ nodes: { name: string; hosts: string[] }[] }>("/api/mesh");
  expect(nodes.map(({ name, hosts }) => [name, hosts])).toEqual([
    ["one", ["main"]],
    ["two", []],
  ]);
  const own = await two.client.testTurn();
  expect(own.text).toBe("This node runs turns.");
  expect((await one.client.testTurn()).turn_id).not.toBe(own.turn_id);
  // It is neither an agent of the node nor a conversation that anybody had.
  expect(Object.keys((await two.client.health()).agents)).toEqual(["main"]);
  const listed = await two.node.call<{ sessions: readonly object[] }>("/api/admin/memory/sessions");
  expect(listed.sessions).toEqual([]);
  await two.client.drain({ wait: true });
  await expect(two.client.testTurn({ timeoutMs: 3_000 })).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
});
