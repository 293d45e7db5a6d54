/** What stands between a node and what a plugin has made, and what stands in the place of what could not be made. */

import type { Channel, ChannelState } from "../contracts/channel.ts";
import { ChannelError, ProviderError, ToolError } from "../contracts/errors.ts";
import type { Provider } from "../contracts/provider.ts";
import type { Tool, ToolResult } from "../contracts/tool.ts";

/** Milliseconds until a channel must be started, or stopped. */
const CHANNEL_MS = 10_000;
/** Characters of a result that the model reads, as of an MCP server's. */
const MAX_RESULT = 65_536;

/** What it gives back is checked and bounded; all else is its own. */
export function guardedTool(tool: Tool): Tool {
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    ...(tool.parallel === true ? { parallel: true } : {}),
    ...(tool.pathArguments === undefined ? {} : { pathArguments: tool.pathArguments }),
    async execute(args, signal, context) {
      const result: Partial<ToolResult> | undefined = await tool.execute(args, signal, context);
      if (typeof result?.content !== "string") {
        throw new ToolError("TOOL_FAILED", `The tool ${tool.name} gave no text.`);
      }
      const { content, isError } = result;
      const more = content.length - MAX_RESULT;
      const shown =
        more > 0 ? `${content.slice(0, MAX_RESULT).toWellFormed()}\n... (${more} more characters)` : content;
      return { content: shown, ...(isError === true ? { isError } : {}) };
    },
  };
}

/** One that cannot be started is down, and one that does not end is left: neither keeps the node from its own start and end. */
export function guardedChannel(channel: Channel): Channel {
  let failure: string | null = null;
  const guarded: Pick<Channel, "start" | "stop" | "state"> = {
    async start() {
      try {
        await inTime(async () => channel.start());
      } catch (error) {
        failure = `its plugin cannot start: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
    async stop() {
      await inTime(async () => channel.stop()).catch(() => undefined);
    },
    state: (): ChannelState => {
      if (failure !== null) return { state: "down", reason: failure };
      return channel.state?.() ?? { state: "up", reason: null };
    },
  };
  const members = new Map<PropertyKey, unknown>(Object.entries(guarded));
  // Recordings have one route, and that is the built-in channel's.
  members.set("voice", undefined);
  return new Proxy(channel, {
    get(target, key) {
      if (members.has(key)) return members.get(key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Its messages wait in the outbox until it is there. */
export function missingChannel(id: string, platform: string, why: string): Channel {
  return {
    id,
    platform,
    start: async () => undefined,
    stop: async () => undefined,
    state: () => ({ state: "down", reason: why }),
    send: async () => {
      throw new ChannelError("CHANNEL_CONNECTION_LOST", `The channel ${id} is not there: ${why}.`);
    },
    onMessage: () => undefined,
    onCommand: () => undefined,
  };
}

/** Its agents take their fallbacks. */
export function missingProvider(id: string, name: string, why: string): Provider {
  const failure = () => new ProviderError("PROVIDER_UNREACHABLE", `The provider ${id} is not there: ${why}.`);
  let model = "";
  return {
    id,
    name,
    hasModel: false,
    // biome-ignore lint/correctness/useYield: it has nothing to give.
    async *chatStream() {
      throw failure();
    },
    isAvailable: async () => false,
    getModel: () => model,
    setModel(given) {
      model = given;
    },
  };
}

async function inTime(work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it takes longer than ${CHANNEL_MS / 1_000} s`)), CHANNEL_MS);
  try {
    await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
