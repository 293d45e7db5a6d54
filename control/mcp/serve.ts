/**
 * The Model Context Protocol on standard input and output, handed to a node message by message: which tools there are, and
 * what they answer, is the node's. Nothing but the protocol is written to the output.
 */

import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { isJSONRPCNotification, isJSONRPCRequest, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { Client } from "../../runtime/client/index.ts";
import { describeFailure } from "../output/failure.ts";

/** Bytes of a message: what a node takes, and the frame around it. */
const MAX_MESSAGE_BYTES = 33 * 1024 * 1024;
const INTERNAL_ERROR = -32_603;

type MessageId = string | number;

export interface McpStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends at once; calls that run are aborted. */
  readonly signal: AbortSignal;
  /** Gets what could not be read, or not be delivered, in words. */
  readonly warn: (text: string) => void;
}

/**
 * Resolves when the input has ended and what came before that is answered. Rejects with the signal's reason, or with the
 * error that makes it impossible to read on.
 */
export async function serveMcp(
  client: Pick<Client, "mcp">,
  { input, output, signal, warn }: McpStreams,
): Promise<void> {
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES });
  const calls = new Map<MessageId, AbortController>();
  const running = new Set<Promise<void>>();
  const ended = Promise.withResolvers<void>();
  let lastError: Error | undefined;

  async function forward(message: JSONRPCMessage): Promise<void> {
    const id = isJSONRPCRequest(message) ? message.id : undefined;
    const call = new AbortController();
    if (id !== undefined) calls.set(id, call);
    try {
      const answer = await client.mcp(message, { signal: AbortSignal.any([signal, call.signal]) });
      if (answer !== null && id !== undefined) await send({ ...answer, id });
    } catch (error) {
      // A cancelled call gets no answer.
      if (signal.aborted || call.signal.aborted) return;
      const { body } = describeFailure(error);
      if (id === undefined) warn(`A message was not delivered: ${body.message}`);
      else await send({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message: wordsOf(body), data: body } });
    } finally {
      if (id !== undefined && calls.get(id) === call) calls.delete(id);
    }
  }

  // What a node answers is of the protocol, and so is what is sent in its place.
  const send = (answer: object) => transport.send(answer as JSONRPCMessage);

  transport.onmessage = (message) => {
    const cancelled = cancelledCall(message);
    if (cancelled !== undefined) {
      calls.get(cancelled)?.abort();
      return;
    }
    const done = forward(message).finally(() => running.delete(done));
    running.add(done);
  };
  transport.onerror = (error) => {
    lastError = error;
    warn(`A message could not be read: ${error.message.split("\n", 1)[0]}`);
  };
  transport.onclose = () => ended.reject(lastError ?? new Error("The input was closed."));
  const onEnd = () => ended.resolve();
  const onAbort = () => ended.reject(signal.reason);
  input.once("end", onEnd).once("close", onEnd);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await transport.start();
    await ended.promise;
    const answered = Promise.all(running);
    const aborted = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
    await Promise.race([answered, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    input.off("end", onEnd).off("close", onEnd);
    transport.onclose = () => undefined;
    for (const call of calls.values()) call.abort();
    await transport.close();
  }
}

/** The call that a client no longer wants: over HTTP the node only notices that the request was closed. */
function cancelledCall(message: JSONRPCMessage): MessageId | undefined {
  if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

function wordsOf({ message, hint }: { readonly message: string; readonly hint?: string }): string {
  return hint === undefined ? message : `${message} ${hint}`;
}
