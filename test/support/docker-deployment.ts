/** A small deployment for tests on real engines: one node, played by the stand-in image, and PostgreSQL. */

import { z } from "zod";
import type { TargetDriver } from "../../control/deploy/driver.ts";
import { createDockerDriver } from "../../control/deploy/drivers/docker/driver.ts";
import type { DockerNodePlan, DockerPlan } from "../../infra/plan/types.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { ensureTestImages } from "./docker/images.ts";
import { docker, removeStack, standInImage, uniqueName } from "./docker-lane.ts";
import { createTestStack, type StackInput, type TestStack } from "./docker-stack.ts";
import { dockerPlan, nodePlan } from "./docker-target.ts";
import { freePort } from "./ports.ts";
import { realTls } from "./postgres-server-tls.ts";

/** What the stand-in tells of its container. */
const viewShape = z.object({
  starts: z.number(),
  env: z.string(),
  configuration: z.string(),
  empty: z.string(),
  status: z.string(),
  writable: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
});

export interface DockerDeployment {
  readonly name: string;
  readonly plan: DockerPlan;
  readonly stack: TestStack;
  readonly driver: TargetDriver;
  /** The deployment, with another node where one is given. */
  input(node?: Partial<DockerNodePlan>): StackInput;
  seen(): Promise<z.infer<typeof viewShape>>;
  sql(text: string): Promise<string>;
  remove(): Promise<void>;
}

export const SECRETS = { key: 'it\'s a "key" # with $all', password: "pass'word/?#1" } as const;

export async function prepareDockerDeployment(): Promise<DockerDeployment> {
  const name = uniqueName("cairn-lane");
  const images = await ensureTestImages();
  const id = await standInImage(images.node);
  const node = nodePlan("alpha", {
    image: { id, digest: null, reference: "stand-in", version: "0.1.0", revision: null },
    stopTimeoutS: 20,
    limits: { memoryBytes: 256 * 1024 * 1024, cpus: 1 },
    publish: { address: "127.0.0.1", port: await freePort() },
  });
  const postgres = { image: images.postgres, limits: { memoryBytes: null, cpus: null }, publish: null };
  const plan = dockerPlan({ stack: name, network: name, pids: 200, sharedStorage: true, postgres, nodes: [node] });
  const stack = await createTestStack();
  const tls = await realTls();
  const driver = createDockerDriver(plan, { registry: null });
  return {
    name,
    plan,
    stack,
    driver,
    input: (change = {}) => ({
      plan: { ...plan, nodes: [{ ...node, ...change }] },
      variables: { API_KEY: SECRETS.key },
      password: SECRETS.password,
      tls,
    }),
    seen: async () => {
      const { url } = await driver.connect("alpha", AbortSignal.timeout(EVENTUALLY_MS));
      return viewShape.parse(await (await fetch(url)).json());
    },
    sql: (text) =>
      docker(
        "exec",
        `${name}-postgres`,
        "psql",
        "-U",
        "postgres",
        "-d",
        "cairn",
        "-v",
        "ON_ERROR_STOP=1",
        "-Atc",
        text,
      ),
    remove: async () => {
      await removeStack(name);
      await stack.remove();
    },
  };
}
