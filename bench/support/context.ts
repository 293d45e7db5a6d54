/** What a bench is handed, and the end of everything that it started. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type PostgresServer, startPostgres } from "../../test/lanes/postgres.ts";
import type { BenchContext, TimedFigure, Variants } from "./bench.ts";
import type { Report } from "./report.ts";
import { stats } from "./stats.ts";

/** One private server for all benches of a run, started when the first asks for it. */
export class SharedPostgres {
  #server: Promise<PostgresServer> | undefined;

  /** Creates an empty database and returns its connection string. CAIRN_TEST_PG_URL may name a server to use instead. */
  async database(): Promise<string> {
    const given = process.env.CAIRN_TEST_PG_URL;
    if (!given) this.#server ??= startPostgres();
    const url = new URL(given || ((await this.#server)?.url ?? ""));
    const name = `bench_${randomUUID().replaceAll("-", "")}`;
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query(`CREATE DATABASE ${name}`);
    } finally {
      await client.end();
    }
    url.pathname = `/${name}`;
    return url.href;
  }

  async stop(): Promise<void> {
    await (await this.#server)?.stop();
  }
}

export class Context implements BenchContext {
  readonly signal: AbortSignal;
  readonly #report: Report;
  readonly #postgres: SharedPostgres;
  readonly #ends: (() => Promise<void> | void)[] = [];

  readonly #options: ReadonlyMap<string, string>;

  constructor(
    report: Report,
    postgres: SharedPostgres,
    signal: AbortSignal,
    options: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#report = report;
    this.#postgres = postgres;
    this.signal = signal;
    this.#options = options;
  }

  option(name: string): string | undefined {
    return this.#options.get(name);
  }

  postgres(): Promise<string> {
    return this.#postgres.database();
  }

  async folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), "cairn-bench-"));
    this.defer(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  defer(end: () => Promise<void> | void): void {
    this.#ends.push(end);
  }

  async time({ times, warmUp = 1, ...figure }: TimedFigure, once: (n: number) => Promise<void>) {
    for (let n = 0; n < warmUp; n += 1) await this.#milliseconds(once, n);
    this.#report.begin();
    const values: number[] = [];
    for (let n = 0; n < times; n += 1) values.push(await this.#milliseconds(once, warmUp + n));
    return this.#report.samples({ ...figure, unit: "ms" }, values);
  }

  async compare({ times, warmUp = 1, name }: TimedFigure, { a, b }: Variants): Promise<void> {
    const values = { a: [] as number[], b: [] as number[] };
    for (let n = 0; n < warmUp + times; n += 1) {
      if (n === warmUp) this.#report.begin();
      const pair = {
        a: await this.#milliseconds((k) => a.once(k), n),
        b: await this.#milliseconds((k) => b.once(k), n),
      };
      if (n < warmUp) continue;
      values.a.push(pair.a);
      values.b.push(pair.b);
    }
    // The load was the same for all three: they were measured together.
    this.#report.together(() => {
      for (const [variant, times] of [
        [a, values.a],
        [b, values.b],
      ] as const) {
        const { goal } = variant;
        this.#report.samples({ name: `${name}: ${variant.name}`, unit: "ms", ...(goal ? { goal } : {}) }, times);
      }
      const ratio = stats(values.b).p50 / stats(values.a).p50;
      this.#report.value({ name: `${name}: ${b.name} / ${a.name}, medians`, unit: "x" }, ratio);
    });
  }

  begin(): void {
    this.#report.begin();
  }

  together(report: () => void): void {
    this.#report.together(report);
  }

  samples(...args: Parameters<BenchContext["samples"]>) {
    return this.#report.samples(...args);
  }

  value(...args: Parameters<BenchContext["value"]>): void {
    this.#report.value(...args);
  }

  /** Ends everything, last started first; a failure to end one does not keep the others. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        process.stderr.write(`cleaning up: ${String(error)}\n`);
      }
    }
  }

  async #milliseconds(once: (n: number) => Promise<void>, n: number): Promise<number> {
    this.signal.throwIfAborted();
    const started = performance.now();
    await once(n);
    return performance.now() - started;
  }
}
