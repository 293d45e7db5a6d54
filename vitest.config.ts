/** One Vitest project for each lane, so that `vitest run --project unit` and `vitest run test/some/path` both work. */

import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { CACHE } from "./scripts/lib/paths.js";
import { LANES } from "./test/lanes/lanes.ts";
import { filesInMemory } from "./test/lanes/memory-files.ts";
import { pathWithEngine } from "./test/lanes/pulumi/engine.ts";
import { QUICK_START } from "./test/lanes/quick-start.ts";
import InterleavedLanes from "./test/lanes/sequencer.ts";

const memory = filesInMemory();

export default defineConfig({
  test: {
    // Half of the suite's time is waiting for deadlines, containers and servers: four workers keep two cores busy.
    maxWorkers: 4,
    sequence: { sequencer: InterleavedLanes },
    passWithNoTests: true,
    teardownTimeout: 120_000,
    projects: LANES.map((lane) => ({
      test: {
        name: lane.name,
        include: [...lane.include],
        exclude: ["**/node_modules/**", "**/dist/**", ...lane.exclude],
        setupFiles: ["test/support/no-model-servers.js", ...(lane.name === "pure" ? ["test/lanes/pure-guard.ts"] : [])],
        pool: lane.shares === "thread" ? ("threads" as const) : ("forks" as const),
        isolate: lane.shares === null,
        ...(lane.postgres ? { execArgv: [...QUICK_START] } : {}),
        testTimeout: lane.timeoutMs,
        hookTimeout: lane.timeoutMs,
        // docs/decisions/025-seeds-and-repetitions.md
        alias: { "fast-check": join(import.meta.dirname, "test/lanes/fast-check.ts") },
        retry: Number(process.env.CAIRN_TEST_RETRIES ?? 0),
        // A busy machine is slow, not broken: what is polled for may take as long as its test.
        expect: { poll: { timeout: lane.timeoutMs / 2 } },
        env: {
          // An engine that was built for the tests is on no PATH.
          PATH: pathWithEngine(),
          // What tests start is compiled once, not by each of some thousand processes.
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(CACHE, "compile"),
          ...(lane.postgres && lane.always ? memory : {}),
        },
        unstubEnvs: true,
        restoreMocks: true,
        ...(lane.postgres ? { globalSetup: ["test/lanes/postgres-setup.ts"] } : {}),
      },
    })),
  },
});
