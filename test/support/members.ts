/** Nodes as processes that are members of one mesh: each with a model of its own, and a database that it shares or does not. */

import { onTestFinished } from "vitest";
import type { NodeEntry } from "../../runtime/contracts/node-entry.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { type FakeServer, startOpenAiFake } from "../fakes/openai/index.ts";
import { quietLogger } from "./databases.ts";
import { registryOf } from "./node-entries.ts";
import type { Deployment, NodeProcess } from "./node-process.ts";
import { freePort } from "./ports.ts";
import { databaseUrl, deploymentOf, runningNode } from "./running-node.ts";
import { replyIn } from "./task-reply.ts";

export interface MemberNode {
  readonly name: string;
  readonly id: string;
  readonly databaseUrl: string;
  readonly model: FakeServer;
  /** Of the process that runs now. */
  readonly node: NodeProcess;
  /** The next start, on the same port. */
  start(): Promise<NodeProcess>;
  /** Rows of its database. */
  rows<Row>(sql: string): Promise<readonly Row[]>;
}

export interface MemberSpec {
  readonly name: string;
  readonly agents: readonly string[];
  /** Default: one of its own. */
  readonly databaseUrl?: string;
  /** Beside model, agents, mesh and store. */
  readonly config?: object;
}

/** The script of every model: `hand X: TASK` hands TASK to the agent X; everything else is answered with the node's name. */
export async function memberNode(spec: MemberSpec): Promise<MemberNode> {
  const { name } = spec;
  const model = await startOpenAiFake({
    script: ({ lastUser, results = [] }) => {
      // What is found in memory comes before the message.
      const said = lastUser.split(/<\/memory [^>]*>\n+/).at(-1) ?? "";
      const handed = /^hand (\S+): (.*)$/s.exec(said);
      if (!handed) return { text: `${name} did ${said}` };
      if (results.length > 0) return { text: `got (${results.map(({ text }) => replyIn(text)).join(", ")})` };
      return { toolCalls: [{ id: "c1", name: "delegate_task", arguments: { agent: handed[1], task: handed[2] } }] };
    },
  });
  onTestFinished(() => model.close());
  const url = spec.databaseUrl ?? (await databaseUrl());
  const port = await freePort();
  const agent = { provider: "model", tools: { others: { include: ["delegate_task"] } } };
  const deployment: Deployment = await deploymentOf({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
      agents: Object.fromEntries(spec.agents.map((agentName) => [agentName, agent])),
      mesh: { name, advertise: `http://127.0.0.1:${port}` },
      memory: { postgres: { connection_string: url } },
      ...spec.config,
    },
  });
  const database = await openPostgres({ connectionString: url, pool: 1, logger: quietLogger });
  onTestFinished(() => database.close());
  const start = () => runningNode(deployment, { env: { SERVICE_LISTEN: `127.0.0.1:${port}` } });
  let node = await start();
  const { node: self } = await node.call<{ node: { id: string } }>("/health");
  return {
    name,
    id: self.id,
    databaseUrl: url,
    model,
    get node() {
      return node;
    },
    async start() {
      node = await start();
      return node;
    },
    rows: async <Row>(sql: string) => (await database.query<Row & object>(sql)).rows as readonly Row[],
  };
}

/** Each learns of the others, as membership brings entries into the registries of other databases. */
export async function introduce(...members: readonly MemberNode[]): Promise<void> {
  for (const { databaseUrl: url, id } of members) {
    const database = await openPostgres({ connectionString: url, pool: 1, logger: quietLogger });
    const registry = registryOf(database);
    for (const other of members) {
      if (other.id === id || other.databaseUrl === url) continue;
      const [row] = await other.rows<{ entry: NodeEntry }>(`select entry from nodes where id = '${other.id}'`);
      if (row) await registry.publish(() => row.entry);
    }
    await database.close();
  }
}
