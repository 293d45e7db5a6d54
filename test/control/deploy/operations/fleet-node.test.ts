/** A node of a stack in a rollout: it is not stopped before the engine has its turn. */

import { expect, it } from "vitest";
import { fleetNode, type InTurn } from "../../../../control/deploy/operations/roll/fleet-node.ts";
import type { Former, NodeRun } from "../../../../control/deploy/operations/roll/node-change.ts";
import type { ImageIdentity } from "../../../../infra/plan/types.ts";

const IMAGE: ImageIdentity = { id: "sha256:1", digest: null, reference: "cairn:1", version: "1.0.0", revision: null };

it("serves on while another node has the engine, and asks its host about the token only then", async () => {
  const seen: string[] = [];
  const turn = Promise.withResolvers<void>();
  const inTurn: InTurn = async (work) => {
    await turn.promise;
    seen.push("turn");
    return work();
  };
  const driver = {
    fence: async () => {
      seen.push("stop");
      throw new Error("somebody else was there meanwhile");
    },
  };
  const project = { plan: { nodes: [{ name: "one" }] } };
  const session = { run: { services: {} }, driver, project, phase: () => undefined };
  const former = { session, images: {}, gated: true, project } as unknown as Former; // All that is asked.
  const change = { run: {} as NodeRun, inTurn, applied: new Map<string, string>() };
  const node = fleetNode(former, IMAGE, "one", change);
  const token = { fleet: "f", lease: 1, command: 1 };
  const swapped = node.swap("sha256:1", token, new AbortController().signal);
  await new Promise(setImmediate);
  expect(seen).toEqual([]);
  turn.resolve();
  await expect(swapped).rejects.toThrow("somebody else was there meanwhile");
  expect(seen).toEqual(["turn", "stop"]);
});
