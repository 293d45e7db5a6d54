/** What a test of a real node needs, each ended with the test: deployments, nodes over them, databases of their own. */

import { onTestFinished } from "vitest";
import { createPostgresCopy } from "./databases.ts";
import {
  createDeployment,
  type Deployment,
  type DeploymentSpec,
  type NodeProcess,
  type StartOptions,
  startNode,
} from "./node-process.ts";

export async function deploymentOf(spec: DeploymentSpec): Promise<Deployment> {
  const deployment = await createDeployment(spec);
  onTestFinished(() => deployment.remove());
  return deployment;
}

/** A node that is ready; killed after the test, where it still runs. */
export async function runningNode(deployment: Deployment, options?: StartOptions): Promise<NodeProcess> {
  const node = await startNode(deployment, options);
  onTestFinished(() => killed(node));
  return node;
}

/** As `kill -9` ends it. */
export async function killed(node: NodeProcess): Promise<void> {
  node.signal("SIGKILL");
  await node.exited;
}

/** Address of a new, empty database of the lane's server. */
export async function databaseUrl(): Promise<string> {
  const { url, remove } = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
  onTestFinished(remove);
  return url;
}
