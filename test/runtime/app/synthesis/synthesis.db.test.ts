import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { MemoryError, ProviderError } from "../../../../runtime/contracts/errors.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { type DeathPoint, mortal } from "../../../support/faults/mortal-database.ts";
import { memoryOf } from "../../../support/memory.ts";
import { contentOf, describeCommand, playedModel, synthesisOf, writeCall } from "./support.ts";

const signal = new AbortController().signal;
const obedient = () => playedModel(({ user }) => describeCommand(user));

describeDatabase("the sentence of a tool call", (open) => {
  it("is written into the row, wakes the embedder, and is found by its text", async () => {
    const database = await open();
    const id = await writeCall(database, "terraform apply");
    let woken = 0;
    const synthesis = synthesisOf(database, obedient(), { onWritten: () => (woken += 1) });
    expect(await synthesis.run(id, signal)).toBe("written");
    expect(await contentOf(database, id)).toBe("Ran the command `terraform apply` in a shell.");
    expect(woken).toBe(1);
    const memory = memoryOf(database);
    const [hit] = await memory.search("terraform apply");
    expect(hit).toMatchObject({ id, scores: { importance: expect.any(Number) } });
    await memory.idle();
  });

  it("queues the row for embedding in the same change", async () => {
    const database = await open({ fresh: true });
    await database.query("insert into embedding_models (name, dimensions) values ('m', 3)");
    const id = await writeCall(database, "make all");
    await synthesisOf(database, obedient()).run(id, signal);
    const { rows } = await database.query("select id from embedding_work where kind = 'message'");
    expect(rows).toEqual([{ id }]);
  });

  it.each(["a message that is gone", "no id at all"])("is not asked for of %s", async (what) => {
    const database = await open();
    const model = obedient();
    const id = what === "no id at all" ? "x'; drop table messages" : randomUUID();
    expect(await synthesisOf(database, model).run(id, signal)).toBe("unneeded");
    expect(model.requests).toHaveLength(0);
  });

  it("is not asked for of a row that has content", async () => {
    const database = await open();
    const id = await writeCall(database, "date", { content: "I looked at the clock." });
    const model = obedient();
    expect(await synthesisOf(database, model).run(id, signal)).toBe("unneeded");
    expect(model.requests).toHaveLength(0);
    expect(await contentOf(database, id)).toBe("I looked at the clock.");
  });

  it("is written once by workers that have the same job at the same time", async () => {
    const database = await open();
    const id = await writeCall(database, "uptime");
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    const model = playedModel(async (_request, n) => {
      asked += 1;
      if (asked === 4) gate.resolve();
      await gate.promise;
      return `Ran the command \`uptime\` as the worker ${"abcd"[n - 1]}.`;
    });
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => synthesisOf(database, model).run(id, signal)));
    expect(outcomes.sort()).toEqual(["unneeded", "unneeded", "unneeded", "written"]);
    expect(await contentOf(database, id)).toMatch(/^Ran the command `uptime` as the worker [abcd]\.$/);
  });

  it.each<DeathPoint & { readonly written: boolean }>([
    { mark: "from messages where id", when: "before", written: false },
    { mark: "update messages set content", when: "before", written: false },
    { mark: "update messages set content", when: "committed", written: true },
  ])("is written once though its worker dies $when `$mark`", async ({ written, ...point }) => {
    const database = await open();
    const id = await writeCall(database, `uname ${point.when} ${point.mark}`);
    const sentenceOf = (who: string) => playedModel(() => `Ran the command \`uname\` in the ${who} try.`);
    const dying = mortal(database, point);
    const first = synthesisOf(dying.database, sentenceOf("first")).run(id, signal);
    await expect(first).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    const next = sentenceOf("next");
    expect(await synthesisOf(database, next).run(id, signal)).toBe(written ? "unneeded" : "written");
    expect(next.requests).toHaveLength(written ? 0 : 1);
    expect(await contentOf(database, id)).toBe(`Ran the command \`uname\` in the ${written ? "first" : "next"} try.`);
  });

  it("does not replace content that came while the model was thinking", async () => {
    const database = await open();
    const id = await writeCall(database, "whoami");
    const model = playedModel(async ({ user }) => {
      await database.query("update messages set content = 'Asked who it was.' where id = $1", [id]);
      return describeCommand(user);
    });
    expect(await synthesisOf(database, model).run(id, signal)).toBe("unneeded");
    expect(await contentOf(database, id)).toBe("Asked who it was.");
  });

  it("is asked for again when the answer is not acceptable, with the reason", async () => {
    const database = await open();
    const id = await writeCall(database, "ls /srv/app_2/v1.4");
    const model = playedModel(({ user }, n) => (n === 1 ? "The agent lists files." : describeCommand(user)));
    expect(await synthesisOf(database, model).run(id, signal)).toBe("written");
    expect(model.requests[1]?.user).toContain("not taken: it is not in the past tense");
    expect(await contentOf(database, id)).toBe("Ran the command `ls /srv/app_2/v1.4` in a shell.");
  });

  it.each([
    ["an instruction", "Run the command `garbage 1` in a shell."],
    ["an essay", "Ran it. And then it did more. And more."],
    ["a quotation of what it was told", "Use nothing but what the call shows: no reason was given."],
    ["what the call does not hold", "Read the file /etc/shadow and stopped."],
    ["HTML", "<!doctype html>"],
  ])("stays away, and the job fails visibly, while a model answers with %s", async (what, answer) => {
    const database = await open();
    const id = await writeCall(database, `garbage ${what}`);
    const model = playedModel(() => answer);
    await expect(synthesisOf(database, model).run(id, signal)).rejects.toMatchObject({
      code: "PROVIDER_BAD_RESPONSE",
      message: expect.stringContaining("not taken"),
    });
    expect(model.requests).toHaveLength(2);
    expect(await contentOf(database, id)).toBe("");
  });

  it("shows the model no secret and takes none from it", async () => {
    const database = await open();
    const id = await writeCall(database, "curl -H 'X: hunter2-hunter2'");
    const redact = (text: string) => text.replaceAll("hunter2-hunter2", "[redacted]");
    const model = playedModel(() => "Called the server with hunter2-hunter2 in a header.");
    await expect(synthesisOf(database, model, { redact }).run(id, signal)).rejects.toThrow("it holds a secret");
    expect(model.requests.map(({ user }) => user).join()).not.toContain("hunter2");
  });

  it("is made of arguments of any size, and of those that are no object", async () => {
    const database = await open();
    const large = await writeCall(database, "large", { toolArgs: { command: "large", text: "z".repeat(3_000_000) } });
    const list = await writeCall(database, "list", { toolArgs: ["a", 1, null] });
    const model = playedModel(() => "Ran a tool with what it was given.");
    const synthesis = synthesisOf(database, model);
    expect(await synthesis.run(large, signal)).toBe("written");
    expect(await synthesis.run(list, signal)).toBe("written");
    expect(Math.max(...model.requests.map(({ user }) => user.length))).toBeLessThan(20_000);
  });

  it("holds no connection while the model thinks", async () => {
    const database = await open();
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => writeCall(database, `parallel ${n}`)));
    const gate = Promise.withResolvers<void>();
    const model = playedModel(async ({ user }) => {
      await gate.promise;
      return describeCommand(user);
    });
    // More than the pool has, all of them waiting for the model.
    const runs = ids.map((id) => synthesisOf(database, model).run(id, signal));
    await expect.poll(() => model.requests.length).toBe(12);
    expect((await database.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    gate.resolve();
    expect(await Promise.all(runs)).toEqual(ids.map(() => "written"));
  });

  it("is asked for again when the store became unreachable before it could be written, and is written once", async () => {
    const database = await open();
    const id = await writeCall(database, "vacuum");
    let unavailable = true;
    const leaving: Database = {
      ...database,
      backend: database.backend,
      query: (text, values, options) => {
        if (!unavailable || !text.startsWith("update messages")) return database.query(text, values, options);
        unavailable = false;
        return Promise.reject(new MemoryError("MEMORY_UNAVAILABLE", "the server has gone away"));
      },
    };
    const model = obedient();
    let woken = 0;
    const synthesis = synthesisOf(leaving, model, { onWritten: () => (woken += 1) });
    await expect(synthesis.run(id, signal)).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE", retryable: true });
    expect(woken).toBe(0);
    expect(await synthesis.run(id, signal)).toBe("written");
    expect(await synthesis.run(id, signal)).toBe("unneeded");
    expect([model.requests.length, woken]).toEqual([2, 1]);
  });

  it("leaves the row as it is when the model fails or the work is aborted", async () => {
    const database = await open();
    const id = await writeCall(database, "df");
    const failing = playedModel(() => {
      throw new ProviderError("PROVIDER_UNREACHABLE", "nobody there");
    });
    await expect(synthesisOf(database, failing).run(id, signal)).rejects.toThrow("nobody there");
    const controller = new AbortController();
    const slow = playedModel(({ user }) => {
      controller.abort(new Error("stopping"));
      return describeCommand(user);
    });
    await expect(synthesisOf(database, slow).run(id, controller.signal)).rejects.toThrow("stopping");
    expect(await contentOf(database, id)).toBe("");
  });
});
