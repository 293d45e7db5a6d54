import { describe, expect, it } from "vitest";
import type { OperationInput, Services } from "../../../control/deploy/operations/services.ts";
import type { RollReport, UpResult } from "../../../control/deploy/schemas.ts";
import { nameOf, updateDeployed } from "../../../control/update/update-deployed.ts";
import type { ImageIdentity, Release } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";

const image = (version: string, letter: string): ImageIdentity => ({
  id: `sha256:${letter.repeat(64)}`,
  digest: null,
  reference: `cairn:${version}`,
  version,
  revision: null,
});
const OLD = image("1.0.0", "a");
const NEW = image("1.1.0", "b");

interface Shape {
  readonly nodes?: readonly string[];
  readonly former?: ImageIdentity | null;
  readonly report?: RollReport;
  readonly throwing?: Error;
  /** Images that do not pass the gate. */
  readonly failing?: readonly ImageIdentity[];
  readonly prebuilt?: string;
  readonly image?: ImageIdentity;
}

const ROLLED: RollReport = { outcome: "rolled", done: ["main"], failed: null, reason: null, last_words: [], log: null };

async function play(shape: Shape) {
  const { nodes = ["main"], former = OLD, report = ROLLED, failing = [] } = shape;
  const has = former === null ? [] : nodes.map((name) => [name, former] as const);
  const release: Release = { schema: 1, built: null, nodes: Object.fromEntries(has) };
  const deployed: string[] = [];
  const services: Partial<Services> = {
    // The parts of a plan that an update looks at.
    readProject: async () => ({ plan: { target: "docker", nodes: nodes.map((name) => ({ name })) } }) as never,
    createDriver: async () => ({}) as never,
    release: { read: async () => release, write: async () => undefined },
    images: {
      provide: async () => shape.image ?? NEW,
      resolve: async (reference) => ({ ...NEW, reference }),
      architectures: async () => null,
    },
    nodes: {
      call: () => Promise.reject(new Error("no node is called here")),
      async gate({ project, node }) {
        const image = project.plan.nodes.find(({ name }) => name === node)?.image;
        if (failing.some((one) => one.version === image?.version)) throw new Error(`${image?.version} is not right`);
      },
      pause: async () => undefined,
      resume: async () => undefined,
    },
  };
  const run = { dir: "/nowhere", services, signal: new AbortController().signal } as unknown as OperationInput;
  const result = await updateDeployed({
    run,
    prebuilt: shape.prebuilt,
    report: () => undefined,
    deploy: async (_run, name) => {
      deployed.push(name);
      if (shape.throwing) throw shape.throwing;
      return { healthy: report.failed === null, roll: report } as UpResult;
    },
  });
  return { result, deployed };
}

describe("update of deployed nodes", () => {
  it.each([[["main"]], [["main", "worker"]]])("gives %s a new image, one node after the other", async (nodes) => {
    const { result, deployed } = await play({ nodes });
    expect(result).toMatchObject({ outcome: "updated", target: "docker", from: "1.0.0", to: "1.1.0" });
    expect(deployed).toEqual([nameOf(NEW)]);
  });

  it("takes the image that is named", async () => {
    expect((await play({ prebuilt: "registry.example.org/cairn:1.1.0" })).result.outcome).toBe("updated");
  });

  it("does nothing when all nodes have the image", async () => {
    const { result, deployed } = await play({ former: NEW });
    expect(result.outcome).toBe("unchanged");
    expect(deployed).toEqual([]);
  });

  it("tells that the image which a node has does not pass: a cut-off update may have brought it", async () => {
    const { result, deployed } = await play({ former: NEW, failing: [NEW] });
    expect(result).toMatchObject({ outcome: "operator", next: expect.stringContaining("--prebuilt") });
    expect(deployed).toEqual([]);
  });

  it.each([
    ["rolled_back", "rolled_back"],
    ["paused", "paused"],
    ["operator", "operator"],
  ] as const)("says of a rollout that ended as %s: %s", async (outcome, said) => {
    const report: RollReport = {
      outcome,
      done: [],
      failed: "main",
      reason: "1.1.0 is not right",
      last_words: ["no"],
      log: null,
    };
    const { result } = await play({ report });
    expect(result).toMatchObject({ outcome: said, reason: expect.stringContaining("1.1.0"), last_words: ["no"] });
  });

  it("is not done where all went back, whichever node is to blame", async () => {
    const report: RollReport = { ...ROLLED, outcome: "rolled_back", done: [], reason: "It had failed before." };
    expect((await play({ report })).result).toMatchObject({ outcome: "rolled_back" });
  });

  it("names the image where nothing tells its version", async () => {
    expect((await play({ image: { ...NEW, version: "unknown" } })).result).toMatchObject({ to: "cairn:1.1.0" });
  });

  it("is not rolled back for a lock: nothing was changed", async () => {
    await expect(play({ throwing: new InfraError("INFRA_LOCKED", "held") })).rejects.toMatchObject({
      code: "INFRA_LOCKED",
    });
  });
});
