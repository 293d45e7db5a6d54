/** What is attached to a message: in the store, once, for the node that answers and for every backup. */

import { createHash, randomBytes, randomUUID } from "node:crypto";
import { access, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { createArchives } from "../../../../runtime/app/archive/archives.ts";
import { createAttachmentStore } from "../../../../runtime/app/attachments/store.ts";
import type { Attachment } from "../../../../runtime/contracts/channel.ts";
import type { Database, Transaction } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { systemClock, writerOf } from "../../../support/memory.ts";
import { through } from "../../../support/through.ts";
import { end, type Harness, type HarnessOptions, startHarness, text } from "../../../support/turn-harness.ts";

const MIB = 1024 ** 2;
const picture = (content: string | Buffer, name = "a.png"): Attachment => ({
  name,
  mediaType: "image/png",
  data: Buffer.from(content).toString("base64"),
});
const hashOf = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
/** Chunks of which none is like another. */
const large = (bytes: number) => randomBytes(bytes);

describeEachDatabase("attachments", (open) => {
  async function start(options: Omit<HarnessOptions, "script">): Promise<Harness> {
    const harness = await startHarness({ ...options, script: () => [text("nice"), end()] });
    onTestFinished(() => harness.stop());
    return harness;
  }

  /** What the model was shown last. */
  const shown = ({ requests }: Harness) => requests.at(-1)?.messages.at(-1)?.content;
  const image = ({ mediaType, data }: Attachment) => ({ type: "image", mediaType, data });

  /** A node's archives; its home has nothing but what is put there. */
  async function archivesOf(database: Database) {
    const home = await temporaryDirectory();
    const directory = join(home, "attachments");
    const attachments = createAttachmentStore({ database, directory, logger: quietLogger });
    const archives = createArchives({
      database,
      writer: writerOf(database),
      agents: new Set(["main"]),
      attachments,
      staging: home,
      clock: systemClock,
      version: "0.0.0-test",
    });
    return { archives, attachments, directory };
  }

  /** As an earlier version kept it. */
  async function leaveFile(directory: string, data: string, name = hashOf(data)): Promise<string> {
    const path = join(directory, name.slice(0, 2), name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, data);
    return path;
  }

  /** The message of a turn that an earlier version accepted. */
  async function namesFile(database: Database, turnId: string, data: string): Promise<void> {
    const ref = { sha256: hashOf(data), name: "old.png", media_type: "image/png", size: data.length };
    await database.query("update inbox set attachments = $2 where id = (select inbox_id from turns where id = $1)", [
      turnId,
      JSON.stringify([ref]),
    ]);
  }

  async function stored(database: Database): Promise<readonly unknown[]> {
    const { rows } = await database.query<{ sha256: string }>("select distinct sha256 from attachments order by 1");
    return rows.map(({ sha256 }) => sha256);
  }

  it("that one node accepted are shown by the node that answers, whatever became of the first one's home", async () => {
    const database = await open();
    const answers = await start({ database, node: "answers" });
    const accepts = await start({ database, node: "accepts", agent: { name: answers.agentName } });
    const [first, second] = [picture(large(3 * MIB + 5)), picture("second", "b.png")];
    const message = answers.message("look", { attachments: [first, second] });
    const { turnId } = await accepts.turns.accept(message);
    await rm(accepts.attached, { recursive: true, force: true });
    await answers.turns.wait(answers.agentName, turnId);
    expect(accepts.requests).toEqual([]);
    expect(shown(answers)).toEqual([{ type: "text", text: "look" }, image(first), image(second)]);
  });

  it("are what was sent, byte for byte, whatever they are called: none is unpacked, and only pictures and text are shown", async () => {
    const database = await open();
    const harness = await start({ database });
    // It grows to 200 times its size.
    const bomb = gzipSync(Buffer.alloc(8 * MIB));
    const named = (name: string, mediaType: string): Attachment => ({
      ...picture(bomb, name),
      mediaType,
    });
    const files = [named("a.zip", "application/zip"), named("b.png", "image/png")];
    const { turnId } = await harness.turns.accept(harness.message("look", { attachments: files }));
    await harness.turns.wait(harness.agentName, turnId);
    expect(shown(harness)).toEqual([
      { type: "text", text: "look" },
      { type: "text", text: `[attachment a.zip, application/zip, ${bomb.length} bytes]` },
      image(named("b.png", "image/png")),
    ]);
    const { attachments } = await archivesOf(database);
    expect(await attachments.load({ sha256: hashOf(bomb) }, turnId)).toEqual(bomb);
  });

  it("are in a backup through another node, once, and in the store that is filled from it", async () => {
    const [database, target] = [await open({ fresh: true }), await open({ fresh: true })];
    const harness = await start({ database });
    const data = large(2 * MIB + 1);
    await harness.say("one", { attachments: [picture(data), picture(data, "same.png"), picture("small")] });
    await harness.say("two", { attachments: [picture(data, "again.png")], session: "s2" });
    await harness.say("none", { attachments: [picture("", "empty.png")] });
    const { rows } = await database.query("select sum(octet_length(bytes)) as bytes from attachments");
    expect(rows).toEqual([{ bytes: data.length + "small".length }]);

    const { counts } = await (await archivesOf(target)).archives.restore(
      (await archivesOf(database)).archives.backup(),
    );
    expect(counts).toMatchObject({ attachments: 3 });
    const everything = "select sha256, n, bytes from attachments order by sha256, n";
    expect((await target.query(everything)).rows).toEqual((await database.query(everything)).rows);
    expect(await stored(target)).toContain(hashOf(data));
  });

  it("are there with their message or not at all", async () => {
    const database = await open({ fresh: true });
    let chunks = 0;
    const cut = (tx: Transaction): Transaction => ({
      savepoint: (work) => tx.savepoint(work),
      limit: (ms) => tx.limit(ms),
      query: (statement, values) =>
        statement.includes("attachments:write") && ++chunks === 2
          ? Promise.reject(new Error("the process ends here"))
          : tx.query(statement, values),
    });
    const harness = await start({
      database: through(database, {
        transaction: (work, options) => database.transaction((tx) => work(cut(tx)), options),
      }),
    });
    const message = harness.message("look", { attachments: [picture(large(MIB))] });
    await expect(harness.turns.accept(message)).rejects.toThrow("the process ends here");
    expect(await stored(database)).toEqual([]);
    expect((await database.query("select 1 from inbox")).rows).toEqual([]);
    // Sent again it is a new message.
    expect(await harness.turns.accept(message)).toMatchObject({ fresh: true });
    expect(await stored(database)).toHaveLength(1);
  });

  it("of two messages at once are stored once, in whatever order they name them", async () => {
    const database = await open();
    const harness = await start({ database });
    const [one, two] = [picture(large(MIB)), picture(large(MIB))];
    const before = await stored(database);
    await Promise.all(
      [...Array(6).keys()].map((n) =>
        harness.say("look", { session: `s${n}`, attachments: n % 2 ? [one, two] : [two, one] }),
      ),
    );
    expect(await stored(database)).toHaveLength(before.length + 2);
  });

  it("are refused to the turns of another agent, of another user, and of another message", async () => {
    const database = await open();
    const harness = await start({ database });
    const other = await start({ database });
    const file = picture("private");
    const sha256 = hashOf("private");
    const address = (user: string) => ({ channel: harness.channel.id, conversation: "s1", user });
    const own = await harness.say("mine", { attachments: [file], address: address("ann"), owner: false });
    const turns = {
      "another user": await harness.say("hi", { address: address("bob"), owner: false }),
      "another message": await harness.say("hi", { address: address("ann"), owner: false }),
      "another agent": await other.say("hi", { attachments: [picture("other")] }),
    };
    for (const [whose, { turn_id }] of Object.entries(turns)) {
      await expect(harness.attachments.load({ sha256 }, turn_id), whose).rejects.toMatchObject({
        code: "RUNTIME_FORBIDDEN",
        status: 403,
      });
    }
    await expect(harness.attachments.load({ sha256 }, randomUUID())).rejects.toMatchObject({ status: 403 });
    expect(await harness.attachments.load({ sha256 }, own.turn_id)).toEqual(Buffer.from("private"));
  });

  it("that an earlier version kept as files are read there, and moved to the store", async () => {
    const database = await open({ fresh: true });
    const harness = await start({ database });
    const { archives, attachments, directory } = await archivesOf(database);
    const { turn_id } = await harness.say("hi");
    await namesFile(database, turn_id, "old");
    const path = await leaveFile(directory, "old");
    const altered = await leaveFile(directory, "altered", hashOf("as it was"));
    expect(await attachments.load({ sha256: hashOf("old") }, turn_id)).toEqual(Buffer.from("old"));
    expect(await stored(database)).toEqual([]);

    // Ended before its first file, it leaves all for the next call.
    await attachments.moveHomeFiles(AbortSignal.abort());
    expect(await stored(database)).toEqual([]);
    await Promise.all([attachments.moveHomeFiles(), attachments.moveHomeFiles()]);
    expect(await stored(database)).toEqual([hashOf("old")]);
    await expect(access(path)).rejects.toThrow("ENOENT");
    await access(altered);
    expect(await readdir(directory)).toEqual([hashOf("as it was").slice(0, 2)]);
    expect(await harness.attachments.load({ sha256: hashOf("old") }, turn_id)).toEqual(Buffer.from("old"));

    // What was left since is in the next backup.
    await leaveFile(directory, "left later");
    const target = await open({ fresh: true });
    await (await archivesOf(target)).archives.restore(archives.backup());
    expect(await stored(target)).toEqual([hashOf("old"), hashOf("left later")].sort());
  });

  it("that are nowhere any more are said to be gone, to the model and in the log", async () => {
    const database = await open();
    const warnings: unknown[] = [];
    const logger = { ...quietLogger, warn: (fields: object, message: string) => warnings.push({ ...fields, message }) };
    const gate = Promise.withResolvers<void>();
    const harness = await start({ database, logger, hooks: [until(gate.promise)] });
    const { turnId } = await harness.turns.accept(harness.message("look", { attachments: [picture("lost")] }));
    await database.query("delete from attachments where sha256 = $1", [hashOf("lost")]);
    gate.resolve();
    await harness.turns.wait(harness.agentName, turnId);
    expect(shown(harness)).toEqual([
      { type: "text", text: "look" },
      {
        type: "text",
        text: "[attachment a.png, image/png, 4 bytes; its content cannot be shown: it is not stored any more]",
      },
    ]);
    expect(warnings).toContainEqual({
      turnId,
      sha256: hashOf("lost"),
      message: "an attachment of a message is neither in the store nor on this node",
    });
  });
});

/** Holds a turn before its prompt is made. */
function until(opened: Promise<void>) {
  return {
    name: "until",
    event: "turn:before" as const,
    priority: 1,
    async run(context: unknown) {
      await opened;
      return context as never;
    },
  };
}
