/**
 * What each tool of a server said of itself when it was first seen, as digests in a file of the home directory. A tool that says
 * something else later is withheld until the operator approves it. docs/decisions/104-changed-tools-are-withheld.md
 */

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { writeDurably } from "../../files/durable.ts";

export interface PinCheck {
  /** Names of tools that are not what they were. */
  readonly changed: ReadonlySet<string>;
  /** Names of tools that nothing can be said of, and why, as the end of a sentence. */
  readonly unpinned: ReadonlyMap<string, string>;
}

export interface ToolPins {
  /** Tools that were never seen are taken as they are now, once that is stored. */
  check(server: string, target: string, digests: ReadonlyMap<string, string>): Promise<PinCheck>;
  /** Takes the tools as they are now. RUNTIME_CONFLICT with a file that cannot be used, RUNTIME_NOT_READY when it cannot be written. */
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

interface ServerPins {
  readonly target: string;
  readonly tools: ReadonlyMap<string, string>;
}

type Stored = { readonly servers: ReadonlyMap<string, ServerPins> } | { readonly unusable: string };

/** Read once. A file that cannot be used stays as it is: to begin anew with it would accept whatever tools say by then. */
export function createToolPins(path: string, logger: Logger): ToolPins {
  const name = basename(path);
  let work: Promise<Stored> = readPins(path).then((read) => {
    if ("unusable" in read) {
      const { unusable: reason } = read;
      logger.error(
        { path, reason },
        "the file with what MCP tools said is unusable: all tools of MCP servers are withheld",
      );
    }
    return read;
  });

  /** One after the other: the file is written whole, and what is not in it does not hold. */
  function serially<T>(task: (stored: Stored) => Promise<{ readonly done: T; readonly stored: Stored }>): Promise<T> {
    const before = work;
    const after = before.then(task);
    work = after.then(
      ({ stored }) => stored,
      () => before,
    );
    return after.then(({ done }) => done);
  }

  /** Null, or why it could not be written. */
  async function write(servers: ReadonlyMap<string, ServerPins>): Promise<string | null> {
    const entries = [...servers].map(([id, { target, tools }]) => [id, { target, tools: Object.fromEntries(tools) }]);
    const file = { schema: 1, servers: Object.fromEntries(entries) };
    try {
      await writeDurably(path, `${JSON.stringify(file)}\n`, { mode: 0o600 });
      return null;
    } catch (error) {
      logger.error({ err: error }, "what the tools of MCP servers say of themselves could not be stored");
      return `${name} cannot be written (${codeOf(error) ?? "unknown error"})`;
    }
  }

  return {
    check: (server, target, digests) =>
      serially(async (stored) => {
        if ("unusable" in stored) {
          const reason = `${name} cannot be used: ${stored.unusable}`;
          const unpinned = new Map([...digests.keys()].map((tool) => [tool, reason]));
          return { done: { changed: new Set(), unpinned }, stored };
        }
        const found = stored.servers.get(server);
        const pins = new Map(found?.target === target ? found.tools : []);
        const changed = new Set<string>();
        const fresh: string[] = [];
        for (const [tool, digest] of digests) {
          const pin = pins.get(tool);
          if (pin === undefined && pins.size < MAX_PINS) {
            pins.set(tool, digest);
            fresh.push(tool);
          } else if (pin !== digest) changed.add(tool);
        }
        if (fresh.length === 0) return { done: { changed, unpinned: new Map() }, stored };
        const servers = new Map(stored.servers).set(server, { target, tools: pins });
        const failure = await write(servers);
        if (failure === null) return { done: { changed, unpinned: new Map() }, stored: { servers } };
        return { done: { changed, unpinned: new Map(fresh.map((tool) => [tool, failure])) }, stored };
      }),
    approve: (server, target, digests) =>
      serially(async (stored) => {
        if ("unusable" in stored) {
          throw new RuntimeError(
            "RUNTIME_CONFLICT",
            `Nothing can be approved: ${name} cannot be used: ${stored.unusable}.`,
            {
              hint: `Restore ${path} from a backup and restart the node. Without the file, all tools are taken as they are by then.`,
            },
          );
        }
        const found = stored.servers.get(server);
        // Those that are not there now were not seen, and stay what they were, as far as there is room.
        const all = new Map([...(found?.target === target ? found.tools : []), ...digests]);
        const tools = all.size > MAX_PINS ? new Map(digests) : all;
        const servers = new Map(stored.servers).set(server, { target, tools });
        const failure = await write(servers);
        if (failure !== null)
          throw new RuntimeError("RUNTIME_NOT_READY", `The approval could not be stored: ${failure}.`);
        return { done: undefined, stored: { servers } };
      }),
  };
}

async function readPins(path: string): Promise<Stored> {
  try {
    const { servers } = fileSchema.parse(JSON.parse(await readFile(path, "utf8")));
    return {
      servers: new Map(
        Object.entries(servers).map(([id, { target, tools }]) => [
          id,
          { target, tools: new Map(Object.entries(tools)) },
        ]),
      ),
    };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return { servers: new Map() };
    return { unusable: code === undefined ? "its content is damaged" : `it cannot be read (${code})` };
  }
}
