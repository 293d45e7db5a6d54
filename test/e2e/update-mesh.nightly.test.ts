/** `update --mesh` of three containers on the real Docker engine, under a steady load of turns. */

import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import type { UpdateHistory, UpdatePlan, UpdateResult } from "../../control/update/result.ts";
import { lacks } from "../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { TYPED_TOKEN, type TypedStack, typedStack } from "../support/docker/typed-stack.ts";
import { docker } from "../support/docker-lane.ts";
import { type LoadReport, startLoad, summaryOf } from "../support/fleet-load.ts";
import { operator } from "../support/operator.ts";

/** Twice as long as it takes where other suites share the processors. */
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;
const NODES = ["a", "b", "c"];

/** Another image of the same program. `steps`: lines of a Dockerfile on top of it. */
async function imageOf(stack: TypedStack, tag: string, steps = `LABEL test.image=${tag}`): Promise<string> {
  const image = `${stack.name}:${tag}`;
  await execa("docker", ["build", "--quiet", "--tag", image, "-"], { input: `FROM ${stack.name}:1\n${steps}\n` });
  onTestFinished(async () => void (await docker("image", "rm", "--force", image)));
  return image;
}

const loadOn = (stack: TypedStack) =>
  startLoad(
    Object.fromEntries(NODES.map((name, index) => [name, `http://127.0.0.1:${stack.ports[index]}`])),
    TYPED_TOKEN,
  );

/** Every message was accepted once, and answered once. */
async function expectAnswered(stack: TypedStack, { sent, answered }: LoadReport): Promise<void> {
  expect(answered).toBe(sent);
  const counts = await stack.sql(
    `select (select count(*) from inbox), (select count(*) from turns where state = 'done'),
       (select count(*) from outbox), (select count(*) from messages where role = 'user' and content like 'Remember the word%'),
       (select count(distinct content) from messages where role = 'user' and content like 'Remember the word%')`,
  );
  const [inbox, done, replies, asked, different] = counts.split("|").map(Number);
  expect({ done, replies }).toEqual({ done: inbox, replies: inbox });
  expect({ asked, different }).toEqual({ asked: sent, different: sent });
}

