/** A node that dies at a step of a turn, on either backend, and the way to start it again. */

import { createEmbeddedCopy, createPostgresCopy } from "../databases.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode } from "../node-process.ts";
import { killed } from "../running-node.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./database-proxy.ts";
import { formatKillPoint, type KillPoint } from "./wire-watcher.ts";

export const BACKENDS = ["postgres", "embedded"] as const;

export interface DoomedNodeSpec {
  readonly backend: (typeof BACKENDS)[number];
  /** Null: the test kills it. */
  readonly point: KillPoint | null;
  /** Base URL of the stand-in for a model. */
  readonly modelUrl: string;
  /** Of both processes, the one that dies and the one after it. */
  readonly nodeOptions?: readonly string[];
  /** Gets what has to be ended after the test, the last one first. */
  readonly defer: (() => Promise<void>)[];
}

export interface DoomedNode {
  readonly first: NodeProcess;
  readonly deployment: Deployment;
  again(): Promise<NodeProcess>;
}

export async function startDoomedNode(spec: DoomedNodeSpec): Promise<DoomedNode> {
  const { backend, point, modelUrl, nodeOptions = [], defer } = spec;
  let proxy: DatabaseProxy | null = null;
  let memory: object = {};
  if (backend === "postgres") {
    const copy = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
    defer.push(copy.remove);
    proxy = await startDatabaseProxy(copy.url);
    defer.push(proxy.close);
    memory = { postgres: { connection_string: proxy.url } };
  } else {
    const copy = await createEmbeddedCopy();
    defer.push(copy.remove);
    memory = { embedded: { path: copy.path } };
  }
  const deployment = await createDeployment({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: modelUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      tools: { shell: { sandbox: "none" } },
      memory,
    },
  });
  defer.push(deployment.remove);
  const kills =
    proxy || !point
      ? { nodeOptions }
      : {
          nodeOptions: [...nodeOptions, "--import", new URL("./kill-embedded.ts", import.meta.url).href],
          env: { CAIRN_TEST_KILL: formatKillPoint(point) },
        };
  const first = await startNode(deployment, kills);
  if (point && proxy) proxy.arm(point, () => process.kill(first.pid, "SIGKILL"));
  else if (point) {
    const armed = first.message("armed");
    first.signal("SIGUSR2");
    await armed;
  }
  return {
    first,
    deployment,
    async again() {
      proxy?.disarm();
      const next = await startNode(deployment, { nodeOptions });
      defer.push(() => killed(next));
      return next;
    },
  };
}
