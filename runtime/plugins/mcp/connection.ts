/** One connection to a server, from its handshake to its end: what is asked of it has a deadline, and its end has a reason. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  McpError,
  type Progress,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { z } from "zod";
import { ConnectionFailure } from "./connection-failure.ts";
import { callFailure, connectionReason, notConnected, stopped, timedOut } from "./failures.ts";
import { createHttpTransport } from "./http-transport.ts";
import { jsonSize } from "./json-size.ts";
import {
  CONNECT_MS,
  LIST_MS,
  LONGEST_TIMER_MS,
  MAX_LIST_CHARS,
  MAX_MESSAGE_BYTES,
  MAX_PAGES,
  MAX_TOOLS,
  MAX_UNASKED,
  PING_EVERY_MS,
  PING_MS,
  UNASKED_MS,
} from "./limits.ts";
import type { McpServerSettings } from "./settings.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { createUnaskedCount } from "./unasked-messages.ts";

export interface ConnectionDeps {
  readonly version: string;
  /** Of a server's program. */
  readonly env: Readonly<Record<string, string>>;
  onToolsChanged(): void;
  /** What came that is no message, or did not come; in words of ours. */
  onError(reason: string): void;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  onProgress(progress: Progress): void;
}

/** What a server answered: its result, or the error that it gave in place of one. */
export type Answer = { readonly result: CallToolResult } | { readonly refusal: string };

export interface McpConnection {
  /** Resolves with the reason. */
  readonly ended: Promise<string>;
  /** The tools as they came, at most one more than are taken. ConnectionFailure when the list does not come whole and in time. */
  list(signal: AbortSignal): Promise<readonly unknown[]>;
  /** Rejects with a ToolError when there is no answer. */
  call(tool: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<Answer>;
  /** Resolves when nothing of it is left. */
  close(): Promise<void>;
  /** The end of what a program wrote to its error output. */
  errorOutput(): string;
}

/** Checked one by one: a tool that is none must not cost the others. */
const pageSchema = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const pongSchema = z.object({});

/** Nothing here asks the library to check a result; its own validator takes long to make. */
const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: "not checked" }),
};

