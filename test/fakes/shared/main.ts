import { parseArgs } from "node:util";
import type { FakeOptions, FakeServer } from "./server.ts";

/**
 * Runs a fake as a process: `--port N` (default: a free one), `--api-key KEY`. Prints one line of JSON with its addresses
 * once it listens, and ends on SIGTERM or when its standard input closes.
 */
export async function runFake(start: (options: FakeOptions) => Promise<FakeServer>): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: "string" }, "api-key": { type: "string" } } });
  const apiKey = values["api-key"];
  const fake = await start({ port: Number(values.port ?? 0), ...(apiKey === undefined ? {} : { apiKey }) });
  process.stdout.write(`${JSON.stringify({ url: fake.url, baseUrl: fake.baseUrl, pid: process.pid })}\n`);
  const end = (): void => {
    process.stdin.destroy();
    void fake.close().catch(() => undefined);
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
  process.stdin.once("end", end).resume();
}
