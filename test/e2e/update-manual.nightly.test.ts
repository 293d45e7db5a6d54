/** `update --mesh` of nodes that were set up by hand: real processes behind a real sshd, over one PostgreSQL, under a steady load. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import semver from "semver";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FencingToken } from "../../control/rollout/contracts.ts";
import { openHost } from "../../control/update/manual/host.ts";
import { manualNode } from "../../control/update/manual/node.ts";
import type { UpdateHistory, UpdatePlan, UpdateResult } from "../../control/update/result.ts";
import { ROOT } from "../../scripts/lib/paths.js";
import { startTelegramFake, type TelegramBot } from "../fakes/telegram/index.ts";
import { lacks } from "../lanes/tools.ts";
import { until } from "../support/eventually.ts";
import { type LoadReport, startLoad, summaryOf } from "../support/fleet-load.ts";
import { type ManualFleetFixture, manualFleet, packed } from "../support/manual/fleet.ts";
import { TOKEN } from "../support/node-process.ts";
import { type Operator, operator } from "../support/operator.ts";

/** Three times as long as the longest takes where other suites share the processors. */
const LONG_MS = 30 * 60_000;
const NAMES = ["a", "b", "c"];
const { version }: { version: string } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const NEXT = `${semver.inc(version, "patch")}-test.1`;
const BROKEN = `${semver.inc(version, "patch")}-test.2`;
/** Two minors after it. */
const FAR = `${semver.major(version)}.${semver.minor(version) + 2}.0-test.1`;

/** In a directory of their own, as on another machine. */
async function operatorOf(fleet: ManualFleetFixture, hostKey?: string): Promise<Operator> {
  const own = await operator("cairn_test-token-of-nobody");
  await own.configure(fleet.configuration(hostKey));
  return own;
}

const loadOn = ({ nodes }: ManualFleetFixture) =>
  startLoad(Object.fromEntries(nodes.map(({ name, url }) => [name, url])), TOKEN);

/** The owner writes to a bot of the fleet all the time, in five chats. Resolves with how often. */
function writing(bot: TelegramBot): () => Promise<number> {
  let said = 0;
  const timer = setInterval(() => bot.say(`Remember the word bot${said}.`, { chat: -1 - (said++ % 5) }), 300);
  onTestFinished(() => clearInterval(timer));
  return async () => {
    clearInterval(timer);
    await until(() => bot.state.sent.length >= said);
    return said;
  };
}

/** Every message was accepted once, and answered once. */
async function expectAnswered(
  { database }: ManualFleetFixture,
  { sent, answered }: LoadReport,
  byBot = 0,
): Promise<void> {
  expect(answered).toBe(sent);
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query(
    `select (select count(*) from inbox)::int as inbox, (select count(*) from turns where state = 'done')::int as done,
       (select count(*) from outbox)::int as replies,
       (select count(*) from messages where role = 'user' and content like 'Remember the word%')::int as asked,
       (select count(distinct content) from messages where role = 'user' and content like 'Remember the word%')::int as different`,
  );
  await client.end();
  const [{ inbox, done, replies, asked, different }] = rows;
  const all = sent + byBot;
  expect({ done, replies, asked, different }).toEqual({ done: inbox, replies: inbox, asked: all, different: all });
}

const versionsOf = async (fleet: ManualFleetFixture): Promise<string[]> =>
  (await fleet.running()).map(({ version }) => version);

