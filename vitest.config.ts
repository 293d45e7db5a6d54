/** One Vitest project for each lane, so that `vitest run --project unit` and `vitest run test/some/path` both work. */

import { defineConfig } from "vitest/config";
import { LANES } from "./test/lanes/lanes.ts";
import { pathWithEngine } from "./test/lanes/pulumi/engine.ts";

export default defineConfig({
  test: {
    // Two workers keep the whole suite within twelve minutes on two cores without starving the servers under test.
    maxWorkers: 2,
    passWithNoTests: true,
    teardownTimeout: 30_000,
    projects: LANES.map((lane, order) => ({
      test: {
        name: lane.name,
        include: [...lane.include],
        exclude: ["**/node_modules/**", "**/dist/**", ...lane.exclude],
        testTimeout: lane.timeoutMs,
        hookTimeout: lane.timeoutMs,
        // A busy machine is slow, not broken: what is polled for may take as long as its test.
        expect: { poll: { timeout: lane.timeoutMs / 2 } },
        // One lane after the other: those that start whole processes are not disturbed by the quick ones.
        sequence: { groupOrder: order },
        // An engine that was built for the tests is on no PATH.
        env: { PATH: pathWithEngine() },
        unstubEnvs: true,
        restoreMocks: true,
        ...(lane.postgres ? { globalSetup: ["test/lanes/postgres-setup.ts"] } : {}),
      },
    })),
  },
});
