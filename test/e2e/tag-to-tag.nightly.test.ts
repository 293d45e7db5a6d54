/**
 * The newest release before this tree and this tree, in one fleet: the release's own suites on the schema of this tree, and three real
 * nodes of the release that are upgraded to this tree one after the other under load, and one of them back.
 */

import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { latestMigration, migrate } from "../../runtime/app/migrate.ts";
import { postgres } from "../../runtime/plugins/memory/postgres/manifest.ts";
import { createJobQueue } from "../../runtime/workers/queue.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { lacks } from "../lanes/tools.ts";
import { MIGRATIONS } from "../support/databases.ts";
import type { Deployment } from "../support/node-process.ts";
import { quietLogger } from "../support/quiet-logger.ts";
import { buildReleaseTree, earlierRelease, type ReleaseTree, runSuites } from "../support/release-tree.ts";
import { deploymentOf, runningNode } from "../support/running-node.ts";
import { type FleetNode, loadOfTurns } from "../support/turn-load.ts";

const TIMEOUT_MS = 1_800_000;
/** What turns and memory are made of. */
const SUITES = [
  "test/runtime/app/turn",
  "test/runtime/app/transcript",
  "test/runtime/app/recall",
  "test/runtime/app/capture",
  "test/runtime/app/compaction",
  "test/runtime/app/embedding",
  "test/runtime/app/claims.db.test.ts",
  "test/runtime/app/memory-tools.db.test.ts",
  "test/runtime/app/memory-writes.db.test.ts",
  "test/runtime/workers/queue.db.test.ts",
  "test/runtime/workers/queue-claims.db.test.ts",
];
const NAMES = ["one", "two", "three"] as const;

describe.skipIf(lacks("release-tag", "postgresql"))(
  "from the newest release to this tree",
  { timeout: TIMEOUT_MS },
  () => {
    let release: ReleaseTree;

    beforeAll(async () => {
      release = await buildReleaseTree(earlierRelease() ?? "");
    }, TIMEOUT_MS);

    afterAll(() => release?.remove());

    it("the release's own suites of turns and memory pass on the schema of this tree", async () => {
      const { url, name } = await emptyDatabase();
      const database = await postgres.create({ connectionString: url, pool: 4, logger: quietLogger });
      await migrate(database, { directory: MIGRATIONS });
      const queue = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
      await queue.start();
      await queue.stop(1_000);
      await database.close();
      const outcome = await runSuites(release, "store", SUITES, {
        CAIRN_TEST_PG_URL: process.env.CAIRN_TEST_PG_URL ?? "",
        CAIRN_TEST_TEMPLATE: name,
        // As in CI: the machine may be busy.
        CAIRN_TEST_RETRIES: "1",
      });
      expect(outcome.failed).toEqual([]);
      expect(outcome.passed).toBeGreaterThan(200);
    });

    it("three nodes are upgraded one after the other, and one goes back, with every turn answered once", async () => {
      const { url } = await emptyDatabase();
      const model = await startOpenAiFake({ script: ({ lastUser }) => ({ text: `answer to ${lastUser}` }) });
      onTestFinished(() => model.close());
      const deployments = await Promise.all(NAMES.map((name) => deploymentNamed(name, url, model.baseUrl)));
      const places: FleetNode[] = [];
      for (const deployment of deployments) {
        places.push({ node: await runningNode(deployment, { main: release.main }) });
      }
      const load = loadOfTurns(places);
      const store = new pg.Client({ connectionString: url });
      await store.connect();
      onTestFinished(() => store.end());
      const versions = async (): Promise<unknown> => (await versionsOf(places)).sort();

      await load.answered(30);
      for (const [index, deployment] of deployments.entries()) {
        await replace(places, index, deployment, undefined);
        await load.answered(30);
        // The first of this tree has brought the schema up to date, beside two of the release.
        const { rows } = await store.query("select max(version) as version from schema_migrations");
        expect(rows).toEqual([{ version: await latestMigration(MIGRATIONS) }]);
      }
      const [back] = deployments;
      if (back) await replace(places, 0, back, release.main);
      await load.answered(30);
      expect(await versions()).toContain(release.version);
      const sent = await load.stop();

      expect(sent.failed).toEqual([]);
      expect(sent.answered.length).toBeGreaterThanOrEqual(150);
      const { rows: accepted } = await store.query("select count(*)::int as n from inbox");
      expect(accepted).toEqual([{ n: sent.answered.length }]);
      const { rows } = await store.query<{ role: string; n: number; texts: number }>(
        `select role, count(*)::int as n, count(distinct content)::int as texts from messages
       where content like '%[load-%' group by role order by role`,
      );
      const count = sent.answered.length;
      expect(rows).toEqual([
        { role: "assistant", n: count, texts: count },
        { role: "user", n: count, texts: count },
      ]);
      const { rows: turns } = await store.query("select state, count(*)::int as n from turns group by state");
      expect(turns).toEqual([{ state: "done", n: count }]);
    });
  },
);

/** Stop-first, as an upgrade does it. */
async function replace(
  places: FleetNode[],
  index: number,
  deployment: Deployment,
  main: string | undefined,
): Promise<void> {
  const place = places[index];
  if (place === undefined) throw new Error("There is no such node.");
  place.node.signal("SIGTERM");
  expect(await place.node.exited).toBe(0);
  place.node = await runningNode(deployment, main === undefined ? {} : { main });
}

async function versionsOf(places: readonly FleetNode[]): Promise<string[]> {
  return Promise.all(places.map(async ({ node }) => (await node.call<{ version: string }>("/health")).version));
}

function deploymentNamed(name: string, url: string, model: string): Promise<Deployment> {
  return deploymentOf({
    config: {
      runtime: { default_agent: NAMES[0] },
      providers: { model: { kind: "openai-compatible", base_url: model, model: "fake", api_key: "none" } },
      agents: Object.fromEntries(NAMES.map((agent) => [agent, { provider: "model" }])),
      mesh: { name },
      memory: { postgres: { connection_string: url } },
    },
  });
}

/** Not migrated: the release makes it. */
async function emptyDatabase(): Promise<{ readonly url: string; readonly name: string }> {
  const cluster = process.env.CAIRN_TEST_PG_URL ?? "";
  const name = `cairn_release_${randomUUID().replaceAll("-", "")}`;
  const run = async (sql: string): Promise<void> => {
    const admin = new pg.Client({ connectionString: cluster });
    await admin.connect();
    await admin.query(sql).finally(() => admin.end());
  };
  await run(`create database ${name}`);
  onTestFinished(() => run(`drop database ${name} with (force)`));
  const url = new URL(cluster);
  url.pathname = `/${name}`;
  return { url: url.href, name };
}
