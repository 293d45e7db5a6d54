/** What an operator waits for: stacks on Docker with PostgreSQL, their nodes played by a small image that is healthy at once. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { execa } from "execa";
import { parse, stringify } from "yaml";
import { roll } from "../control/deploy/operations/roll/roll.ts";
import { CAIRN } from "../test/support/commands.ts";
import { ensureTestImages } from "../test/support/docker/images.ts";
import { type OperatedStack, prepareOperatedStack } from "../test/support/docker/operated-stack.ts";
import { failingImage } from "../test/support/docker-lane.ts";
import type { Bench, BenchContext } from "./support/bench.ts";

const TIMES = 10;
const NEW_STACKS = 3;
const CRASHES = `throw new Error("this program cannot start");`;

export const bench: Bench = {
  about:
    "from spawning a command of `infra` to its end; a rolled node without its gate, and a failing image, from the call of the operation",
  async run(context) {
    await newStack(context, { name: "first up, one node", nodes: ["one"], atMost: 15_000 });
    await newStack(context, { name: "first up, two nodes", nodes: ["one", "two"], atMost: 17_000 });
    const stack = await deployed(context, ["one"]);
    const measured = [
      { name: "status", atMost: 1_000, once: () => infra(context, stack, "status") },
      { name: "unchanged preview", atMost: 3_000, once: () => infra(context, stack, "preview") },
      { name: "unchanged up", atMost: 3_000, once: () => infra(context, stack, "up", "--yes") },
    ];
    for (const { name, atMost, once } of measured) {
      context.begin();
      await context.time({ name, times: TIMES, warmUp: 2, goal: { of: "p50", atMost } }, once);
    }
    await failing(context, stack);
    await rolled(context);
  },
};

async function deployed(context: BenchContext, nodes: readonly string[]): Promise<OperatedStack> {
  const stack = await prepareOperatedStack(nodes);
  context.defer(() => stack.remove());
  await stack.up();
  return stack;
}

async function infra(context: BenchContext, { dir }: OperatedStack, ...args: string[]): Promise<void> {
  const env = { SERVICE_HOME: join(dir, "home"), SERVICE_API_TOKEN: "" };
  const command = [CAIRN, "infra", ...args, "--json"];
  await execa(process.execPath, command, { cwd: dir, env, stdin: "ignore", cancelSignal: context.signal });
}

/** Its directory is made, and its images are there; nothing else is. */
async function newStack(
  context: BenchContext,
  figure: { readonly name: string; readonly nodes: readonly string[]; readonly atMost: number },
): Promise<void> {
  const stacks = await Promise.all(Array.from({ length: NEW_STACKS }, () => prepareOperatedStack(figure.nodes)));
  for (const stack of stacks) context.defer(() => stack.remove());
  context.begin();
  const { name, atMost } = figure;
  await context.time({ name, times: NEW_STACKS, warmUp: 0, goal: { of: "p50", atMost } }, async (n) => {
    const stack = stacks[n];
    if (stack !== undefined) await infra(context, stack, "up", "--yes");
  });
}

/** Until the command has said why, by which time the node has what it had before. */
async function failing(context: BenchContext, stack: OperatedStack): Promise<void> {
  const image = await failingImage((await ensureTestImages()).node, CRASHES);
  context.begin();
  const began = performance.now();
  const ended = await stack.up({ image }).then(
    () => "well",
    () => "badly",
  );
  const seconds = (performance.now() - began) / 1_000;
  if (ended === "well") throw new Error("the failing image did not fail");
  context.value({ name: "failing image", unit: "s", goal: { of: "value", atMost: 20 } }, seconds);
}

/** Seconds for each of three nodes. The gate, which watches a node for a time of its own, passes at once. */
async function rolled(context: BenchContext): Promise<void> {
  const stack = await deployed(context, ["one", "two", "three"]);
  const file = join(stack.dir, "cairn.yaml");
  const config = parse(await readFile(file, "utf8"));
  await writeFile(file, stringify({ ...config, runtime: { ...config.runtime, timezone: "Europe/Berlin" } }));
  const run = stack.run();
  const nothing = async (): Promise<void> => undefined;
  const services = {
    ...run.services,
    nodes: {
      call: () => Promise.reject(new Error("no node is called here")),
      gate: nothing,
      pause: nothing,
      resume: nothing,
    },
  };
  context.begin();
  const began = performance.now();
  const result = await roll({ ...run, services }, { image: undefined, adopt: false, yes: true, onFailure: "pause" });
  const seconds = (performance.now() - began) / 1_000;
  if (result?.roll?.done.length !== 3) throw new Error("not every node was rolled");
  context.value({ name: "rolled node, without its gate", unit: "s" }, seconds / 3);
}
