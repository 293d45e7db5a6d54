import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/**
 * An encoder with one processor, in a process of its own: OpenAI's `/v1/embeddings`, one request after the other, each as
 * long as it is told. It notes when it worked, from the moment at which it began with a request to its answer.
 */

export interface BusyEncoder {
  readonly url: string;
  /** Since the last call: how long it worked, and the time from the beginning of its first request to the end of its last. */
  busy(): Promise<Busy>;
  close(): Promise<void>;
}

export interface Busy {
  readonly requests: number;
  readonly texts: number;
  readonly workedMs: number;
  readonly spanMs: number;
}

export interface EncoderOptions {
  /** How long each request takes. */
  readonly requestMs: number;
  readonly dimensions: number;
}

export async function startBusyEncoder({ requestMs, dimensions }: EncoderOptions): Promise<BusyEncoder> {
  const script = fileURLToPath(import.meta.url);
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [script, String(requestMs), String(dimensions)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const url = await firstLine(child.stdout);
  return {
    url,
    // The shape of `serve`, over HTTP.
    busy: async () => (await (await fetch(`${url}/busy`)).json()) as Busy,
    async close() {
      if (child.exitCode !== null) return;
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

async function firstLine(output: Readable): Promise<string> {
  for await (const line of createInterface({ input: output })) return line;
  throw new Error("The encoder ended before it listened.");
}

/** Different vectors, written once: making them takes no time that a real encoder would not take. */
const VECTORS = 256;

async function serve(requestMs: number, dimensions: number): Promise<void> {
  const written = Array.from({ length: VECTORS }, () =>
    JSON.stringify(Array.from({ length: dimensions }, () => Math.random() + Math.random() - 1)),
  );
  let turn: Promise<unknown> = Promise.resolve();
  let intervals: { readonly from: number; readonly to: number; readonly texts: number }[] = [];
  let next = 0;

  async function work(texts: number): Promise<void> {
    const from = performance.now();
    await sleep(requestMs);
    intervals.push({ from, to: performance.now(), texts });
  }

  const server = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url === "/busy") {
      const sum = (of: (one: (typeof intervals)[number]) => number) => intervals.reduce((all, one) => all + of(one), 0);
      const busy: Busy = {
        requests: intervals.length,
        texts: sum(({ texts }) => texts),
        workedMs: sum(({ from, to }) => to - from),
        spanMs: (intervals.at(-1)?.to ?? 0) - (intervals[0]?.from ?? 0),
      };
      intervals = [];
      response.end(JSON.stringify(busy));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const input: unknown = Reflect.get(Object(JSON.parse(Buffer.concat(chunks).toString("utf8"))), "input");
    const texts = Array.isArray(input) ? input.length : 1;
    const mine = turn.then(() => work(texts));
    turn = mine;
    await mine;
    const data = Array.from({ length: texts }, (_, index) => {
      next += 1;
      return `{"object":"embedding","index":${index},"embedding":${written[next % VECTORS]}}`;
    });
    response.end(
      `{"object":"list","model":"busy","data":[${data.join(",")}],"usage":{"prompt_tokens":1,"total_tokens":1}}`,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  process.stdin.once("end", () => process.exit(0)).resume();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(Number(process.argv[2]), Number(process.argv[3]));
