import { describe, expect, it } from "vitest";
import { ask } from "../../../../runtime/app/compaction/ask.ts";
import type { TextRequest } from "../../../../runtime/contracts/text-model.ts";
import { createTokenizer } from "../../../../runtime/domain/tokens.ts";
import { silent } from "../../../support/silent.ts";

const count = createTokenizer();
const signal = new AbortController().signal;

describe("a summary that is asked for", () => {
  it("may name the identifiers that it has to name, though the summaries of its parts left them out", async () => {
    const asked: TextRequest[] = [];
    const identifiers = ["https://example.org/pull/1234", "9f8e7d6c5b"];
    const complete = async (request: TextRequest) => {
      asked.push(request);
      return { text: `It tells of ${identifiers.join(" and of ")}.`, truncated: false };
    };
    const entries = ["[#1 2026-03-01T09:05Z main/system part 1 of 2]\nSomething was merged."];
    const question = { kind: "leaf", preamble: "Messages: 1", entries, identifiers, budget: 500 } as const;
    expect(await ask(question, { model: { model: "writer", complete }, count, logger: silent, signal })).toBe(
      "It tells of https://example.org/pull/1234 and of 9f8e7d6c5b.",
    );
    expect(asked).toHaveLength(1);
  });
});
