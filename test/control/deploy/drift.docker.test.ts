/** What was changed by hand on Docker, two parts at once: seen by status and preview, and healed by the same `up`. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { BREAKS } from "../../support/docker/breaks.ts";
import { healed } from "../../support/docker/healed.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type OperatedStack, prepareOperatedStack } from "../../support/docker/operated-stack.ts";
import { docker } from "../../support/docker-lane.ts";

describe.skipIf(lacks("docker", "pulumi-docker", "pulumi-command"))("a stack on Docker, changed by hand", () => {
  let stack: OperatedStack;

  beforeAll(async () => {
    stack = await prepareOperatedStack(["one", "two"]);
    await stack.up();
    await stack.sql("CREATE TABLE kept AS SELECT n, md5(n::text) FROM generate_series(1, 100) AS n");
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.remove());

  it("is shown with all its parts, and nothing is found", async () => {
    const status = await stack.status();
    expect(status).toMatchObject({ healthy: true, holder: null, working: false });
    expect(status.nodes).toMatchObject([
      { name: "one", state: "running", health: "healthy", restarts: 0, reason: null },
      { name: "two", state: "running", health: "healthy", restarts: 0, reason: null },
    ]);
    expect(Date.parse(status.nodes[0]?.since ?? "")).toBeGreaterThan(Date.now() - 3_600_000);
    expect(status.parts[0]).toMatchObject({ kind: "database", state: "running", health: "healthy", version: "17" });
    expect(
      status.parts.map(({ kind, name, state }) => `${kind} ${name.slice(stack.name.length + 1)} ${state}`).sort(),
    ).toEqual([
      "database postgres running",
      "files one.files present",
      "files postgres.files present",
      "files two.files present",
      "network  present",
      "volume one-home present",
      "volume one-workspace present",
      "volume postgres-data present",
      "volume two-home present",
      "volume two-workspace present",
    ]);
    expect(await stack.up()).toMatchObject({ healthy: true, drift: [], changes: [] });
  });

  it.each([
    ["a node removed, PostgreSQL stopped", [BREAKS.nodeRemoved, BREAKS.databaseStopped]],
    ["a node renamed, the other one replaced", [BREAKS.nodeRenamed, BREAKS.nodeReplaced]],
    ["the network removed", [BREAKS.networkRemoved]],
  ])("%s", async (_words, breaks) => {
    await healed(stack, breaks);
  });

  it("keeps a container of somebody else that stood under a node's name, stopped and under another one", async () => {
    const names = (
      await docker(
        "ps",
        "--all",
        "--filter",
        "label=made-by=hand",
        "--filter",
        `name=${stack.name}`,
        "--format",
        "{{.Names}} {{.State}}",
      )
    ).split("\n");
    expect(names).toEqual([expect.stringMatching(new RegExp(`^${stack.name}-one\\.aside-[0-9a-f]{12} exited$`))]);
    await docker("rm", "--force", names[0]?.split(" ")[0] ?? "");
  });

  it("says of data that are gone with their volume that they are", async () => {
    await BREAKS.volumeRemoved.make(stack.name);
    const { drift } = await stack.preview();
    expect(drift.filter(({ data_lost }) => data_lost)).toMatchObject([
      { kind: "missing", name: `${stack.name}-two-home`, node: "two" },
    ]);
    expect(await stack.up()).toMatchObject({ healthy: true });
    expect(await stack.preview()).toMatchObject({ drift: [], changes: [] });
  });
});
