/** Summaries become pages: once each, without touching what people wrote, and again after anything that went wrong. */

import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { expect, it, onTestFinished } from "vitest";
import { CircuitBreaker } from "../../../../runtime/app/synthesis/circuit-breaker.ts";
import { createWikiExtraction } from "../../../../runtime/app/wiki/extraction.ts";
import { createWikiPages, type WikiPages } from "../../../../runtime/app/wiki/pages.ts";
import { openSources } from "../../../../runtime/app/wiki/sources.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { QUEUES } from "../../../../runtime/contracts/jobs.ts";
import type { TextModel } from "../../../../runtime/contracts/text-model.ts";
import { createJobQueue } from "../../../../runtime/workers/queue.ts";
import { createWikiWorker } from "../../../../runtime/workers/wiki.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { systemClock } from "../../../support/memory.ts";
import { playedModel } from "../synthesis/support.ts";

const signal = new AbortController().signal;
const wait = (ms: number, aborted: AbortSignal) => sleep(ms, undefined, { signal: aborted });

async function workspace(): Promise<{ dir: string; pages: WikiPages }> {
  const dir = await mkdtemp(join(tmpdir(), "cairn-test-wiki-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return { dir, pages: createWikiPages({ workspace: dir, sleep: wait }) };
}

/** A leaf summary of a conversation of the agent; its id. */
async function summary(
  database: Database,
  agent: string,
  content: string,
  { openedBy = "turn", byOwner = true }: { readonly openedBy?: string; readonly byOwner?: boolean } = {},
): Promise<string> {
  const [conversation, id] = [v7(), v7()];
  await database.query(
    "insert into conversations (id, session_key, agent, channel, opened_by, by_owner) values ($1, $2, $3, 'agent', $4, $5)",
    [conversation, `wiki:${conversation}`, agent, openedBy, byOwner],
  );
  await database.query("insert into summaries (id, conversation_id, content) values ($1, $2, $3)", [
    id,
    conversation,
    content,
  ]);
  return id;
}

function extractionOf(database: Database, model: TextModel) {
  return createWikiExtraction({
    database,
    model,
    redact: (text) => text,
    clock: systemClock,
    logger: quietLogger,
    pageLimit: 9_000,
  });
}

/** Each line `topic: statement` of the summary, as the model is asked for it. */
const sorter = () =>
  playedModel(({ user }) =>
    [...user.matchAll(/^(\w+): (.+)$/gm)].map(([, topic, text]) => `# ${topic}\n- ${text} [S1]`).join("\n"),
  );

const read = (dir: string, name: string) => readFile(join(dir, "wiki", name), "utf8");

describeDatabase("the wiki", (open) => {
  it("sorts a summary into pages that name it, lists them, and does each summary once", async () => {
    const database = await open();
    const { dir, pages } = await workspace();
    const model = sorter();
    const extraction = extractionOf(database, model);
    const id = await summary(database, "sorted", "Backup: It runs at noon.\nMia: She likes tea.");
    expect(await openSources(database, "sorted", 10)).toEqual([id]);
    expect(await extraction.run("sorted", id, pages, signal)).toBe(2);
    expect(await read(dir, "backup.md")).toContain(`- It runs at noon. [summary:${id}]`);
    expect(await read(dir, "index.md")).toMatch(/- \[Backup\]\(backup\.md\) \(1, [^)]+\)\n- \[Mia\]\(mia\.md\)/);
    expect(await openSources(database, "sorted", 10)).toEqual([]);
    expect(await extraction.run("sorted", id, pages, signal)).toBe(0);
    expect(model.requests).toHaveLength(1);
    const next = await summary(database, "sorted", "Backup: It took 4 minutes.");
    await extraction.run("sorted", next, pages, signal);
    expect(model.requests[1]?.user).toContain("- Backup");
    const page = await read(dir, "backup.md");
    expect(page).toContain(id);
    expect(page).toContain(`- It took 4 minutes. [summary:${next}]`);
    expect((await readdir(join(dir, "wiki"))).sort()).toEqual([".lock", "backup.md", "index.md", "mia.md"]);
  });

  it("knows the owner's conversations with the agent alone: no other user's, and nothing that another program stored", async () => {
    const database = await open();
    const { dir, pages } = await workspace();
    const model = sorter();
    const others = [
      await summary(database, "apart", "Mallory: He is another user.", { byOwner: false }),
      await summary(database, "apart", "Captured: From another program.", { openedBy: "capture", byOwner: false }),
      await summary(database, "apart", "Appended: From another program.", { openedBy: "append" }),
      await summary(database, "apart", "Imported: From elsewhere.", { openedBy: "import" }),
    ];
    const own = await summary(database, "apart", "Backup: It runs at noon.");
    expect(await openSources(database, "apart", 10)).toEqual([own]);
    // Jobs that were queued before an update, too.
    for (const id of others) expect(await extractionOf(database, model).run("apart", id, pages, signal)).toBe(0);
    expect(model.requests).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  it("holds no connection while the model thinks", async () => {
    const database = await open();
    const gate = Promise.withResolvers<void>();
    const model = playedModel(async () => {
      await gate.promise;
      return "# Backup\n- It runs at noon. [S1]";
    });
    // More than the pool has, all of them waiting for the model.
    const runs = Array.from({ length: 12 }, async (_, n) => {
      const { pages } = await workspace();
      const id = await summary(database, `parallel ${n}`, "It runs at noon.");
      return extractionOf(database, model).run(`parallel ${n}`, id, pages, signal);
    });
    await expect.poll(() => model.requests.length).toBe(12);
    expect((await database.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    gate.resolve();
    expect(await Promise.all(runs)).toEqual(Array(12).fill(1));
  });

  it("keeps what a person writes while the model is thinking", async () => {
    const database = await open();
    const { dir, pages } = await workspace();
    await mkdir(join(dir, "wiki"));
    await writeFile(join(dir, "wiki", "backup.md"), "# Backup\n\nAsk Mia.\n");
    const model = playedModel(async () => {
      await writeFile(join(dir, "wiki", "backup.md"), "# Backup\n\nAsk Mia, not Tom.\n");
      return "# Backup\n- It runs at noon. [S1]";
    });
    const id = await summary(database, "edited", "It runs at noon.");
    await extractionOf(database, model).run("edited", id, pages, signal);
    expect(await read(dir, "backup.md")).toMatch(/Ask Mia, not Tom\.\n[\s\S]*It runs at noon\./);
  });

  it("can be interrupted between the pages and the note of it, and is then done again without a trace", async () => {
    const database = await open();
    const { dir, pages } = await workspace();
    const id = await summary(database, "killed", "Backup: It runs at noon.");
    const dying: Database = {
      ...database,
      backend: database.backend,
      query: (text, values, options) => {
        if (text.includes("insert into wiki_sources")) return Promise.reject(new Error("killed"));
        return database.query(text, values, options);
      },
    };
    await expect(extractionOf(dying, sorter()).run("killed", id, pages, signal)).rejects.toThrow("killed");
    const once = await read(dir, "backup.md");
    await extractionOf(
      database,
      playedModel(() => "# Backup\n- Said in other words. [S1]"),
    ).run("killed", id, pages, signal);
    const twice = await read(dir, "backup.md");
    expect(once.match(/\[summary:/g)).toHaveLength(1);
    expect(twice.match(/\[summary:/g)).toHaveLength(1);
    expect(twice).toContain("Said in other words.");
  });

  it("asks again when lines have no source, and takes none of these", async () => {
    const database = await open();
    const { dir, pages } = await workspace();
    const model = playedModel(() => "# Backup\n- It runs at noon. [S1]\n- It is encrypted.\n- Tom said so. [S7]");
    const id = await summary(database, "unsourced", "It runs at noon.");
    expect(await extractionOf(database, model).run("unsourced", id, pages, signal)).toBe(1);
    expect(model.requests[1]?.user).toContain("it names no source");
    expect(await read(dir, "backup.md")).not.toMatch(/encrypted|Tom/);
  });

  it.each(["Sure, here are your pages!", "", "# Title only"])(
    "fails visibly when a model answers %j",
    async (answer) => {
      const database = await open();
      const { dir, pages } = await workspace();
      const id = await summary(database, "garbage", "It runs at noon.");
      await expect(
        extractionOf(
          database,
          playedModel(() => answer),
        ).run("garbage", id, pages, signal),
      ).rejects.toMatchObject({
        code: "PROVIDER_BAD_RESPONSE",
      });
      expect(await readdir(dir)).toEqual([]);
      expect(await openSources(database, "garbage", 10)).toContain(id);
    },
  );

  it("is content with a summary that holds nothing for it", async () => {
    const database = await open();
    const { dir, pages } = await workspace();
    const id = await summary(database, "nothing", "Hello. Hello.");
    expect(
      await extractionOf(
        database,
        playedModel(() => "NOTHING"),
      ).run("nothing", id, pages, signal),
    ).toBe(0);
    expect(await openSources(database, "nothing", 10)).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  it("writes nothing through links that lead out of the workspace", async () => {
    const database = await open();
    const outside = await workspace();
    const { dir, pages } = await workspace();
    const id = await summary(database, "linked", "Backup: It runs at noon.");
    const run = () => extractionOf(database, sorter()).run("linked", id, pages, signal);
    await symlink(outside.dir, join(dir, "wiki"));
    await expect(run()).rejects.toMatchObject({ code: "TOOL_OUTSIDE_WORKSPACE" });
    await rm(join(dir, "wiki"));
    await mkdir(join(dir, "wiki"));
    await writeFile(join(outside.dir, "target.md"), "untouched");
    await symlink(join(outside.dir, "target.md"), join(dir, "wiki", "backup.md"));
    await expect(run()).rejects.toMatchObject({ code: "TOOL_OUTSIDE_WORKSPACE" });
    expect(await readFile(join(outside.dir, "target.md"), "utf8")).toBe("untouched");
  });

  it("loses no statement when many summaries are written to one page at once", async () => {
    const database = await open();
    const { dir } = await workspace();
    const ids = await Promise.all(
      Array.from({ length: 16 }, (_, n) => summary(database, "many", `Page: Number ${n}.`)),
    );
    await Promise.all(
      ids.map((id) => {
        const own = createWikiPages({ workspace: dir, sleep: wait });
        return extractionOf(database, sorter()).run("many", id, own, signal);
      }),
    );
    const page = await read(dir, "page.md");
    expect(page.match(/^- Number \d+\. \[summary:/gm)).toHaveLength(16);
    for (const id of ids) expect(page).toContain(`[summary:${id}]`);
  });

  it("has new summaries done as jobs; a poisoned one dies alone, and a deleted wiki is written anew", async () => {
    const database = await open({ fresh: true });
    const { dir, pages } = await workspace();
    const model = playedModel(({ user }) => {
      if (user.includes("poison")) return "I will not.";
      return [...user.matchAll(/^(\w+): (.+)$/gm)].map(([, topic, text]) => `# ${topic}\n- ${text} [S1]`).join("\n");
    });
    const jobs = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    const worker = createWikiWorker({
      database,
      jobs,
      extraction: extractionOf(database, model),
      breaker: new CircuitBreaker({ clock: systemClock, sleep: wait }),
      wikis: new Map([["main", pages]]),
      intervalMs: 3_600_000,
      logger: quietLogger,
    });
    await summary(database, "main", "Backup: It runs at noon.");
    await summary(database, "main", "poison");
    await summary(database, "main", "Mia: She likes tea.");
    await summary(database, "other", "Other: It is not ours.");
    await jobs.start();
    await worker.start();
    onTestFinished(async () => {
      await worker.stop();
      await jobs.stop(200);
    });
    const state = async () => (await jobs.states()).find(({ queue }) => queue === QUEUES.extractWiki);
    await expect.poll(state).toMatchObject({ completed: 2, waiting: 1 });
    await database.query("update pgboss.job set retry_count = retry_limit, start_after = now() where state = 'retry'");
    await expect.poll(state).toMatchObject({ failed: 1, last_error: expect.stringContaining("not taken") });
    expect((await readdir(join(dir, "wiki"))).sort()).toEqual([".lock", "backup.md", "index.md", "mia.md"]);
    expect(await worker.tick()).toBe(0);
    await rm(join(dir, "wiki"), { recursive: true });
    expect(await worker.tick()).toBe(2);
    await expect.poll(async () => (await readdir(join(dir, "wiki")).catch(() => [])).length).toBe(4);
  });
});