/** Rejects with a ConnectionFailure. */
export async function connect(
  settings: McpServerSettings,
  deps: ConnectionDeps,
  signal: AbortSignal,
): Promise<McpConnection> {
  const { id, target } = settings;
  const ended = Promise.withResolvers<string>();
  let reason: string | null = null;
  let isOpen = false;
  let pinging: Promise<void> | null = null;
  let pings: NodeJS.Timeout | undefined;
  const client = new Client({ name: "cairn", version: deps.version }, { jsonSchemaValidator: NO_VALIDATOR });
  const { transport, leave, dispose, endReason, errorOutput } = openTransport(settings, deps.env, () =>
    end(`it sent a message of more than ${MAX_MESSAGE_BYTES / 1024 ** 2} MiB`),
  );

  function end(why: string): void {
    if (reason !== null) return;
    reason = why;
    clearInterval(pings);
    ended.resolve(why);
    void client.close().catch(() => undefined);
  }

  async function close(): Promise<void> {
    const leaves = isOpen && reason === null;
    isOpen = false;
    if (leaves) await leave();
    end("it was disconnected");
    await transport.close().catch(() => undefined);
    await dispose();
  }

  /** Ends the connection when the server does not answer; one question at a time. */
  function ping(): Promise<void> {
    pinging ??= client
      .request({ method: "ping" }, pongSchema, { timeout: PING_MS })
      .then(
        () => undefined,
        (error: unknown) => {
          // A server that knows no ping has answered all the same.
          if (!(error instanceof McpError) || !isAnswer(error)) end(connectionReason(error));
        },
      )
      .finally(() => {
        pinging = null;
      });
    return pinging;
  }

  const isTooMuch = createUnaskedCount();
  function countUnasked(): void {
    if (isTooMuch()) end(`it sent more than ${MAX_UNASKED} messages in ${UNASKED_MS / 1_000} s without being asked`);
  }

  // The library calls it before its own.
  transport.onmessage = (message) => {
    if ("method" in message) countUnasked();
  };
  client.onclose = () => {
    // The library closes what could not be opened: the reason is its error then.
    if (isOpen || endReason() !== null) end(endReason() ?? "it closed the connection");
  };
  client.onerror = (error) => {
    countUnasked();
    deps.onError(connectionReason(error));
    // A stream that broke may be all that is seen of a server that has ended.
    if (target.kind === "http" && reason === null && isOpen) void ping();
  };
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => deps.onToolsChanged());

  try {
    const connecting = client.connect(transport, { signal, timeout: CONNECT_MS });
    await Promise.race([connecting, ended.promise.then((why) => Promise.reject(new Error(why)))]);
  } catch (error) {
    const why = reason ?? endReason() ?? connectionReason(error);
    await close();
    throw new ConnectionFailure(why, { cause: error });
  }
  isOpen = true;
  if (target.kind === "http") pings = setInterval(() => void ping(), PING_EVERY_MS).unref();

  return {
    ended: ended.promise,
    errorOutput,
    close,
    async list(whole) {
      if (client.getServerCapabilities()?.tools === undefined) return [];
      const own = AbortSignal.any([whole, AbortSignal.timeout(LIST_MS)]);
      const ask = (params: object) =>
        client
          .request({ method: "tools/list", params: { ...params } }, pageSchema, { signal: own, timeout: LIST_MS })
          .catch((error: unknown) => {
            throw new ConnectionFailure(`its tools cannot be read: ${reason ?? connectionReason(error)}`, {
              cause: error,
            });
          });
      const tools: unknown[] = [];
      let chars = 0;
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES && tools.length <= MAX_TOOLS; page += 1) {
        const listed = await ask(cursor === undefined ? {} : { cursor });
        chars += jsonSize(listed.tools, MAX_LIST_CHARS);
        if (chars > MAX_LIST_CHARS) {
          throw new ConnectionFailure(`its list of tools has more than ${MAX_LIST_CHARS / 1024 ** 2} MiB`);
        }
        tools.push(...listed.tools.slice(0, MAX_TOOLS + 1));
        cursor = listed.nextCursor;
        if (cursor === undefined) break;
      }
      return tools.slice(0, MAX_TOOLS + 1);
    },
    async call(tool, args, { signal: turn, timeoutMs, onProgress }) {
      if (reason !== null) throw notConnected(id, reason);
      if (turn?.aborted) throw stopped();
      // The library keeps its listener on the signal that it is given: one of this call alone.
      const own = new AbortController();
      const stop = () => own.abort("the turn was stopped");
      turn?.addEventListener("abort", stop, { once: true });
      const timer = setTimeout(() => own.abort("the deadline has passed"), timeoutMs);
      try {
        const result = await client.request(
          { method: "tools/call", params: { name: tool, arguments: { ...args } } },
          CallToolResultSchema,
          { signal: own.signal, timeout: LONGEST_TIMER_MS, onprogress: onProgress },
        );
        return { result };
      } catch (error) {
        if (turn?.aborted) throw stopped();
        if (own.signal.aborted) {
          void ping();
          throw timedOut(id, timeoutMs);
        }
        if (reason === null && error instanceof McpError && isAnswer(error)) return { refusal: error.message };
        if (error instanceof StreamableHTTPError && error.code === 404) end("its session has ended");
        throw callFailure(id, error, reason);
      } finally {
        clearTimeout(timer);
        turn?.removeEventListener("abort", stop);
      }
    },
  };
}

interface Opened {
  readonly transport: Transport;
  /** Tells the server that the connection will not be used any more. */
  leave(): Promise<void>;
  dispose(): Promise<void>;
  /** Why a program ended; null while it runs. */
  endReason(): string | null;
  errorOutput(): string;
}

function openTransport(
  { target }: McpServerSettings,
  env: Readonly<Record<string, string>>,
  onTooLarge: () => void,
): Opened {
  if (target.kind === "http") {
    const { transport, leave, dispose } = createHttpTransport(target, onTooLarge);
    // The library's class has optional properties where its interface has none that are undefined.
    return { transport: transport as Transport, leave, dispose, endReason: () => null, errorOutput: () => "" };
  }
  const transport = new StdioTransport(target, env);
  return {
    transport,
    leave: async () => undefined,
    dispose: async () => undefined,
    endReason: () => transport.endReason,
    errorOutput: () => transport.errorOutput,
  };
}

/** Whether the server gave the error itself; the library's own have these two codes. */
function isAnswer({ code }: McpError): boolean {
  return code !== ErrorCode.ConnectionClosed && code !== ErrorCode.RequestTimeout;
}
