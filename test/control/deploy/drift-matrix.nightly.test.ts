/** Each part of a stack on Docker removed, stopped, paused, renamed or replaced by hand, one at a time and two at once. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { BREAKS, type Break } from "../../support/docker/breaks.ts";
import { healed } from "../../support/docker/healed.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type OperatedStack, prepareOperatedStack } from "../../support/docker/operated-stack.ts";

const ALL: readonly Break[] = Object.values(BREAKS);
/** Those that touch the same container, or everything, cannot be made together. */
const PAIRS = [
  [BREAKS.nodeRemoved, BREAKS.databaseRemoved],
  [BREAKS.nodeStopped, BREAKS.databasePaused],
  [BREAKS.nodePaused, BREAKS.databaseRemoved],
  [BREAKS.nodeRenamed, BREAKS.databaseRenamed],
  [BREAKS.nodeReplaced, BREAKS.nodeDisconnected],
  [BREAKS.nodeLimited, BREAKS.filesRemoved],
  [BREAKS.networkRemoved, BREAKS.databaseStopped],
  [BREAKS.volumeRemoved, BREAKS.databaseStopped],
] as const;

describe.skipIf(lacks("docker", "pulumi-docker", "pulumi-command"))("every part of a stack on Docker", () => {
  let stack: OperatedStack;

  beforeAll(async () => {
    stack = await prepareOperatedStack(["one", "two"]);
    await stack.up();
    await stack.sql("CREATE TABLE kept AS SELECT n, md5(n::text) FROM generate_series(1, 100) AS n");
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.remove());

  it.each(ALL.map((one) => [one.does, one] as const))("%s", async (_words, one) => {
    await healed(stack, [one]);
  });

  it.each(PAIRS.map(([one, other]) => [one.does, other.does, one, other] as const))(
    "%s, and %s",
    async (_one, _other, ...both) => {
      await healed(stack, both);
    },
  );

  it("has all its rows in the end", async () => {
    expect(await stack.sql("SELECT count(*) FROM kept WHERE md5(n::text) = md5")).toBe("100");
  });
});
