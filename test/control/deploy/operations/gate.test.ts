/** The test of a node in a rollout: what it says where the node is wrong, and where its host does not answer. */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { infraFiles } from "../../../../control/deploy/files.ts";
import { isUnrelated, type NodeRun, nodeChange } from "../../../../control/deploy/operations/roll/node-change.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const refusal = new InfraError("INFRA_FAILED", "It reports another version.");

/** What the gate of a node ends with that is observed like this. */
async function ended(state: "running" | "unknown"): Promise<{ readonly error: unknown; readonly unrelated: boolean }> {
  const driver = { observe: async () => [{ name: "one", state, place: "ssh://far.example" }] };
  const services = { nodes: { gate: () => Promise.reject(refusal) }, createDriver: async () => driver };
  const session = {
    run: { signal: new AbortController().signal, services },
    files: infraFiles(await mkdtemp(join(tmpdir(), "cairn-gate-")), "lab"),
    phase: () => undefined,
  };
  const prepared = { project: { plan: { nodes: [] } } };
  const run = { session, prepared, images: {}, gated: true, record: () => undefined } as unknown as NodeRun; // All that is asked.
  const gate = (await nodeChange(run, "one")).forward.find(({ name }) => name === "gate one");
  const error = await gate?.run().catch((thrown: unknown) => thrown);
  return { error, unrelated: isUnrelated(run.session, error) };
}

describe("the gate of a node", () => {
  it("says what the node does wrong, and sends it back", async () => {
    expect(await ended("running")).toEqual({ error: refusal, unrelated: false });
  });

  it("blames no node for a host that does not answer", async () => {
    expect(await ended("unknown")).toMatchObject({
      error: { code: "INFRA_HOST_UNREACHABLE", message: "The host of one does not answer (ssh://far.example)." },
      unrelated: true,
    });
  });
});
