/** Files that agents send: with the result of their call or not at all, once, before the reply, from whichever node. */

import { createHash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { v7 as newId } from "uuid";
import { expect, it, onTestFinished } from "vitest";
import { createArchives } from "../../../../runtime/app/archive/archives.ts";
import { createAttachmentStore } from "../../../../runtime/app/attachments/store.ts";
import { createForgetting } from "../../../../runtime/app/forgetting/forgetting.ts";
import type { Database, Transaction } from "../../../../runtime/contracts/database.ts";
import { ChannelError } from "../../../../runtime/contracts/errors.ts";
import type { OutgoingFile, Tool, ToolContext } from "../../../../runtime/contracts/tool.ts";
import { createSendFileTool } from "../../../../runtime/plugins/tools/send-file/index.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { chatPlatform, createChatChannel } from "../../../support/chat-channel.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { systemClock, writerOf } from "../../../support/memory.ts";
import { through } from "../../../support/through.ts";
import { end, type HarnessOptions, hang, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

const MIB = 1024 ** 2;
const hashOf = (data: Buffer) => createHash("sha256").update(data).digest("hex");

describeDatabase("files that agents send", (open) => {
  async function start(options: Partial<HarnessOptions> & { readonly database: Database }, isDoomed = false) {
    const harness = await startHarness({ script: once, ...options });
    if (!isDoomed) onTestFinished(() => harness.stop());
    return harness;
  }

  /** Calls `send` once, and says what came of it. */
  const once: HarnessOptions["script"] = ({ messages }) => {
    const last = messages.at(-1);
    return last?.role === "tool"
      ? [text(`Result: ${last.content}`), end()]
      : [toolCall("c1", "send"), end("tool_calls")];
  };

  const file = (data: string | Buffer = "the report", name = "report.txt"): OutgoingFile => ({
    name,
    mediaType: "text/plain",
    data: Buffer.from(data),
  });
  const sending = (run: (context: ToolContext) => Promise<unknown>): Tool => ({
    name: "send",
    description: "send",
    parameters: { type: "object" },
    async execute(_args, _signal, context) {
      if (context) await run(context);
      return { content: "sent" };
    },
  });
  const one = sending((context) => context.sendFile(file()));

  async function stored(database: Database, data: Buffer): Promise<Buffer> {
    const { rows } = await database.query<{ bytes: Buffer }>(
      "select bytes from attachments where sha256 = $1 order by n",
      [hashOf(data)],
    );
    return Buffer.concat(rows.map(({ bytes }) => bytes));
  }

  it("go from the workspace to the conversation, before the reply; rows say what they are, and the bytes are stored", async () => {
    const database = await open();
    const workspace = await temporaryDirectory();
    const data = randomBytes(MIB + 3);
    await mkdir(join(workspace, "out"));
    await writeFile(join(workspace, "out", "chart.png"), data);
    const harness = await start({
      database,
      agent: { workspace },
      tools: [createSendFileTool({ gate: createWorkspaceGate({ protectedPaths: [] }) })],
      script: ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? [text("There it is."), end()]
          : [toolCall("c1", "send_file", { path: "out/chart.png", caption: "As you asked." }), end("tool_calls")],
    });
    const { turnId } = await harness.turns.accept(harness.message("a chart"));
    const [events, result] = await Promise.all([harness.events(turnId), harness.turns.wait(harness.agentName, turnId)]);
    const ref = { sha256: hashOf(data), name: "chart.png", media_type: "image/png", size: data.length };
    const sent = { ...ref, caption: "As you asked." };
    expect(result).toMatchObject({ text: "There it is.", attachments: [sent] });
    expect(events.filter(({ type }) => /attachment|tool\.finished|turn\.finished/.test(type))).toMatchObject([
      { type: "turn.attachment", turn_id: turnId, attachment: sent },
      { type: "tool.finished", result: `chart.png (image/png, ${data.length} bytes) is sent to the user.` },
      { type: "turn.finished", attachments: [sent] },
    ]);
    await expect.poll(() => harness.sent.length).toBe(2);
    expect(harness.sent).toMatchObject([
      {
        turnId,
        text: "As you asked.",
        attachments: [{ name: "chart.png", mediaType: "image/png", data: data.toString("base64") }],
      },
      { turnId, text: "There it is." },
    ]);
    expect(harness.sent[1]?.attachments).toBeUndefined();
    const row = (await harness.transcript()).find(({ tool_name }) => tool_name === "send_file");
    expect(row?.metadata["attachments"]).toEqual([ref]);
    expect(await stored(database, data)).toEqual(data);

    // As the turn's row tells it later, and in the words of what gives it out.
    expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({ final: { attachments: [sent] } });
    const opened = await harness.turns.openAttachment(harness.agentName, turnId, ref.sha256);
    expect(opened.ref).toMatchObject(ref);
    const bytes: Buffer[] = [];
    for await (const chunk of opened.bytes) bytes.push(chunk);
    expect(Buffer.concat(bytes)).toEqual(data);
  });

  it("are given out under the turn that has sent them alone, and not what the user has attached", async () => {
    const database = await open();
    const harness = await start({
      database,
      tools: [one],
      script: (request, call) =>
        request.messages.at(-1)?.content === "nothing" ? [text("Nothing."), end()] : once(request, call),
    });
    const attached = { name: "mine.txt", mediaType: "text/plain", data: Buffer.from("mine").toString("base64") };
    const first = await harness.say("go", { attachments: [attached] });
    const second = await harness.say("go", { session: "s2" });
    const third = await harness.say("nothing", { session: "s3" });
    const get = (turnId: string, data: string) =>
      harness.turns.openAttachment(harness.agentName, turnId, hashOf(Buffer.from(data)));
    expect((await get(second.turn_id, "the report")).ref.name).toBe("report.txt");
    for (const [turnId, data] of [
      [first.turn_id, "mine"],
      [second.turn_id, "mine"],
      [third.turn_id, "the report"],
      [first.turn_id, "something else"],
    ] as const) {
      await expect(get(turnId, data), data).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    }
    await expect(harness.turns.openAttachment(harness.agentName, first.turn_id, "../x")).rejects.toMatchObject({
      code: "RUNTIME_NOT_FOUND",
    });
  });

  it("are sent by the next node where the first one could not, once, and are known after a restart", async () => {
    const database = await open();
    const isRecorded = Promise.withResolvers<void>();
    const doomed = await start(
      {
        database,
        tools: [one],
        send: async () => {
          throw new ChannelError("CHANNEL_CONNECTION_LOST", "The platform cannot be reached.", { notTaken: true });
        },
        script: async (request, call) => {
          if (request.messages.at(-1)?.role !== "tool") return once(request, call) as never;
          isRecorded.resolve();
          return hang();
        },
      },
      true,
    );
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await isRecorded.promise;
    await doomed.die();
    await database.query("update outbox set next_attempt_at = now() where turn_id = $1", [turnId]);
    const next = await start({ database, tools: [one], ...doomed.next });
    const sent = [{ name: "report.txt", size: 10 }];
    expect(await next.turns.wait(next.agentName, turnId)).toMatchObject({ text: "Result: sent", attachments: sent });
    await expect
      .poll(() => next.sent.map(({ attachments, text: said }) => attachments?.[0]?.name ?? said), { timeout: 10_000 })
      .toEqual(["report.txt", "Result: sent"]);
  });

  it("are not there where the process ends before the result of their call", async () => {
    const database = await open();
    const data = `cut off ${Math.random()}`;
    const isBegun = Promise.withResolvers<void>();
    const cutOff = sending(async (context) => {
      await context.sendFile(file(data));
      isBegun.resolve();
      await hang();
    });
    const doomed = await start({ database, tools: [cutOff] }, true);
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await isBegun.promise;
    await doomed.die();
    const next = await start({ database, tools: [one], ...doomed.next });
    const result = await next.turns.wait(next.agentName, turnId);
    expect(result.attachments).toBeUndefined();
    expect(result.text).toMatch(/interrupted|unknown/i);
    await expect.poll(() => next.sent.length).toBe(1);
    // The reply alone.
    expect((await database.query("select key from outbox where turn_id = $1", [turnId])).rows).toEqual([
      { key: "reply" },
    ]);
    expect(await stored(database, Buffer.from(data))).toHaveLength(0);
  });

  it("are written with the result in one transaction: a fault leaves neither", async () => {
    const database = await open();
    const data = `torn ${Math.random()}`;
    const torn = (tx: Transaction): Transaction => ({
      savepoint: (work) => tx.savepoint(work),
      limit: (ms) => tx.limit(ms),
      query: (statement, values) =>
        statement.includes("turn:file") ? Promise.reject(new Error("torn")) : tx.query(statement, values),
    });
    const harness = await start({
      database: through(database, {
        transaction: (work, options) => database.transaction((tx) => work(torn(tx)), options),
      }),
      tools: [sending((context) => context.sendFile(file(data)))],
    });
    await expect(harness.say("go")).rejects.toThrow();
    expect(await stored(database, Buffer.from(data))).toHaveLength(0);
    const { rows } = await database.query(
      "select s.state from turn_steps s join turns t on t.id = s.turn_id where t.agent = $1 and s.kind = 'tool'",
      [harness.agentName],
    );
    expect(rows).toEqual([{ state: "intended" }]);
    expect((await harness.transcript()).some(({ tool_name }) => tool_name !== null)).toBe(false);
  });

  it("stay where they are when their call fails, and go out once when it has waited for an answer", async () => {
    const database = await open();
    const failing = await start({
      database,
      tools: [
        sending(async (context) => {
          await context.sendFile(file());
          throw new Error("after that");
        }),
      ],
    });
    expect((await failing.say("go")).attachments).toBeUndefined();
    await expect.poll(() => failing.sent.length).toBe(1);

    const asking = await start({
      database,
      tools: [
        sending(async (context) => {
          await context.sendFile(file());
          await context.ask({ text: "Is that right?" });
        }),
      ],
    });
    const { turnId } = await asking.turns.accept(asking.message("go"));
    await expect.poll(() => asking.sent.map(({ text: said }) => said)).toEqual(["Is that right?"]);
    await asking.turns.answer({ agent: asking.agentName, turnId, text: "yes", by: "" });
    expect((await asking.turns.wait(asking.agentName, turnId)).attachments).toHaveLength(1);
    await expect.poll(() => asking.sent.length).toBe(3);
    expect(asking.sent.map(({ attachments }) => attachments?.length ?? 0)).toEqual([0, 1, 0]);
  });

  it("are refused where nobody receives them, and beyond their limits, with the reason", async () => {
    const database = await open();
    const send = sending(async (context) => {
      await context.sendFile(file(Buffer.alloc(5 * MIB, "a")));
    });
    const harness = await start({ database, tools: [send], agent: { tools: { others: { include: ["send"] } } } });
    const scheduled = await harness.say("go", {
      session: "schedule:morning",
      externalId: "schedule:morning:2030-01-01T00:00:00Z",
    });
    expect(scheduled.text).toContain("TOOL_REFUSED: This turn was begun by a schedule without a channel");
    const address = { channel: harness.channel.id, conversation: "s1", user: "ann" };
    expect((await harness.say("go", { address, owner: false })).text).toMatch(
      /TOOL_INVALID_ARGUMENTS: .* at most 4194304 bytes is sent to this user\. Compress it/,
    );
    expect((await harness.say("go")).attachments).toHaveLength(1);

    const small = await start({
      database,
      tools: [send],
      channel: { ...harness.channel, id: "small", maxFileBytes: 9 },
    });
    expect((await small.say("go")).text).toContain("a file of at most 9 bytes is taken by the platform");

    for (const [name, data, reason] of [
      ["a.txt", "", "a.txt is empty"],
      ["../a.txt", "a", "no slash"],
      ["a\u202egpj.exe", "a", "nothing that is not seen"],
      ["n".repeat(256), "a", "1 to 255 characters"],
    ] as const) {
      const wrong = await start({ database, tools: [sending((context) => context.sendFile(file(data, name)))] });
      expect((await wrong.say("go")).text, name).toContain(reason);
    }

    const many = await start({
      database,
      tools: [
        sending(async (context) => {
          for (let n = 0; n < 20; n++) await context.sendFile(file(`file ${n}`));
        }),
      ],
      script: ({ messages }) => {
        const results = messages.filter(({ role }) => role === "tool");
        return results.length === 2
          ? [text(String(results[1]?.content)), end()]
          : [toolCall(`c${results.length}`, "send"), end("tool_calls")];
      },
    });
    const result = await many.say("go");
    expect(result.text).toContain("TOOL_REFUSED: A turn sends at most 20 files.");
    expect(result.attachments).toHaveLength(20);
  });

  it("come before the words that follow, which are not shown while a file is still to be sent", async () => {
    const database = await open();
    const platform = chatPlatform();
    const isAsked = Promise.withResolvers<void>();
    let isUp = false;
    platform.check = (said) => {
      if (!isUp && said === "The report.")
        throw new ChannelError("CHANNEL_CONNECTION_LOST", "down", { notTaken: true });
    };
    const channel = createChatChannel("chat", platform);
    const harness = await start({
      database: through(database, {
        query: (statement, values, options) => {
          if (statement.includes("turn:behind")) isAsked.resolve();
          return database.query(statement, values, options);
        },
      }),
      channel,
      tools: [sending((context) => context.sendFile({ ...file(), caption: "The report." }))],
      script: async function* ({ messages }) {
        if (messages.at(-1)?.role !== "tool") {
          yield toolCall("c1", "send");
          yield end("tool_calls");
          return;
        }
        yield text("These are words");
        await isAsked.promise;
        isUp = true;
        await expect.poll(() => platform.messages.length, { timeout: 20_000 }).toBeGreaterThan(0);
        yield end();
      },
    });
    await channel.start();
    await harness.say("go");
    await expect
      .poll(() => platform.messages.map((shown) => shown.text), { timeout: 10_000 })
      .toEqual(["The report.", "These are words"]);
    expect(platform.messages[0]?.files).toMatchObject([{ name: "report.txt" }]);
  });

  it("are refused to a turn that another agent has begun", async () => {
    const database = await open();
    const delegate: Tool = {
      name: "hand",
      description: "hand",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => ({
        content: (await context?.spawn({ message: "the task" }))?.text ?? "",
      }),
    };
    const harness = await start({
      database,
      tools: [one, delegate],
      script: (request, call) => {
        const isTask = request.messages.some(({ role, content }) => role === "user" && content === "the task");
        if (isTask || request.messages.at(-1)?.role === "tool") return once(request, call);
        return [toolCall("h", "hand"), end("tool_calls")];
      },
    });
    expect((await harness.say("go")).text).toContain("TOOL_REFUSED: This turn was begun by another agent");
  });

  it("are in backups, and are erased with what was said", async () => {
    const [database, target] = [await open({ fresh: true }), await open({ fresh: true })];
    const harness = await start({ database, tools: [one] });
    await harness.say("go");
    await expect.poll(() => harness.sent.length).toBe(2);
    const archivesOf = async (of: Database) => {
      const staging = await temporaryDirectory();
      const attachments = createAttachmentStore({ database: of, directory: staging, logger: quietLogger });
      return createArchives({
        database: of,
        writer: writerOf(of),
        agents: new Set(["main"]),
        attachments,
        staging,
        clock: systemClock,
        version: "0.0.0-test",
      });
    };
    await (await archivesOf(target)).restore((await archivesOf(database)).backup());
    expect(await stored(target, Buffer.from("the report"))).toEqual(Buffer.from("the report"));

    const forgetting = createForgetting({
      database,
      newId,
      clock: systemClock,
      wikis: new Map(),
      onErased: () => undefined,
      logger: quietLogger,
    });
    const { rows } = await database.query<{ key: string }>("select session_key as key from conversations");
    const selection = { kind: "session", key: rows[0]?.key ?? "" } as const;
    const { messages } = await forgetting.preview(selection);
    const report = await forgetting.forget(selection, { expected: messages, reason: "asked for", by: "owner" });
    expect(report).toMatchObject({ attachments: 1 });
    expect((await database.query("select 1 from outbox")).rows).toEqual([]);
    expect(await stored(database, Buffer.from("the report"))).toHaveLength(0);
  });
});
