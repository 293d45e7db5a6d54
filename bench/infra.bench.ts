/** What an operator waits for who changes nothing: a stack of one node with PostgreSQL on Docker, its node played by a small image. */

import { join } from "node:path";
import { execa } from "execa";
import { CAIRN } from "../test/support/commands.ts";
import { prepareOperatedStack } from "../test/support/docker/operated-stack.ts";
import type { Bench } from "./support/bench.ts";

const TIMES = 10;

export const bench: Bench = {
  about: "from spawning a command of `infra` to its end, on a stack that is as the configuration says",
  async run(context) {
    const stack = await prepareOperatedStack(["one"]);
    context.defer(() => stack.remove());
    await stack.up();
    const env = { SERVICE_HOME: join(stack.dir, "home"), SERVICE_API_TOKEN: "" };
    const infra = async (...args: string[]): Promise<void> => {
      await execa(process.execPath, [CAIRN, "infra", ...args, "--json"], {
        cwd: stack.dir,
        env,
        stdin: "ignore",
        cancelSignal: context.signal,
      });
    };
    const measured = [
      { name: "status", atMost: 1_000, once: () => infra("status") },
      { name: "unchanged preview", atMost: 3_000, once: () => infra("preview") },
      { name: "unchanged up", atMost: 3_000, once: () => infra("up", "--yes") },
    ];
    for (const { name, atMost, once } of measured) {
      context.begin();
      await context.time({ name, times: TIMES, warmUp: 2, goal: { of: "p50", atMost } }, once);
    }
  },
};