describe.skipIf(lacks("sshd", "postgresql"))(
  "update --mesh of three nodes that were set up by hand",
  { timeout: LONG_MS },
  () => {
    it("gives each the new version, no message is lost or answered twice, and two always serve", async () => {
      const telegram = await startTelegramFake();
      const bot = telegram.bot();
      const fleet = await manualFleet(NAMES, { url: telegram.url, token: bot.token });
      const next = await packed(NEXT);
      const [before] = await versionsOf(fleet);
      const own = await operatorOf(fleet);
      const plan = await own.cairn<UpdatePlan>("update", "--mesh", "--dry-run", "--prebuilt", next, "--canary", "b");
      expect(plan).toMatchObject({ to: NEXT, problems: [] });
      expect(plan.nodes.map(({ name, version, ready }) => [name, version, ready])).toEqual([
        ["b", before, true],
        expect.anything(),
        expect.anything(),
      ]);
      const load = loadOn(fleet);
      const written = writing(bot);
      const result = await own.document<UpdateResult>("update", "--mesh", "--prebuilt", next, "--canary", "b");
      const report = await load.stop();
      const byBot = await written();
      console.log(`update --mesh of three nodes that were set up by hand: ${summaryOf(report)}`);
      expect(result).toMatchObject({ outcome: "updated", target: "manual", from: before, to: NEXT, reason: null });
      expect(await versionsOf(fleet)).toEqual([NEXT, NEXT, NEXT]);
      await expectAnswered(fleet, report, byBot);
      expect(report.fewest).toBe(2);
      const { polls, sent } = bot.state;
      console.log(
        `a bot of theirs: ${byBot} messages, ${sent.length} answers, at most ${polls.most} receiving at once`,
      );
      expect(sent).toHaveLength(byBot);
      expect(polls).toMatchObject({ most: 1, terminated: 0 });
      const { rollouts } = await own.cairn<UpdateHistory>("update", "--mesh", "--history");
      expect(rollouts).toMatchObject([{ outcome: "passed", failed: null }]);
      expect(rollouts[0]?.done[0]).toBe("b");
      const again = await own.cairn<UpdateResult>("update", "--mesh", "--prebuilt", next);
      expect(again).toMatchObject({ outcome: "unchanged" });
    });

    it("goes back from a build that does not start, and the others keep what they have", async () => {
      const fleet = await manualFleet(NAMES);
      const before = await fleet.running();
      const own = await operatorOf(fleet);
      const broken = await packed(BROKEN, { broken: true });
      const load = loadOn(fleet);
      const result = await own.document<UpdateResult>("update", "--mesh", "--prebuilt", broken, "--canary", "c");
      const report = await load.stop();
      expect(result).toMatchObject({ outcome: "rolled_back", reason: expect.stringContaining("ended at its start") });
      const after = await fleet.running();
      expect(after.map(({ version }) => version)).toEqual(before.map(({ version }) => version));
      expect(after.map(({ pid }, index) => pid === before[index]?.pid)).toEqual([true, true, false]);
      await expectAnswered(fleet, report);
      expect(report.fewest).toBe(2);
    });

    it("goes on from another machine where the first one was cut off", async () => {
      const fleet = await manualFleet(NAMES);
      const next = await packed(NEXT);
      const own = await operatorOf(fleet);
      const load = loadOn(fleet);
      await own.killedAt("Stopping b", "update", "--mesh", "--prebuilt", next, "--canary", "a", "--json-events");
      const other = await operatorOf(fleet);
      // Its lease has not run out: for all that is known it is still at work. Going on with it waits for that.
      expect(await other.refused("update", "--mesh", "--prebuilt", next)).toMatchObject({ code: "INFRA_LOCKED" });
      const result = await other.document<UpdateResult>("update", "--mesh", "--resume");
      const report = await load.stop();
      expect(result).toMatchObject({ outcome: "updated", to: NEXT });
      expect(await versionsOf(fleet)).toEqual([NEXT, NEXT, NEXT]);
      await expectAnswered(fleet, report);
      expect(report.fewest).toBe(2);
    });

    it("changes nothing where a host shows another key, and refuses an older command on the host itself", async () => {
      const fleet = await manualFleet(["a", "b"]);
      const next = await packed(NEXT);
      const before = await fleet.running();
      const wrong = await operatorOf(fleet, fleet.ssh.otherKey);
      expect(await wrong.refused("update", "--mesh", "--prebuilt", next)).toMatchObject({
        code: "INFRA_HOST_KEY_MISMATCH",
        hint: expect.stringContaining("deployment.nodes[0].host_key"),
      });
      const own = await operatorOf(fleet);
      const far = await packed(FAR);
      expect((await own.cairn<UpdatePlan>("update", "--mesh", "--dry-run", "--prebuilt", far)).problems).toMatchObject([
        expect.stringContaining("Nodes of one fleet run releases"),
      ]);
      expect(await own.refused("update", "--mesh", "--prebuilt", far)).toMatchObject({ code: "RUNTIME_VERSION_SKEW" });
      expect(await fleet.running()).toEqual(before);
      const { ssh, nodes } = fleet;
      const [first] = nodes;
      if (first === undefined) throw new Error("The fleet has a node.");
      const host = await openHost({ ...ssh });
      onTestFinished(() => host.close());
      const { signal } = new AbortController();
      const node = manualNode({
        stack: "cairn",
        name: "a",
        unitName: first.unit,
        host,
        sleep: async () => undefined,
        monotonic: () => 0,
        report: () => undefined,
      });
      const { image } = await node.observe(signal);
      const token = (lease: number, command: number): FencingToken => ({ fleet: "f", lease, command });
      await node.fence(token(7, 2), signal);
      await expect(node.swap(image ?? "", token(7, 1), signal)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
      await expect(node.swap(image ?? "", token(6, 9), signal)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
      expect(await fleet.running()).toEqual(before);
      // A build that is not there is found before the node stops.
      await expect(node.swap("9.9.9-0123456789ab", token(8, 1), signal)).rejects.toMatchObject({
        code: "INFRA_IMAGE_MISSING",
      });
      expect(await fleet.running()).toEqual(before);
    });
  },
);
