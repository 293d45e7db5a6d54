/** The two servers of an upgrade with a docker that is played: the words of its programs. */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { databaseServers } from "../../../../../../control/deploy/drivers/docker/host/database-servers.ts";
import type { DockerPlan } from "../../../../../../infra/plan/types.ts";

let directory: string;

describe("copying to another major", () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "cairn-played-docker-"));
    const program = join(directory, "docker");
    writeFileSync(program, `#!/bin/sh\necho "$*" >> '${directory}/calls'\n`);
    chmodSync(program, 0o755);
    vi.stubEnv("PATH", `${directory}:${process.env["PATH"]}`);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true, force: true });
  });

  it.each([15, 16, 17])("asks the pg_dump of PostgreSQL %i for nothing that it does not know", async (major) => {
    const plan = { stack: "lab", host: "local" } as DockerPlan;
    await databaseServers(plan, null).copy(major, new AbortController().signal);
    const dump = readFileSync(join(directory, "calls"), "utf8")
      .split("\n")
      .find((line) => line.includes("pg_dump"));
    // `--large-objects` came with 16, `--exclude-extension` with 17.
    expect(dump).not.toContain("--large-objects");
    if (major < 17) expect(dump).toMatch(/--extension=plpgsql -b$/);
    else expect(dump).toMatch(/--exclude-extension=\*$/);
  });
});
