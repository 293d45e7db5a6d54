/** Nodes that do not start, on Docker: said with their last words long before any deadline, and what they had comes back. */

import { readFileSync, statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CairnError } from "../../../runtime/contracts/errors.ts";
import { lacks } from "../../lanes/tools.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type OperatedStack, prepareOperatedStack } from "../../support/docker/operated-stack.ts";
import { docker, failingImage } from "../../support/docker-lane.ts";

const CRASHES = `console.log("reading the configuration"); throw new Error("this program cannot start");`;
const CRASHES_LATER = `setTimeout(() => { console.error("the disk is gone"); process.exit(4); }, 20_000);`;
const NEEDS_MEMORY = `const all = []; setInterval(() => all.push(Buffer.alloc(4e6, 1)), 1);`;
const NEVER_READY = `console.log("waiting for nothing"); setInterval(() => undefined, 1_000);
process.on("SIGTERM", () => process.exit(0));`;

describe.skipIf(lacks("docker", "pulumi-docker", "pulumi-command"))("a node that does not start", () => {
  let stack: OperatedStack;
  let images: Record<"crashes" | "later" | "greedy" | "never", string>;

  const failure = (work: Promise<unknown>): Promise<CairnError> =>
    work.then(
      () => expect.unreachable("it has to fail"),
      (error: CairnError) => error,
    );
  const runs = (node: string) =>
    docker("inspect", "--format", "{{.Config.Image}} {{.State.Status}}", `${stack.name}-${node}`);

  beforeAll(async () => {
    stack = await prepareOperatedStack(["one"]);
    const { node } = await ensureTestImages();
    images = {
      crashes: await failingImage(node, CRASHES),
      later: await failingImage(node, CRASHES_LATER),
      greedy: await failingImage(node, NEEDS_MEMORY),
      never: await failingImage(node, NEVER_READY),
    };
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.remove());

  it("at the first start of the stack is left as it is", async () => {
    const error = await failure(stack.up({ image: images.crashes }));
    expect(error.message).toMatch(
      /^The node one does not start: it ends again and again.*; it is the first start of one, so there is nothing to go back to, and it is left as it is\.$/,
    );
    expect(error.details.lastWords?.join("\n")).toContain("this program cannot start");
    expect(statSync(error.details.log ?? "").mode & 0o777).toBe(0o600);
    // Docker starts it again and again; while it runs, Docker knows nothing of its health yet.
    await expect
      .poll(async () => (await stack.status()).nodes, { timeout: 60_000 })
      .toMatchObject([{ name: "one", health: "unhealthy" }]);
    // The same stack, as it should be.
    const standIn = JSON.parse(readFileSync(`${stack.dir}/infra/release.json`, "utf8")).built.id;
    expect(await stack.up({ image: standIn })).toMatchObject({ healthy: true });
    await stack.sql("CREATE TABLE kept AS SELECT 1 AS n");
  });

  it.each([
    ["that crashes at its start", "crashes", "Error: this program cannot start"],
    ["that crashes after 20 s", "later", "the disk is gone"],
  ] as const)("with an image %s gets back what it had", async (_words, image, words) => {
    const before = await runs("one");
    const error = await failure(stack.up({ image: images[image] }));
    expect(error.message).toMatch(
      /^The node one does not start: it ends again and again.*; what one had before serves again\.$/,
    );
    expect(error.details.lastWords?.join("\n")).toContain(words);
    expect(error.details.lastWords?.join("\n")).not.toMatch(/^\s*at /m);
    expect(await runs("one")).toBe(before);
    expect(await stack.status()).toMatchObject({ healthy: true });
    expect(await stack.preview()).toMatchObject({ changes: [], drift: [] });
    expect(await stack.sql("SELECT n FROM kept")).toBe("1");
  });

  it("with an image that needs more memory than its limit is said to, with the setting, and has a log", async () => {
    const error = await failure(stack.up({ image: images.greedy }));
    expect(error.message).toContain(
      "The node one does not start: it ends again and again: it needs more memory than its limit of 256Mi (deployment.nodes[].memory or deployment.docker.memory); what one had",
    );
    expect(readFileSync(error.details.log ?? "", "utf8")).toContain("It has written nothing");
    expect(await stack.status()).toMatchObject({ healthy: true });
  });

  it("with an image that is never ready gets it back when its time is over", async () => {
    const before = await runs("one");
    // Ten times as fast: its 300 seconds take thirty.
    const began = Date.now();
    const now = () => new Date(began + (Date.now() - began) * 10);
    const error = await failure(stack.up({ image: images.never }, { now }));
    expect(error.message).toContain("it is not ready after 300 s");
    expect(error.message).toMatch(/; what one had before serves again\.$/);
    expect(error.details.lastWords).toContain("waiting for nothing");
    expect(await runs("one")).toBe(before);
    expect(await stack.status()).toMatchObject({ healthy: true });
  });
});