const imagesOf = async (stack: TypedStack): Promise<string[]> =>
  Promise.all(NODES.map((node) => docker("inspect", "--format", "{{.Image}}", `${stack.name}-${node}`)));

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))(
  "update --mesh of three containers",
  () => {
    it("gives each node the new image, no message is lost or answered twice, and two always serve", {
      timeout: LONG_MS,
    }, async () => {
      const stack = await typedStack(NODES);
      await stack.cairn("infra", "up", "--yes");
      await stack.keepRows();
      const image = await imageOf(stack, "2");
      const plan = await stack.cairn<UpdatePlan>("update", "--mesh", "--dry-run", "--prebuilt", image, "--canary", "b");
      expect(plan.nodes.map(({ name, ready }) => [name, ready])).toEqual([
        ["b", true],
        ["a", true],
        ["c", true],
      ]);
      const load = loadOn(stack);
      const result = await stack.cairn<UpdateResult>("update", "--mesh", "--prebuilt", image, "--canary", "b");
      const report = await load.stop();
      console.log(`update --mesh of three containers: ${summaryOf(report)}`);
      expect(result).toMatchObject({ outcome: "updated", restarted: true });
      await expectAnswered(stack, report);
      expect(report.fewest).toBe(2);
      expect(new Set(await imagesOf(stack)).size).toBe(1);
      await stack.expectWhole(NODES);
      const { rollouts } = await stack.cairn<UpdateHistory>("update", "--mesh", "--history");
      expect(rollouts).toMatchObject([{ outcome: "passed", done: ["b", "a", "c"] }]);
      // Nothing is left to apply.
      expect(await stack.cairn("infra", "preview")).toMatchObject({ changes: [] });
      const again = await stack.cairn<UpdateResult>("update", "--mesh", "--prebuilt", image);
      expect(again.outcome).toBe("unchanged");
    });

    it("changes two at a time after the canary where two may be out of service", { timeout: LONG_MS }, async () => {
      const stack = await typedStack(NODES);
      await stack.cairn("infra", "up", "--yes");
      const image = await imageOf(stack, "2");
      const load = loadOn(stack);
      const args = ["update", "--mesh", "--prebuilt", image, "--max-unavailable", "2"];
      const result = await stack.cairn<UpdateResult>(...args);
      const report = await load.stop();
      expect(result).toMatchObject({ outcome: "updated" });
      await expectAnswered(stack, report);
      expect(report.fewest).toBeGreaterThanOrEqual(1);
      expect(new Set(await imagesOf(stack)).size).toBe(1);
    });

    it("goes back where the image does not start, or ends after it was ready, and no message is lost meanwhile", {
      timeout: LONG_MS,
    }, async () => {
      const stack = await typedStack(NODES);
      await stack.cairn("infra", "up", "--yes");
      const before = await imagesOf(stack);
      const never = await imageOf(stack, "never", "ENV NODE_OPTIONS=--import=data:text/javascript,process.exit(1)");
      // Ready within seconds, and gone while it is watched.
      const script = "setTimeout(()=>process.exit(1),20000).unref()";
      const later = await imageOf(stack, "later", `ENV NODE_OPTIONS=--import=data:text/javascript,${script}`);
      const load = loadOn(stack);
      for (const [image, reason] of [
        [never, /a/],
        [later, /did not stay ready/],
      ] as const) {
        const result = await stack.document<UpdateResult>("update", "--mesh", "--prebuilt", image);
        expect(result).toMatchObject({ outcome: "rolled_back", reason: expect.stringMatching(reason) });
        expect(await imagesOf(stack)).toEqual(before);
      }
      const report = await load.stop();
      await expectAnswered(stack, report);
      expect(report.fewest).toBe(2);
      const { rollouts } = await stack.cairn<UpdateHistory>("update", "--mesh", "--history");
      expect(rollouts.map(({ outcome }) => outcome)).toEqual(["rolled_back", "rolled_back"]);
      expect(await stack.cairn("infra", "preview")).toMatchObject({ changes: [] });
    });

    it("goes on after kill -9 wherever it was, and nobody is answered twice", { timeout: LONG_MS }, async () => {
      const stack = await typedStack(NODES);
      await stack.cairn("infra", "up", "--yes");
      await stack.keepRows();
      const load = loadOn(stack);
      for (const phase of ["drain", "stop", "node", "gate"]) {
        const image = await imageOf(stack, phase);
        await stack.killedAt(`"phase":"${phase}"`, "update", "--mesh", "--prebuilt", image, "--json-events");
        await stack.noteVolumes();
        const result = await stack.cairn<UpdateResult>("update", "--mesh", "--resume");
        expect(result, phase).toMatchObject({ outcome: "updated" });
        expect(new Set(await imagesOf(stack)).size, phase).toBe(1);
        await stack.expectWhole(NODES);
      }
      const report = await load.stop();
      await expectAnswered(stack, report);
      expect(report.fewest).toBe(2);
    });

    it("ends in a state that its history names where PostgreSQL starts anew in its middle, and loses no message", {
      timeout: LONG_MS,
    }, async () => {
      const stack = await typedStack(NODES);
      await stack.cairn("infra", "up", "--yes");
      const former = await imagesOf(stack);
      const image = await imageOf(stack, "2");
      const load = loadOn(stack);
      const restart = () => docker("restart", "--time", "10", `${stack.name}-postgres`);
      const result = await stack.meanwhile<UpdateResult>(
        '"phase":"gate"',
        restart,
        ...["update", "--mesh", "--prebuilt", image],
      );
      const report = await load.stop();
      console.log(`PostgreSQL restarted during update --mesh: ${result.outcome}, ${summaryOf(report)}`);
      await expectAnswered(stack, report);
      expect(["updated", "rolled_back"]).toContain(result.outcome);
      const found = new Set(await imagesOf(stack));
      expect(found.size).toBe(1);
      expect(found.has(former[0] ?? "")).toBe(result.outcome === "rolled_back");
      const { rollouts } = await stack.cairn<UpdateHistory>("update", "--mesh", "--history");
      expect(rollouts.map(({ outcome }) => outcome)).toEqual([result.outcome === "updated" ? "passed" : "rolled_back"]);
    });

    it("is resumed from another directory while the former command sleeps, which then changes nothing any more", {
      timeout: LONG_MS,
    }, async () => {
      const stack = await typedStack(NODES);
      await stack.cairn("infra", "up", "--yes");
      const image = await imageOf(stack, "2");
      const args = ["update", "--mesh", "--prebuilt", image];
      let containers: readonly string[] = [];
      const ended = await stack.meanwhile<{ readonly error: { readonly code: string } }>(
        '"phase":"drain"',
        async (command) => {
          command.kill("SIGSTOP");
          const other = await operator(TYPED_TOKEN);
          await cp(stack.dir, other.dir, { recursive: true });
          // Another machine does not see who holds the lock of this one's directory.
          await rm(join(other.dir, "infra", ".lock"), { force: true });
          // Locked as long as the lease of the one that sleeps lasts.
          const begun = async () => (await other.refused("update", "--mesh", "--prebuilt", image)).code;
          await expect.poll(begun, { timeout: LONG_MS, interval: 5_000 }).toBe("INFRA_INTERRUPTED");
          const resumed = await other.cairn<UpdateResult>("update", "--mesh", "--resume");
          expect(resumed).toMatchObject({ outcome: "updated" });
          containers = await stack.ids();
          command.kill("SIGCONT");
        },
        ...args,
      );
      expect(ended.error.code).toBe("INFRA_LOCKED");
      expect(await stack.ids()).toEqual(containers);
    });
  },
);
