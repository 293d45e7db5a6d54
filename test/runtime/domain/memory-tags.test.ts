import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { botAgent, DEFAULT_TAGS, resolveTags } from "../../../runtime/domain/memory-tags.ts";

describe("tags", () => {
  test("come from the call, then from the environment, then from the defaults", () => {
    expect(resolveTags({}, {})).toEqual(DEFAULT_TAGS);
    const environment = { source: "launcher", agent: "coder", channel: "editor", persona: "terse" };
    expect(resolveTags({}, environment)).toEqual(environment);
    expect(resolveTags({ agent: "reviewer", persona: "kind" }, environment)).toEqual({
      ...environment,
      agent: "reviewer",
      persona: "kind",
    });
  });

  test("that are blank are absent, each by itself", () => {
    const blank = fc.constantFrom(undefined, "", " ", "\n\t");
    const tag = fc.oneof(blank, fc.string({ minLength: 1 }));
    const tags = fc.record({ source: tag, agent: tag, channel: tag, persona: tag });
    fc.assert(
      fc.property(tags, tags, (call, environment) => {
        const resolved = resolveTags(call, environment);
        for (const name of ["source", "channel", "persona"] as const) {
          const expected = call[name]?.trim() || environment[name]?.trim();
          const fallback = name === "persona" ? undefined : DEFAULT_TAGS[name];
          expect(resolved[name]).toBe(expected || fallback);
        }
      }),
    );
  });

  test.each([
    ["bot", { agent: "Support Bot" }, "bot-support-bot"],
    ["bot-bridge", { agent: "bot-helper" }, "bot-helper"],
    ["bot-telegram", { persona: "Zoë & Max" }, "bot-zoe-max"],
    ["Bot", { agent: "" }, "bot-bridge"],
    ["robot", { agent: "Support Bot" }, "Support Bot"],
    ["bottle", { agent: "Support Bot" }, "Support Bot"],
  ])("of the source %s with %j name the agent %s", (source, tags, agent) => {
    expect(resolveTags({ source, ...tags }, {}).agent).toBe(agent);
  });

  test("of bots are slugs, which stay what they are", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (name) => {
        const slug = botAgent(name);
        expect(slug).toMatch(/^bot-[a-z0-9]+(-[a-z0-9]+)*$/);
        expect(slug.length).toBeLessThanOrEqual(64);
        expect(botAgent(slug)).toBe(slug);
      }),
    );
  });

  test("of bots without Latin letters, or with very long names, stay apart", () => {
    expect(botAgent("日本")).not.toBe(botAgent("中国"));
    expect(botAgent(`${"a".repeat(80)}1`)).not.toBe(botAgent(`${"a".repeat(80)}2`));
  });
});
