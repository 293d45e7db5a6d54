import { describe, expect, it } from "vitest";
import type { OperationInput, Services } from "../../../control/deploy/operations/services.ts";
import type { UpResult } from "../../../control/deploy/schemas.ts";
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
  readonly target?: string;
  readonly former?: ImageIdentity | null;
  /** Images that do not become healthy, or that the deployment fails with. */
  readonly sick?: readonly ImageIdentity[];
  readonly throwing?: Error;
  /** Images that do not pass the gate. */
  readonly failing?: readonly ImageIdentity[];
  readonly prebuilt?: string;
}

async function play(shape: Shape) {
  const { nodes = ["main"], target = "docker", former = OLD, sick = [], failing = [] } = shape;
  const release: Release = { schema: 1, built: null, nodes: former === null ? {} : { main: former } };
  const deployed: string[] = [];
  const services: Partial<Services> = {
    // The parts of a plan that an update looks at.
    readProject: async () => ({ plan: { target, nodes: nodes.map((name) => ({ name })) } }) as never,
    release: { read: async () => release, write: async () => undefined },
    images: { provide: async () => NEW, resolve: async (reference) => ({ ...NEW, reference }) },
  };
  const run = { dir: "/nowhere", services, signal: new AbortController().signal } as unknown as OperationInput;
  const result = await updateDeployed({
    run,
    prebuilt: shape.prebuilt,
    report: () => undefined,
    gate: async (_node, asked) => {
      if (failing.some((one) => nameOf(one) === nameOf(asked))) throw new Error(`${asked.version} is not right`);
    },
    deploy: async (_run, name) => {
      deployed.push(name);
      if (shape.throwing) throw shape.throwing;
      return { healthy: !sick.some((one) => nameOf(one) === name) } as UpResult;
    },
  });
  return { result, deployed };
}

describe("update of a deployed node", () => {
  it("gives the node a new image that passes", async () => {
    const { result, deployed } = await play({});
    expect(result).toMatchObject({ outcome: "updated", target: "docker", from: "1.0.0", to: "1.1.0" });
    expect(deployed).toEqual([nameOf(NEW)]);
  });

  it("takes the image that is named", async () => {
    expect((await play({ prebuilt: "registry.example.org/cairn:1.1.0" })).result.outcome).toBe("updated");
  });

  it("does nothing when the node has the image", async () => {
    const { result, deployed } = await play({ former: NEW });
    expect(result.outcome).toBe("unchanged");
    expect(deployed).toEqual([]);
  });

  it("tells that the image which the node has does not pass: a cut-off update may have brought it", async () => {
    const { result, deployed } = await play({ former: NEW, failing: [NEW] });
    expect(result).toMatchObject({ outcome: "operator", next: expect.stringContaining("--prebuilt") });
    expect(deployed).toEqual([]);
  });

  it.each([
    ["is not healthy", { sick: [NEW] }],
    ["does not pass the gate", { failing: [NEW] }],
  ])("goes back to the former image when the new one %s", async (_name, shape) => {
    const { result, deployed } = await play(shape);
    expect(result).toMatchObject({ outcome: "rolled_back", reason: expect.stringContaining("1.1.0") });
    expect(deployed).toEqual([nameOf(NEW), nameOf(OLD)]);
  });

  it("needs an operator when the former image fails, too, or when there is none", async () => {
    expect((await play({ sick: [NEW, OLD] })).result.outcome).toBe("operator");
    expect((await play({ sick: [NEW], former: null })).result.outcome).toBe("operator");
    const failed = await play({ throwing: new InfraError("INFRA_FAILED", "The engine broke.") });
    expect(failed.result).toMatchObject({ outcome: "operator", reason: expect.stringContaining("The engine broke.") });
  });

  it("is not rolled back for a lock: nothing was changed", async () => {
    await expect(play({ throwing: new InfraError("INFRA_LOCKED", "held") })).rejects.toMatchObject({
      code: "INFRA_LOCKED",
    });
  });

  it.each([
    ["several nodes", { nodes: ["main", "worker"] }, "cairn infra up --node"],
    ["Kubernetes", { target: "kubernetes" }, "cairn infra up --node NAME --image IMAGE"],
  ])("is refused for %s, with the way out", async (_name, shape, hint) => {
    await expect(play(shape)).rejects.toMatchObject({ name: "UsageError", hint: expect.stringContaining(hint) });
  });
});
