/** What a failed change of a node goes back to, with an engine and a target that are played. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TargetDriver } from "../../../../control/deploy/driver.ts";
import { infraFiles } from "../../../../control/deploy/files.ts";
import type { ObservedNode } from "../../../../control/deploy/inspection.ts";
import { type NodeRun, nodeChange } from "../../../../control/deploy/operations/roll/node-change.ts";
import type { ReadProject } from "../../../../control/deploy/operations/services.ts";
import type { Session } from "../../../../control/deploy/operations/session.ts";
import { finish } from "../../../../control/deploy/operations/up.ts";
import { keepNodePlans, readNodePlan } from "../../../../control/deploy/state/node-plans.ts";
import type { DeploymentPlan, DockerPlan } from "../../../../infra/plan/types.ts";

let dir: string;
const files = () => infraFiles(dir, "lab");
const now = () => new Date(Date.UTC(2030, 0, 1));

function project(over: Partial<DockerPlan>): ReadProject {
  const node = (name: string) => ({ name, image: null, publish: null, tls: false, secretVariables: [] });
  const plan = {
    target: "docker",
    stack: "lab",
    version: "1",
    nodes: ["one", "two"].map(node),
    postgres: { image: "postgres:18" },
    ...over,
  };
  const secrets = { variables: {}, registry: null };
  const rest = { dir, secrets, certificate: null, warnings: [], redactValues: [] };
  return { plan: plan as unknown as DeploymentPlan, ...rest };
}
/** `health` of the nodes; `programs`: plans that something was to be made of. */
function session(health: Readonly<Record<string, ObservedNode["health"]>>, programs: DeploymentPlan[] = []): Session {
  const observe = async () =>
    Object.entries(health).map(([name, one]) => ({ name, state: "running", health: one, restarts: 9 }) as ObservedNode);
  const driver: Partial<TargetDriver> = {
    observe,
    inspect: async () => ({ nodes: await observe(), parts: [], drift: [] }),
    enter: () => Promise.reject(new Error("there is no log")),
  };
  const services = {
    now,
    sleep: async () => undefined,
    release: { read: async () => ({ schema: 1, built: null, nodes: {} }), write: async () => undefined },
    createProgram: async ({ plan }: ReadProject) => {
      programs.push(plan);
      throw new Error("that is enough");
    },
  };
  return {
    driver,
    files: files(),
    run: { dir, services, signal: new AbortController().signal },
    engine: { backend: "file://state" },
    redact: (text: string) => text,
    phase: () => undefined,
    log: { write: async () => null },
  } as unknown as Session;
}

describe("what a failed change goes back to", () => {
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "cairn-going-back-"));
    mkdirSync(join(dir, "infra"), { recursive: true });
    writeFileSync(files().passphrase, "a passphrase\n");
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it("has the PostgreSQL of now, which may have been upgraded since", async () => {
    const before = project({ postgres: { image: "postgres:17" } as DockerPlan["postgres"], network: "former" });
    await keepNodePlans(files(), before, ["one"], now());
    const postgres = { image: "postgres:18", data: "lab-postgres-18-data" } as DockerPlan["postgres"];
    const planned = project({ postgres, network: "new" });
    const programs: DeploymentPlan[] = [];
    const run = { session: session({}, programs), prepared: { project: planned }, images: {}, gated: true };
    const record: NodeRun["record"] = (_name, work) => work();
    const { back } = await nodeChange({ ...run, record } as unknown as NodeRun, "one");
    await expect(back?.[0]?.run()).rejects.toThrow("that is enough");
    expect(programs).toMatchObject([
      { network: "former", postgres: { image: "postgres:18", data: "lab-postgres-18-data" } },
    ]);
  });

  it("is for nodes that serve what they have now, although another one does not start", async () => {
    const outcome = {
      nodes: ["one", "two"],
      warnings: [],
      adopted: [],
      applied: { diff: { changes: [{}] } as never, outputs: { nodes: [], data: [] } },
      drift: [],
      restarts: new Map<string, number>(),
      released: undefined,
    };
    const before = project({ version: "0" } as Partial<DockerPlan>);
    await keepNodePlans(files(), before, ["one", "two"], now());
    const failing = session({ one: "unhealthy", two: "healthy" });
    await expect(finish(failing, project({}), outcome)).rejects.toThrow("The node one does not start");
    expect((await readNodePlan(files(), "one"))?.plan.version).toBe("0");
    expect((await readNodePlan(files(), "two"))?.plan.version).toBe("1");
  });
});
