/**
 * One server of the configuration: connected while the node runs, connected anew when the connection ends, and its tools offered
 * meanwhile, as far as they can be. What it does to the tools of agents happens by the registry alone.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { ExponentialBackoff, halfJitterGenerator } from "cockatiel";
import type { ChangedMcpTools } from "../../app/mcp-servers.ts";
import type { ToolRegistry } from "../../app/tool-registry.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { McpServerReport } from "../../contracts/health-report.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import type { Tool } from "../../contracts/tool.ts";
import { createChangesPause } from "./changes-pause.ts";
import type { McpConnection } from "./connection.ts";
import { reasonOf } from "./connection-failure.ts";
import { digestOf, type ListedTool, type OmittedTool, readListedTools } from "./listed-tools.ts";
import { createServerTool } from "./server-tool.ts";
import { type McpServerSettings, targetDigest } from "./settings.ts";
import type { ToolPins } from "./tool-pins.ts";

export interface McpServerDeps {
  readonly settings: McpServerSettings;
  readonly registry: Pick<ToolRegistry, "replaceSource">;
  readonly pins: ToolPins;
  /** Of a server's program. */
  readonly env: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** A connection that lasted so long begins the pauses anew; a server that ends at once does not. */
const STABLE_MS = 30_000;
/** Left-out tools that a report names. */
const REPORTED = 20;
const CHANGED = "it is not what it was when it was first seen";

interface Offered {
  readonly listed: ListedTool;
  readonly tool: Tool;
}

export class McpServer {
  readonly #deps: McpServerDeps;
  readonly #source: string;
  readonly #target: string;
  #state: McpServerReport["state"] = "connecting";
  #reason: string | null = "it is being connected";
  #connection: McpConnection | null = null;
  /** By the names that agents see. */
  #offered: ReadonlyMap<string, Offered> = new Map();
  #leftOut: readonly OmittedTool[] = [];
  #digests: ReadonlyMap<string, string> = new Map();
  #changed: readonly ListedTool[] = [];
  #readAgain: () => void = () => undefined;
  /** Tools that were made earlier: one that comes back unchanged is the same, and its schema need not be compiled again. */
  #made = new Map<string, Offered>();

  constructor(deps: McpServerDeps) {
    this.#deps = deps;
    this.#source = `mcp:${deps.settings.id}`;
    this.#target = targetDigest(deps.settings);
  }

