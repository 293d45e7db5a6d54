/**
 * What each tool of a server said of itself when it was first seen, as digests in a file of the home directory. A tool that says
 * something else later is withheld until the operator approves it. docs/decisions/104-changed-tools-are-withheld.md
 */

import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Logger } from "../../contracts/ports.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { writeDurably } from "../../files/durable.ts";

export interface ToolPins {
  /** Names of tools that are not what they were; those that were never seen are taken as they are now. */
  changed(server: string, target: string, digests: ReadonlyMap<string, string>): Promise<ReadonlySet<string>>;
  /** Takes the tools as they are now. */
  approve(server: string, target: string, digests: ReadonlyMap<string, string>): Promise<void>;
}

const fileSchema = z.strictObject({
  schema: z.literal(1),
  servers: z.record(
    z.string(),
    z.strictObject({
      /** Of its program or address. */
      target: z.string(),
      tools: z.record(z.string(), z.string()),
    }),
  ),
});

/** A server that names others each time must not fill the disk: what comes after that is withheld. */
const MAX_PINS = 5_000;

/** Read at the first question. */
export function createToolPins(path: string, logger: Logger): ToolPins {
  const servers = new Map<string, { readonly target: string; readonly tools: Map<string, string> }>();
  let work: Promise<unknown> = readPins(path, logger).then((read) => {
    for (const [id, { target, tools }] of Object.entries(read)) {
      servers.set(id, { target, tools: new Map(Object.entries(tools)) });
    }
  });

  /** One after the other: the file is written whole. */
  function serially<T>(task: () => Promise<T>): Promise<T> {
    const done = work.then(task);
    work = done.catch(() => undefined);
    return done;
  }

  function pinsOf(server: string, target: string): Map<string, string> {
    const found = servers.get(server);
    if (found?.target === target) return found.tools;
    const tools = new Map<string, string>();
    servers.set(server, { target, tools });
    return tools;
  }

  /** What cannot be written holds until the node ends. */
  async function save(): Promise<void> {
    const entries = [...servers].map(([id, { target, tools }]) => [id, { target, tools: Object.fromEntries(tools) }]);
    const file = { schema: 1, servers: Object.fromEntries(entries) };
    await writeDurably(path, `${JSON.stringify(file)}\n`, { mode: 0o600 }).catch((error: unknown) => {
      logger.error({ err: error }, "what the tools of MCP servers say of themselves could not be stored");
    });
  }

  return {
    changed: (server, target, digests) =>
      serially(async () => {
        const pins = pinsOf(server, target);
        const before = pins.size;
        const changed = new Set<string>();
        for (const [name, digest] of digests) {
          const pin = pins.get(name);
          if (pin === undefined && pins.size < MAX_PINS) pins.set(name, digest);
          else if (pin !== digest) changed.add(name);
        }
        if (pins.size > before) await save();
        return changed;
      }),
    approve: (server, target, digests) =>
      serially(async () => {
        servers.set(server, { target, tools: new Map(digests) });
        await save();
      }),
  };
}

async function readPins(path: string, logger: Logger): Promise<z.infer<typeof fileSchema>["servers"]> {
  try {
    return fileSchema.parse(JSON.parse(await readFile(path, "utf8"))).servers;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") {
      logger.error(
        { path, reason: codeOf(error) ?? "it is not as expected" },
        "the file with what MCP tools said is unusable",
      );
    }
    return {};
  }
}
