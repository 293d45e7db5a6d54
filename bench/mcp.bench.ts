/** What forty MCP servers with a thousand tools in all cost a turn: which of them it gets, and their definitions for the provider. */

import { setTimeout as sleep } from "node:timers/promises";
import { ToolRegistry } from "../runtime/app/tool-registry.ts";
import { toolsOf } from "../runtime/app/turn/agents.ts";
import { createMcpServers } from "../runtime/plugins/mcp/index.ts";
import { startMcpHttpFake } from "../test/fakes/mcp/http.ts";
import { builtInTools } from "../test/support/built-in-tools.ts";
import { quietLogger } from "../test/support/databases.ts";
import type { Bench } from "./support/bench.ts";

const SERVERS = 40;
const TOOLS = 25;
const TIMES = 1_000;
const WARM_UP = 200;

export const bench: Bench = {
  about: "the tools of one turn, from the registry's snapshot to the definitions that a provider is sent",
  async run(context) {
    const fake = await startMcpHttpFake({ bare: true, many: TOOLS });
    context.defer(() => fake.close());
    const target = { kind: "http", url: fake.url, headers: {} } as const;
    const registry = new ToolRegistry(await builtInTools());
    const servers = createMcpServers({
      servers: Array.from({ length: SERVERS }, (_, n) => ({ id: `s${n}`, target, timeoutMs: 60_000, exclude: [] })),
      registry,
      pinsFile: `${await context.folder()}/mcp-tools.json`,
      hostEnv: {},
      version: "0.0.0",
      newId: () => "m-1",
      clock: { now: () => new Date(), monotonic: () => performance.now() },
      logger: quietLogger,
    });
    context.defer(() => servers.stop());
    context.begin();
    const started = performance.now();
    servers.start();
    while (Object.values(servers.report()).some(({ state }) => state !== "up")) {
      await sleep(10, undefined, { signal: context.signal });
    }
    context.value(
      { name: `${SERVERS} servers connected, their tools offered`, unit: "ms" },
      performance.now() - started,
    );
    const names = registry.snapshot().tools.map(({ name }) => name);
    const goal = { of: "p50", atMost: 2 } as const;
    for (const [kind, tools] of [
      ["all of them", {}],
      ["each named in include", { include: names, others: { include: names } }],
    ] as const) {
      await context.time(
        { name: `tools of a turn, ${names.length}, ${kind}`, times: TIMES, warmUp: WARM_UP, goal },
        async () => {
          const offered = toolsOf(registry.snapshot(), { tools }, { owner: true });
          const definitions = [...offered.values()].map(({ name, description, parameters }) => ({
            name,
            description,
            parameters,
          }));
          if (definitions.length !== names.length) throw new Error("Tools are missing.");
        },
      );
    }
  },
};
