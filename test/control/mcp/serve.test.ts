import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { serveMcp } from "../../../control/mcp/serve.ts";
import type { CallOptions } from "../../../runtime/client/types.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";

type Post = (message: object, options?: CallOptions) => Promise<object | null>;

function session(post: Post) {
  const input = new PassThrough();
  const output = new PassThrough();
  const stop = new AbortController();
  const warnings: string[] = [];
  const done = serveMcp(
    { mcp: post },
    { input, output, signal: stop.signal, warn: (warning) => void warnings.push(warning) },
  );
  done.catch(() => undefined);
  const say = (...messages: object[]) => {
    for (const message of messages) input.write(`${JSON.stringify(message)}\n`);
  };
  const printed = text(output);
  /** All that was printed, line by line, once the input has ended. */
  const answers = async () => {
    input.end();
    await done;
    output.end();
    return (await printed)
      .split("\n")
      .filter((line) => line !== "")
      .map((line): unknown => JSON.parse(line));
  };
  return { input, say, answers, done, stop, warnings };
}

const request = (id: number | string, method = "ping", params: object = {}) => ({ jsonrpc: "2.0", id, method, params });
const result = (id: number | string) => ({ jsonrpc: "2.0", id, result: {} });
const echo: Post = async (message) => ("id" in message ? result(message.id as number) : null);

describe("the Model Context Protocol on standard input", () => {
  test("answers each message as the node does, until the input ends", async () => {
    const seen: object[] = [];
    const { say, answers } = session(async (message) => {
      seen.push(message);
      return echo(message);
    });
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    say(request(0, "initialize"), notification, request("one"));
    expect(await answers()).toEqual([result(0), result("one")]);
    expect(seen).toEqual([request(0, "initialize"), notification, request("one")]);
  });

  test("answers what was asked before the input ended", async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { say, answers } = session(() => promise);
    say(request(7));
    const all = answers();
    resolve(result(7));
    expect(await all).toEqual([result(7)]);
  });

  test("does not let a slow call hold up another", async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { say, answers } = session(async (message) => {
      if ("id" in message && message.id === 1) return promise;
      setImmediate(() => resolve(result(1)));
      return echo(message);
    });
    say(request(1), request(2));
    expect(await answers()).toEqual([result(2), result(1)]);
  });

  test("aborts a call that is cancelled, answers nothing to it, and passes nothing on", async () => {
    const begun = Promise.withResolvers<void>();
    const methods: unknown[] = [];
    let aborted = false;
    const { say, answers } = session(async (message, { signal } = {}) => {
      methods.push(Reflect.get(message, "method"));
      if (Reflect.get(message, "method") !== "tools/call") return echo(message);
      begun.resolve();
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        });
      });
    });
    say(request(0, "tools/call"));
    await begun.promise;
    say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } }, request(1));
    expect(await answers()).toEqual([result(1)]);
    expect(aborted).toBe(true);
    expect(methods).toEqual(["tools/call", "ping"]);
  });

  test("tells an error of the way to the node under the id of the request", async () => {
    const { say, answers, warnings } = session(async () => {
      throw new MemoryError("MEMORY_UNAVAILABLE", "The store is unavailable.", { hint: "Wait." });
    });
    say(request(3), { jsonrpc: "2.0", method: "notifications/initialized" });
    expect(await answers()).toEqual([
      {
        jsonrpc: "2.0",
        id: 3,
        error: {
          code: -32_603,
          message: "The store is unavailable. Wait.",
          data: expect.objectContaining({ code: "MEMORY_UNAVAILABLE", retryable: true }),
        },
      },
    ]);
    expect(warnings).toEqual(["A message was not delivered: The store is unavailable."]);
  });

  test("gives a refusal of the node the id that it could not know", async () => {
    const refusal = { jsonrpc: "2.0", id: null, error: { code: -32_600, message: "The token is not valid." } };
    const { say, answers } = session(async () => refusal);
    say(request("x"));
    expect(await answers()).toEqual([{ ...refusal, id: "x" }]);
  });

  test("skips a line that is no message, and says so", async () => {
    const { input, say, answers, warnings } = session(echo);
    input.write("hello\n");
    input.write('{"jsonrpc":"1.0"}\n');
    say(request(1));
    expect(await answers()).toEqual([result(1)]);
    expect(warnings).toHaveLength(2);
  });

  test("reads messages in pieces, and several at once", async () => {
    const { input, answers } = session(echo);
    const lines = `${JSON.stringify(request(1))}\r\n${JSON.stringify(request(2, "ping", { text: "zwölf 😀" }))}\n`;
    for (const byte of Buffer.from(lines)) input.write(Buffer.of(byte));
    expect(await answers()).toEqual([result(1), result(2)]);
  });

  test("ends with an error when a message never ends", async () => {
    const { input, done } = session(echo);
    const piece = Buffer.alloc(8 * 1024 * 1024, "x");
    for (let written = 0; written < 5; written++) input.write(piece);
    await expect(done).rejects.toThrow(/size|large|exceed/i);
  });

  test("ends at once when it is told to, and aborts what runs", async () => {
    const begun = Promise.withResolvers<void>();
    let aborted = false;
    const { say, done, stop } = session((_message, { signal } = {}) => {
      begun.resolve();
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        });
      });
    });
    say(request(1));
    await begun.promise;
    stop.abort(new Error("stopped"));
    await expect(done).rejects.toThrow("stopped");
    expect(aborted).toBe(true);
  });
});
