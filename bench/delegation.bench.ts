/** What other nodes cost: a task for an agent of another database beside one of the own, and a turn's first word beside that of its node. */

import type { NodeEntry } from "../runtime/contracts/node-entry.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { quietLogger } from "../test/support/databases.ts";
import { registryOf } from "../test/support/node-entries.ts";
import { createDeployment, type NodeProcess, startNode } from "../test/support/node-process.ts";
import { freePort } from "../test/support/ports.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startLoopbackServer } from "./support/loopback-server.ts";
import { answerBytes, callBytes } from "./support/model.ts";
import { endNode, messageText, TurnClient } from "./support/node.ts";
import { stats } from "./support/stats.ts";

const WARM_UP = 20;
const TIMES = 150;
/** Messages of one conversation. */
const LENGTH = 10;

export const bench: Bench = {
  about:
    "tasks for an agent of another database and of the own one, and streams on the node of a turn and on another one, in turns",
  async run(context) {
    const model = await startHandingModel(context);
    const url = await context.postgres();
    const host = await startMember(context, model, url, "host", ["main", "near"]);
    const follower = await startMember(context, model, url, "follower", ["main", "near"]);
    const far = await startMember(context, model, await context.postgres(), "far", ["far"]);
    await introduce(far, url);
    await introduce(host, far.url);
    const clients = [new TurnClient(host.node, context.signal), new TurnClient(follower.node, context.signal)] as const;
    for (const client of clients) context.defer(() => client.close());
    await tasks(context, clients[0]);
    await streams(context, clients);
  },
};

async function tasks(context: BenchContext, client: TurnClient): Promise<void> {
  const hand = (agent: string) => async (n: number) =>
    void (await client.firstText(`${agent}-${Math.floor(n / LENGTH)}`, `hand ${agent}`));
  const pairs = await inTurns(context, hand("near"), hand("far"));
  context.together(() => {
    context.samples(
      { name: "a task for an agent of the same database", unit: "ms" },
      pairs.map(({ a }) => a),
    );
    context.samples(
      { name: "a task for an agent of another database", unit: "ms" },
      pairs.map(({ b }) => b),
    );
    const goal = { of: "p50", atMost: 20 } as const;
    context.samples(
      { name: "the second less the first, in pairs", unit: "ms", goal },
      pairs.map(({ a, b }) => b - a),
    );
    ratio(context, "tasks, another database / the same one, medians", pairs);
  });
}

async function streams(context: BenchContext, [own, other]: readonly [TurnClient, TurnClient]): Promise<void> {
  const times: { a: number; b: number }[] = [];
  const turn = (client: TurnClient, name: string, n: number) =>
    client.firstText(`${name}-${Math.floor(n / LENGTH)}`, messageText(n));
  for (let n = 0; n < WARM_UP + TIMES; n += 1) {
    if (n === WARM_UP) context.begin();
    const pair = { a: await turn(own, "own", n), b: await turn(other, "other", n) };
    if (n >= WARM_UP) times.push(pair);
  }
  context.together(() => {
    context.samples(
      { name: "first text on the turn's own node", unit: "ms" },
      times.map(({ a }) => a),
    );
    context.samples(
      { name: "first text on another node", unit: "ms" },
      times.map(({ b }) => b),
    );
    const goal = { of: "p50", atMost: 5 } as const;
    context.samples(
      { name: "first text, the second less the first, in pairs", unit: "ms", goal },
      times.map(({ a, b }) => b - a),
    );
    ratio(context, "first text, another node / its own, medians", times);
  });
}

interface Pair {
  readonly a: number;
  readonly b: number;
}

async function inTurns(
  context: BenchContext,
  a: (n: number) => Promise<void>,
  b: (n: number) => Promise<void>,
): Promise<readonly Pair[]> {
  const milliseconds = async (work: (n: number) => Promise<void>, n: number) => {
    const begun = performance.now();
    await work(n);
    return performance.now() - begun;
  };
  const pairs: Pair[] = [];
  for (let n = 0; n < WARM_UP + TIMES; n += 1) {
    if (n === WARM_UP) context.begin();
    const pair = { a: await milliseconds(a, n), b: await milliseconds(b, n) };
    if (n >= WARM_UP) pairs.push(pair);
  }
  return pairs;
}

function ratio(context: BenchContext, name: string, pairs: readonly Pair[]): void {
  context.value({ name, unit: "x" }, stats(pairs.map(({ b }) => b)).p50 / stats(pairs.map(({ a }) => a)).p50);
}

/** `hand X` is answered with a task for the agent X, everything else at once. */
async function startHandingModel(context: BenchContext): Promise<string> {
  const noted = answerBytes("Noted.");
  return startLoopbackServer(context, (request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      // The request is this project's own: its newest message is the last one.
      const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
      const last = messages.at(-1);
      const agent =
        last?.role === "user" ? /hand (\w+)"?\]?\}?$/.exec(JSON.stringify(last.content).slice(0, -1))?.[1] : undefined;
      const bytes = agent === undefined ? noted : callBytes("delegate_task", { agent, task: "Note it." });
      response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes);
    });
  });
}

interface BenchMember {
  readonly node: NodeProcess;
  readonly url: string;
  readonly id: string;
}

async function startMember(
  context: BenchContext,
  model: string,
  url: string,
  name: string,
  agents: readonly string[],
): Promise<BenchMember> {
  const port = await freePort();
  const deployment = await createDeployment({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model, model: "fake", api_key: "none" } },
      agents: Object.fromEntries(agents.map((agent) => [agent, { provider: "model" }])),
      mesh: { name, advertise: `http://127.0.0.1:${port}` },
      memory: { postgres: { connection_string: url } },
    },
  });
  context.defer(() => deployment.remove());
  const node = await startNode(deployment, { env: { SERVICE_LISTEN: `127.0.0.1:${port}` } });
  context.defer(() => endNode(node));
  const { node: self } = await node.call<{ node: { id: string } }>("/health");
  return { node, url, id: self.id };
}

/** Into the registry of another database, as membership brings it there. */
async function introduce(member: BenchMember, url: string): Promise<void> {
  const from = await openPostgres({ connectionString: member.url, pool: 1, logger: quietLogger });
  const to = await openPostgres({ connectionString: url, pool: 1, logger: quietLogger });
  const { rows } = await from.query<{ entry: NodeEntry }>("select entry from nodes where id = $1", [member.id]);
  const [row] = rows;
  if (row) await registryOf(to).publish(() => row.entry);
  await Promise.all([from.close(), to.close()]);
}