  report(): McpServerReport {
    const { settings } = this.#deps;
    return {
      transport: settings.target.kind,
      state: this.#state,
      reason: this.#reason,
      tools: this.#offered.size,
      changed: this.#changed.map(({ tool }) => tool).slice(0, REPORTED),
      changed_digest: digestOf(this.#changed),
      left_out: this.#leftOut.filter(({ reason }) => reason !== CHANGED).slice(0, REPORTED),
    };
  }

  /** RUNTIME_NOT_READY where the server is not connected: none can be seen. */
  changes(): ChangedMcpTools {
    if (this.#state !== "up" || this.#connection === null) {
      const why = this.#reason ?? "its connection has ended";
      throw new RuntimeError("RUNTIME_NOT_READY", `The MCP server ${this.#deps.settings.id} is not connected: ${why}.`);
    }
    const tools = this.#changed.map(({ tool, description, parameters }) => ({ name: tool, description, parameters }));
    return { digest: digestOf(this.#changed), tools };
  }

  /** Takes the changed tools with this digest; how many there are. As `changes`; RUNTIME_CONFLICT when they are others by now. */
  async approve(digest: string): Promise<number> {
    const { settings, pins } = this.#deps;
    const { digest: present, tools } = this.changes();
    if (present !== digest) {
      throw new RuntimeError(
        "RUNTIME_CONFLICT",
        `The changed tools of the MCP server ${settings.id} are not those that were seen: nothing was approved.`,
        { hint: `See them with \`cairn mcp approve ${settings.id}\`.` },
      );
    }
    await pins.approve(settings.id, this.#target, this.#digests);
    this.#readAgain();
    return tools.length;
  }

  /** Until the signal aborts; never rejects. Nothing of the server is left then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const backoff = new ExponentialBackoff({
      generator: halfJitterGenerator,
      initialDelay: FIRST_PAUSE_MS,
      maxDelay: LONGEST_PAUSE_MS,
    });
    let pauses = backoff.next();
    while (!signal.aborted) {
      const began = clock.monotonic();
      const reason = await this.#connected(signal);
      if (signal.aborted) break;
      this.#report(reason);
      if (clock.monotonic() - began > STABLE_MS) pauses = backoff.next();
      await sleep(pauses.duration, undefined, { signal }).catch(() => undefined);
      pauses = pauses.next({});
    }
    this.#state = "down";
    this.#reason = "the node is stopping";
  }

  /** Resolves with the reason why the connection ended, or could not be made. */
  async #connected(signal: AbortSignal): Promise<string> {
    const { settings, env, version, logger, clock } = this.#deps;
    let isChanged = false;
    let end: string | null = null;
    let wake: () => void = () => undefined;
    const onChange = () => {
      isChanged = true;
      wake();
    };
    let hurry = new AbortController();
    const onEnd = (reason: string) => {
      end ??= reason;
      hurry.abort();
      wake();
    };
    const onStop = () => onEnd("the node is stopping");
    this.#readAgain = () => {
      onChange();
      hurry.abort();
    };
    signal.addEventListener("abort", onStop, { once: true });
    let connection: McpConnection | null = null;
    try {
      // The library takes longer to load than a node to start.
      const { connect } = await import("./connection.ts");
      const onError = (reason: string) =>
        logger.debug({ server: settings.id, reason }, "an MCP server sent no message");
      connection = await connect(settings, { version, env, onToolsChanged: onChange, onError }, signal);
      this.#connection = connection;
      void connection.ended.then(onEnd);
      await this.#refresh(connection, signal);
      const pause = createChangesPause(clock);
      for (;;) {
        if (end !== null) return end;
        if (!isChanged) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        // An approval and the end do not wait for more of them.
        await sleep(pause(), undefined, { signal: hurry.signal }).catch(() => undefined);
        isChanged = false;
        if (end !== null) continue;
        hurry = new AbortController();
        await this.#refresh(connection, signal);
      }
    } catch (error) {
      return end ?? reasonOf(error);
    } finally {
      signal.removeEventListener("abort", onStop);
      this.#readAgain = () => undefined;
      this.#connection = null;
      this.#digests = new Map();
      this.#changed = [];
      this.#offer(new Map());
      await connection?.close();
      const errorOutput = connection?.errorOutput().trim();
      if (errorOutput) logger.info({ server: settings.id, output: errorOutput }, "what an MCP server wrote last");
    }
  }

  async #refresh(connection: McpConnection, signal: AbortSignal): Promise<void> {
    const { settings, pins, logger } = this.#deps;
    const { tools, leftOut } = await readListedTools(settings, await connection.list(signal));
    const digests = new Map(tools.map(({ tool, digest }) => [tool, digest]));
    const { changed, unpinned } = await pins.check(settings.id, this.#target, digests);
    // Together: an approval takes what was shown.
    this.#digests = digests;
    this.#changed = tools.filter(({ tool }) => changed.has(tool));
    const reasonFor = (tool: string) => (changed.has(tool) ? CHANGED : unpinned.get(tool));
    const withheld = tools.flatMap(({ tool }) => {
      const reason = reasonFor(tool);
      return reason === undefined ? [] : [{ name: tool, reason }];
    });
    const accepted = tools.filter(({ tool }) => reasonFor(tool) === undefined);
    this.#offer(new Map(accepted.map((listed) => [listed.name, this.#offeredAs(listed)])), [...leftOut, ...withheld]);
    this.#made = new Map(this.#offered);
    this.#state = "up";
    this.#reason = null;
    const server = settings.id;
    logger.info({ server, tools: this.#offered.size }, "the tools of an MCP server are offered");
    if (this.#leftOut.length > 0) {
      const shown = this.#leftOut.slice(0, REPORTED);
      logger.warn({ server, left_out: shown, count: this.#leftOut.length }, "tools of an MCP server are not offered");
    }
  }

  #offeredAs(listed: ListedTool): Offered {
    const made = this.#made.get(listed.name);
    if (made?.listed.digest === listed.digest && made.listed.tool === listed.tool) return made;
    const { settings, clock, newId } = this.#deps;
    const tool = createServerTool(listed, {
      settings,
      clock,
      newId,
      // A turn keeps the tools that it began with, whatever became of them.
      connection: () => (this.#offered.get(listed.name)?.tool === tool ? this.#connection : null),
      reason: () => this.#reason,
    });
    return { listed, tool };
  }

  #offer(offered: ReadonlyMap<string, Offered>, leftOut: readonly OmittedTool[] = []): void {
    const refused = this.#deps.registry.replaceSource(
      this.#source,
      [...offered.values()].map(({ tool }) => tool),
    );
    const taken = new Set(refused.map(({ name }) => name));
    this.#offered = new Map([...offered].filter(([name]) => !taken.has(name)));
    this.#leftOut = [...leftOut, ...[...taken].map((name) => ({ name, reason: "another tool has its name" }))];
  }

  #report(reason: string): void {
    const { settings, logger } = this.#deps;
    // A server that stays unreachable is one line, not one each minute.
    if (this.#state !== "down" || this.#reason !== reason) {
      logger.warn({ server: settings.id, reason }, "an MCP server is not connected");
    }
    this.#state = "down";
    this.#reason = reason;
  }
}
