/** The specification's table "Memory-quality pipeline", row by row, as the model sees it and as it is stored. */

import { expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { createTokenizer } from "../../../../runtime/domain/tokens.ts";
import type { TextFakeOptions } from "../../../fakes/chat-completions/index.ts";
import type { RecordedRequest } from "../../../fakes/shared/script.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";
import { compactorOf, fakeModel, makeDue, never, type SummaryRow, summariesOf, talk } from "./support.ts";

const count = createTokenizer();
const at = (minute: number) => new Date(Date.UTC(2026, 4, 1, 10, minute, 34)).toISOString();

interface Recounted {
  readonly id: string;
  readonly summaries: readonly SummaryRow[];
  readonly requests: readonly RecordedRequest[];
}

/** Writes the entries, marks the conversation ready and lets it be summarized. */
async function recount(
  database: Database,
  session: string,
  entries: Parameters<typeof write>[2],
  {
    options = {},
    title,
    window,
  }: { readonly options?: TextFakeOptions; readonly title?: string; readonly window?: number } = {},
): Promise<Recounted> {
  const fake = await fakeModel(options);
  const batch = { finalize: true, ...(title === undefined ? {} : { title }) };
  const { conversationId: id } = await write(writerOf(database), session, entries, batch);
  await compactorOf(database, fake, window === undefined ? {} : { window }).run(never);
  return { id, summaries: await summariesOf(database, id), requests: fake.requests };
}

/** A session's tree up to its root, with what the model was asked for at each level. */
async function tree(database: Database, session: string): Promise<Recounted> {
  const fake = await fakeModel();
  const compactor = compactorOf(database, fake);
  let id = "";
  for (let n = 0; n < 15; n += 1) {
    id = await talk(database, session, 10, `${session} topic ${n}`);
    await compactor.run(never);
  }
  return { id, summaries: await summariesOf(database, id), requests: fake.requests };
}

const ofLevel = (requests: readonly RecordedRequest[], words: RegExp) =>
  requests.filter(({ system }) => words.test(system));
const LEVELS = [/a stretch of one conversation/, /consecutive summaries/, /summaries of consecutive phases/] as const;

describeDatabase("the memory-quality pipeline", (open) => {
  it("source message truncation: none, a message of 20,000 words reaches the model whole", async () => {
    const words = Array.from({ length: 20_000 }, (_, n) => `w${n}`);
    const { requests, summaries } = await recount(await open(), "long", [said("first"), said(words.join(" "))]);
    const shown = requests
      .map(({ lastUser }) => lastUser)
      .join("\n")
      .split(/\s+/);
    expect(new Set(words).difference(new Set(shown)).size).toBe(0);
    expect(summaries.flatMap(({ sources }) => sources)).toEqual(["first", words.join(" ")]);
  });

  it("source message truncation: none, what no window holds goes in parts that are one summary together", async () => {
    const words = Array.from({ length: 20_000 }, (_, n) => `w${n}`);
    const { requests, summaries } = await recount(await open(), "too long", [said(words.join(" ")), said("second")], {
      window: 32_000,
    });
    const parts = requests.filter(({ lastUser }) => / part \d+ of \d+\]/.test(lastUser));
    expect(parts.length).toBeGreaterThan(2);
    const shown = parts
      .map(({ lastUser }) => lastUser)
      .join("\n")
      .split(/\s+/);
    expect(new Set(words).difference(new Set(shown)).size).toBe(0);
    expect(summaries[0]).toMatchObject({ message_count: 1, sources: [words.join(" ")] });
    for (const n of parts.keys()) expect(summaries[0]?.content).toContain(`Part ${n + 1} of ${parts.length}:`);
  });

  it("source message truncation: none, and a message of nothing but white space has a summary too", async () => {
    const { summaries } = await recount(await open(), "blank", [said(" \n".repeat(200_000)), said("second")]);
    expect(summaries.map(({ message_count }) => message_count)).toEqual([1, 1]);
    expect(summaries[0]?.content).toMatch(/white space/);
  });

  it("summary token budget: leaf 7k, branch 14k, root 20k, asked for and kept", async () => {
    const { requests, summaries } = await tree(await open(), "budgets");
    for (const [level, tokens] of [
      [0, 7_000],
      [1, 14_000],
      [2, 20_000],
    ] as const) {
      const asked = ofLevel(requests, LEVELS[level]);
      expect(asked.length).toBeGreaterThan(0);
      for (const { system } of asked) expect(system).toContain(`At most ${tokens} tokens`);
      for (const { content } of summaries.filter(({ depth }) => depth === level))
        expect(count(content)).toBeLessThanOrEqual(tokens);
    }
  });

  it("thinking mode: on for every summary, and no reasoning in any", async () => {
    const { requests, summaries } = await recount(await open(), "thinking", [said("a"), said("b")]);
    expect(requests[0]?.body).toMatchObject({ reasoning_effort: "medium" });
    expect(summaries[0]?.content).not.toMatch(/let me look/i);
  });

  it("timestamps: ISO to the minute on every message and at every summary layer", async () => {
    const database = await open();
    const { requests } = await recount(database, "times", [
      said("a", { createdAt: at(12) }),
      said("b", { createdAt: at(13) }),
    ]);
    expect(requests[0]?.lastUser).toContain("[#1 2026-05-01T10:12Z main/user]\na");
    expect(requests[0]?.lastUser).toContain("[#2 2026-05-01T10:13Z main/user]\nb");
    const above = await tree(database, "layers");
    const minute = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\dZ";
    for (const level of [1, 2] as const) {
      const kind = level === 1 ? "leaf" : "branch";
      const asked = ofLevel(above.requests, LEVELS[level]);
      const heading = new RegExp(`^\\[#\\d+ ${minute} to ${minute} summary/${kind}, \\d+ messages\\]$`, "gm");
      for (const { lastUser } of asked) expect(lastUser.match(heading)?.length).toBe(level === 1 ? 5 : 3);
    }
    for (const { system } of above.requests) expect(system).toContain("times to the minute");
  });

  it("agent attribution: [#<ordinal> <timestamp> <agent>/<role>], the ordinal that of the link", async () => {
    const database = await open();
    const writer = writerOf(database);
    await write(writer, "agents", [said("from main", { createdAt: at(1) })]);
    await write(writer, "agents", [said("from scout", { role: "assistant", createdAt: at(2) })], { agent: "scout" });
    const { requests, id } = await recount(database, "agents", [said("again", { createdAt: at(3) })]);
    expect(requests[0]?.lastUser.match(/^\[#.*\]$/gm)).toEqual([
      "[#1 2026-05-01T10:01Z main/user]",
      "[#2 2026-05-01T10:02Z scout/assistant]",
      "[#3 2026-05-01T10:03Z main/user]",
    ]);
    const { rows } = await database.query<{ ordinal: number; content: string }>(
      `select link.ordinal, m.content from summary_sources link join messages m on m.id = link.message_id
       where m.conversation_id = $1 order by 1`,
      [id],
    );
    expect(rows.map(({ ordinal, content }) => `${ordinal} ${content}`)).toEqual([
      "1 from main",
      "2 from scout",
      "3 again",
    ]);
  });

  it("conversation header: id, agent, channel, title, time span and message count, at every level", async () => {
    const database = await open();
    const entries = [said("a", { createdAt: at(12) }), said("b", { createdAt: at(59) })];
    const { requests, id } = await recount(database, "header", entries, { title: "The move" });
    expect(requests[0]?.lastUser.split("\n\n")[0]).toBe(
      [
        `Conversation: ${id}`,
        "Agent: main",
        "Channel: agent",
        "Title: The move",
        "Time span: 2026-05-01T10:12Z to 2026-05-01T10:59Z",
        "Messages: 2",
      ].join("\n"),
    );
    const above = await tree(database, "headers");
    for (const [level, messages] of [
      [1, 50],
      [2, 150],
    ] as const) {
      const [asked] = ofLevel(above.requests, LEVELS[level]);
      expect(asked?.lastUser).toMatch(new RegExp(`^Conversation: ${above.id}\\n(.*\\n){4}Messages: ${messages}\\n`));
    }
  });

  it("system messages: their identifiers are asked for, and stand in the summary verbatim even where the model leaves them out", async () => {
    const entries = [
      said("PR #482 merged as 9f8e7d6c, 120 lines in src/app/main.ts", { role: "system" }),
      said('The skill "pdf-forms" was loaded; cairn v1.4.0 runs', { role: "system" }),
      said("see #999", { role: "user" }),
    ];
    const identifiers = ["#482", "9f8e7d6c", "120 lines", "src/app/main.ts", "pdf-forms", "v1.4.0"];
    const forgetful = { answer: () => "Something was merged, and a skill was loaded." };
    const { requests, summaries } = await recount(await open(), "identifiers", entries, { options: forgetful });
    expect(requests[0]?.lastUser).toContain(
      `exactly as it stands here:\n${identifiers.map((one) => `- ${one}`).join("\n")}\n\n`,
    );
    expect(requests).toHaveLength(2);
    expect(requests[1]?.lastUser).toContain(`left out identifiers of system messages: ${identifiers.join(", ")}.`);
    expect(summaries[0]?.content).toBe(
      `${forgetful.answer()}\n\nIdentifiers in system messages: ${identifiers.join(", ")}`,
    );
  });

  it("system messages: their identifiers live on in branches", async () => {
    const database = await open();
    const fake = await fakeModel();
    const compactor = compactorOf(database, fake);
    let id = "";
    for (let n = 0; n < 5; n += 1) {
      await talk(database, "identifiers above", 9, `topic ${n}`);
      id = (
        await write(writerOf(database), "identifiers above", [said(`PR #${700 + n} was merged`, { role: "system" })])
      ).conversationId;
      await compactor.run(never);
    }
    const branch = (await summariesOf(database, id)).find(({ kind }) => kind === "branch");
    for (let n = 0; n < 5; n += 1) expect(branch?.content).toContain(`#${700 + n}`);
  });

  it("tool-call rows with empty content: arguments and results are shown, with how much of a result was kept", async () => {
    const call = said("", {
      role: "assistant",
      key: "call",
      toolName: "shell",
      toolArgs: { command: "df -h" },
      toolResult: "disk full",
    });
    const long = said("", {
      role: "assistant",
      key: "long",
      toolName: "read",
      toolArgs: { path: "a" },
      toolResult: "x".repeat(20_000),
    });
    const { requests } = await recount(await open(), "tools", [call, long]);
    expect(requests[0]?.lastUser).toContain(
      'main/assistant]\nTool call: shell\nArguments: {"command":"df -h"}\nResult: disk full',
    );
    expect(requests[0]?.lastUser).toContain("Result (the first 16000 of 20000 characters were kept): xxx");
  });

  it("HTTP client to the local model: no timeout, 3 retries with 5 s, 10 s, 15 s backoff", async () => {
    const database = await open();
    const fake = await fakeModel({
      fault: ({ number }) => (number <= 3 ? { kind: "status", status: 503 } : undefined),
    });
    await talk(database, "retries", 10);
    const compactor = compactorOf(database, fake);
    await makeDue(database);
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 0, unavailable: null });
    expect(compactor.pauses).toEqual([5_000, 10_000, 15_000]);
  });

  it("three system prompts, one a level, which share the rules: every topic, nothing invented, verbatim, no LaTeX", async () => {
    const { requests } = await tree(await open(), "prompts");
    const prompts = LEVELS.map((level) => ofLevel(requests, level)[0]?.system ?? "");
    expect(new Set(prompts).size).toBe(3);
    for (const prompt of prompts) {
      for (const rule of [
        /every distinct topic/,
        /Never invent/,
        /character for character/,
        /No LaTeX/,
        /Plain Unicode/,
      ]) {
        expect(prompt).toMatch(rule);
      }
    }
  });
});
