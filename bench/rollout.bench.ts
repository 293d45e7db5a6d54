/** What `update --mesh` costs those who talk to the nodes: three containers that share a PostgreSQL go to and fro between two images. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { stringify } from "yaml";
import type { UpdateResult } from "../control/update/result.ts";
import { CAIRN } from "../test/support/commands.ts";
import { ensureTestImages } from "../test/support/docker/images.ts";
import { docker, removeStack, uniqueName } from "../test/support/docker-lane.ts";
import { type Downtime, startLoad } from "../test/support/fleet-load.ts";
import { freePort } from "../test/support/ports.ts";
import type { Bench, BenchContext } from "./support/bench.ts";

const NODES = ["one", "two", "three"];
const ROLLOUTS = 4;
/** Milliseconds of not ready before a node closes anything. */
const NOTICE_MS = 5_000;
const SENT = "role = 'user' and content like 'Remember the word%'";
const TOKEN = "cairn_token-of-the-bench-of-rollouts";

export const bench: Bench = {
  about:
    "three containers updated one after the other under turns on each: what was lost or doubled, how long each node took and did not serve",
  async run(context) {
    const stack = await deployed(context);
    const load = startLoad(
      Object.fromEntries(NODES.map((name, index) => [name, `http://127.0.0.1:${stack.ports[index]}`])),
      TOKEN,
    );
    context.begin();
    const changes: Change[] = [];
    for (let n = 1; n <= ROLLOUTS; n++) changes.push(...(await updated(context, stack, stack.images[n % 2] ?? "")));
    const { sent, answered, fewest, downtimes } = await load.stop();
    const doubled = await stack.sql(`select count(*) - count(distinct content) from messages where ${SENT}`);
    // The gate's own turns are among them. An answer of a turn is one row.
    const unanswered = await stack.sql("select (select count(*) from inbox) - (select count(*) from outbox)");
    const none = { of: "value", atMost: 0 } as const;
    context.together(() => {
      context.value({ name: "messages accepted", unit: "" }, sent);
      context.value({ name: "messages dropped", unit: "", goal: none }, sent - answered);
      context.value({ name: "messages with two turns", unit: "", goal: none }, Number(doubled));
      context.value({ name: "messages without an answer", unit: "", goal: none }, Number(unanswered));
      context.value({ name: "nodes that served, the fewest", unit: "", goal: { of: "value", atLeast: 2 } }, fewest);
      const perNode = changes.map(({ began, ended }) => (ended - began) / 1_000);
      context.samples({ name: "a node, from its drain to the next one's", unit: "s" }, perNode);
      const notReady = downtimes.map(({ from, until }) => (until - from) / 1_000);
      context.samples({ name: "not ready, with the notice of 5 s and the drain", unit: "s" }, notReady);
      const goal = { of: "max", atMost: 5 } as const;
      context.samples(
        { name: "from the end of the drain and its notice until ready", unit: "s", goal },
        closed(changes, downtimes),
      );
    });
  },
};

/** Milliseconds on the clock of `performance.now()`. */
interface Change {
  readonly node: string;
  readonly began: number;
  /** The drain has ended. */
  readonly stopped: number;
  readonly ended: number;
}

interface Stack {
  readonly dir: string;
  readonly ports: readonly number[];
  readonly images: readonly string[];
  sql(text: string): Promise<string>;
}

async function deployed(context: BenchContext): Promise<Stack> {
  const base = await ensureTestImages();
  const name = uniqueName("cairn-bench");
  const dir = await context.folder();
  const ports = await Promise.all(NODES.map(() => freePort()));
  const images = [`${name}:1`, `${name}:2`];
  const config = {
    version: 1,
    agents: { main: {} },
    providers: { offline: {} },
    memory: { postgres: {} },
    deployment: {
      name,
      target: "docker",
      nodes: NODES.map((node, index) => ({ name: node, port: ports[index] })),
      docker: { network: name },
      datahub: { postgres: true, image: base.postgres },
    },
  };
  await writeFile(join(dir, ".env"), `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
  await writeFile(join(dir, "cairn.yaml"), stringify(config));
  context.defer(async () => void (await execa("docker", ["image", "rm", "--force", ...images], { reject: false })));
  context.defer(() => removeStack(name));
  await cairn(context, dir, "build", "--base-image", base.node, "--tag", `${name}:1`);
  await execa("docker", ["build", "--quiet", "--tag", `${name}:2`, "-"], { input: `FROM ${name}:1\nLABEL bench=2\n` });
  await cairn(context, dir, "infra", "up", "--yes");
  const sql = (text: string) =>
    docker("exec", `${name}-postgres`, "psql", ..."-U postgres -d cairn -Atc".split(" "), text);
  return { dir, ports, images, sql };
}

function cairn({ signal }: BenchContext, dir: string, ...args: readonly string[]) {
  const env = { SERVICE_HOME: join(dir, "home"), SERVICE_API_TOKEN: "" };
  return execa(process.execPath, [CAIRN, ...args, "--json"], { cwd: dir, env, stdin: "ignore", cancelSignal: signal });
}

async function updated(context: BenchContext, { dir }: Stack, image: string): Promise<Change[]> {
  const phases: { readonly phase: string; readonly at: number; readonly message: string }[] = [];
  const command = cairn(context, dir, "update", "--mesh", "--prebuilt", image, "--json-events");
  createInterface({ input: command.stderr }).on("line", (line) => {
    const { phase, message } = JSON.parse(line);
    if (typeof phase === "string") phases.push({ phase, at: performance.now(), message });
  });
  const { stdout } = await command;
  const end = performance.now();
  const { outcome }: UpdateResult = JSON.parse(stdout);
  if (outcome !== "updated") throw new Error(`The rollout ended ${outcome}.`);
  const of = (wanted: string) => phases.filter(({ phase }) => phase === wanted);
  const drains = of("drain");
  return of("stop").map(({ at, message }, index) => ({
    node: message.split(" ").at(-1) ?? "",
    began: drains[index]?.at ?? at,
    stopped: at,
    ended: drains[index + 1]?.at ?? end,
  }));
}

/** Seconds of each change in which its node was down or starting: its drain lasts until its turns have ended, and others have noticed. */
function closed(changes: readonly Change[], downtimes: readonly Downtime[]): number[] {
  return changes.map(({ node, stopped, ended }) => {
    const downtime = downtimes.find((one) => one.node === node && one.from < ended && one.until > stopped);
    if (downtime === undefined) throw new Error(`${node} was changed and always served.`);
    return (downtime.until - Math.max(stopped, downtime.from + NOTICE_MS)) / 1_000;
  });
}
