import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createWatch } from "../../../../../runtime/plugins/providers/shared/watch.ts";

/** The watch over one call, with a body that comes when the test says so, and a clock that stands still meanwhile. */

const TIMEOUT_MS = 1_000;
const BYTES = new TextEncoder().encode("data: {}\n\n");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
});

async function answered(status = 200) {
  const { promise, resolve } = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const body = new ReadableStream<Uint8Array>({ start: resolve });
  const watch = createWatch({ timeoutMs: TIMEOUT_MS, fetch: async () => new Response(body, { status }) });
  const response = await watch.fetch("http://127.0.0.1/");
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("there is no body");
  return { watch, reader, server: await promise };
}

describe("the watch over a call", () => {
  it("waits for a slow stream as long as something comes, and gives up once nothing does", async () => {
    const { watch, reader, server } = await answered();
    for (let n = 0; n < 10; n += 1) {
      const read = reader.read();
      await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
      server.enqueue(BYTES);
      expect(await read).toEqual({ done: false, value: BYTES });
    }
    expect(watch.stalled()).toBe(false);
    void reader.read();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    expect(watch.stalled()).toBe(true);
    expect(watch.signal.reason).toMatchObject({ name: "TimeoutError" });
  });

  it("does not take a slow reader for a stalled server", async () => {
    const { watch, reader, server } = await answered();
    for (let n = 0; n < 3; n += 1) server.enqueue(BYTES);
    for (let n = 0; n < 3; n += 1) {
      expect(await reader.read()).toEqual({ done: false, value: BYTES });
      await vi.advanceTimersByTimeAsync(10 * TIMEOUT_MS);
    }
    expect(watch.stalled()).toBe(false);
  });

  it("gives up on a server that never answers", async () => {
    const watch = createWatch({ timeoutMs: TIMEOUT_MS, fetch: () => new Promise(() => {}) });
    void watch.fetch("http://127.0.0.1/");
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
    expect(watch.stalled()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(watch.stalled()).toBe(true);
  });

  it("reads 64 KiB of the body of an error, and all of an answer", async () => {
    const whole = async (status: number) => {
      const { reader, server } = await answered(status);
      const chunk = new Uint8Array(50_000);
      for (let n = 0; n < 4; n += 1) server.enqueue(chunk);
      if (status === 200) server.close();
      let bytes = 0;
      for (let read = await reader.read(); !read.done; read = await reader.read()) bytes += read.value.byteLength;
      return bytes;
    };
    expect(await whole(500)).toBe(65_536);
    expect(await whole(200)).toBe(200_000);
  });

  it.each([
    ["lines that carry nothing", "\n", 512, "more than 512 MiB"],
    ["one line", "x", 8, "more than 8 MiB in one line"],
  ])("gives up on a body without an end: %s", async (_what, filling, most, bound) => {
    const chunk = new TextEncoder().encode(":".padEnd(1024 * 1024, filling));
    let sent = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(sink) {
        sent += 1;
        sink.enqueue(chunk);
      },
      cancel() {
        cancelled = true;
      },
    });
    const watch = createWatch({ timeoutMs: TIMEOUT_MS, fetch: async () => new Response(body) });
    const reader = (await watch.fetch("http://127.0.0.1/")).body?.getReader();
    const reading = async () => {
      while (await reader?.read());
    };
    await expect(reading()).rejects.toMatchObject({ failure: { kind: "endless", bound } });
    expect(cancelled).toBe(true);
    // The one too many, and what the body has in store.
    expect(sent).toBeLessThanOrEqual(most + 3);
  });
});
