import { describe, expect, it } from "vitest";
import { callSummarizer } from "../../../../runtime/app/compaction/call-summarizer.ts";
import type { TextRequest } from "../../../../runtime/contracts/text-model.ts";
import { createTokenizer } from "../../../../runtime/domain/tokens.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

const count = createTokenizer();
const signal = new AbortController().signal;

describe("a summary that is asked for", () => {
  it("is written from a text without secrets, and need not name them", async () => {
    const asked: TextRequest[] = [];
    const complete = async (request: TextRequest) => {
      asked.push(request);
      return { text: "node-3.example.org was set up.", truncated: false };
    };
    const redact = (text: string) => text.replaceAll("hunter2-9f8e7d6c5b", "[redacted]");
    const question = {
      kind: "leaf",
      preamble: "Title: hunter2-9f8e7d6c5b",
      entries: ["[#1 2026-03-01T09:05Z main/system]\nPASS=hunter2-9f8e7d6c5b at node-3.example.org"],
      identifiers: ["hunter2-9f8e7d6c5b", "node-3.example.org"],
      budget: 500,
    } as const;
    const deps = { model: { model: "writer", complete }, count, logger: quietLogger, signal, redact };
    expect(await callSummarizer(question, deps)).toBe("node-3.example.org was set up.");
    expect(asked).toHaveLength(1);
    expect(asked[0]?.user).toContain("PASS=[redacted] at node-3.example.org");
    expect(JSON.stringify(asked)).not.toContain("hunter2");
  });

  it("may name the identifiers that it has to name, though the summaries of its parts left them out", async () => {
    const asked: TextRequest[] = [];
    const identifiers = ["https://example.org/pull/1234", "9f8e7d6c5b"];
    const complete = async (request: TextRequest) => {
      asked.push(request);
      return { text: `It tells of ${identifiers.join(" and of ")}.`, truncated: false };
    };
    const entries = ["[#1 2026-03-01T09:05Z main/system part 1 of 2]\nSomething was merged."];
    const question = { kind: "leaf", preamble: "Messages: 1", entries, identifiers, budget: 500 } as const;
    expect(
      await callSummarizer(question, { model: { model: "writer", complete }, count, logger: quietLogger, signal }),
    ).toBe("It tells of https://example.org/pull/1234 and of 9f8e7d6c5b.");
    expect(asked).toHaveLength(1);
  });
});
