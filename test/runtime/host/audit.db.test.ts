/** The audit log of a node: each call that an agent's model makes is in it, also one that no guard sees, and the chain is whole. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../../control/audit/verify-audit.ts";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import type { FakeScript } from "../../fakes/shared/script.ts";
import { composedNode } from "../../support/composed-node.ts";

const mistaken: FakeScript = ({ step }) =>
  step > 0
    ? { text: "Done." }
    : {
        toolCalls: [
          { name: "no_such_tool", arguments: { token: "value-of-a-token" } },
          { name: "file_read", arguments: { file: "notes.md" } },
          { name: "file_read", arguments: { path: "/etc/passwd" } },
          { name: "file_read", arguments: { path: "notes.md" } },
        ],
      };

/** The same call until it is refused. */
const stubborn: FakeScript = ({ step }) =>
  step > 3 ? { text: "Done." } : { toolCalls: [{ name: "file_read", arguments: { path: "notes.md" } }] };

async function audited(safety: object, script: FakeScript = mistaken) {
  const model = await startOpenAiFake({ script });
  onTestFinished(() => model.close());
  const node = await composedNode({
    store: "embedded",
    workspace: { "notes.md": "a note" },
    config: {
      providers: { fake: { kind: "openai-compatible", base_url: model.baseUrl, api_key: "key", model: "fake" } },
      agents: { main: { provider: "fake" } },
      runtime: { safety },
    },
  });
  expect(await node.say("Go.")).toBe("Done.");
  const directory = join(node.home, "logs", "audit");
  const names = await readdir(directory).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  const lines = texts.flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line): Record<string, unknown> => JSON.parse(line)),
  );
  return { directory, lines: lines.filter(({ tool }) => tool !== undefined), texts };
}

test("calls that no guard sees are in the audit log, too, and its chain is whole", async () => {
  const { directory, lines, texts } = await audited({});
  expect(lines.map(({ event, tool, code, ok }) => [event, tool, code ?? ok])).toEqual([
    ["refused", "no_such_tool", "TOOL_UNKNOWN"],
    ["refused", "file_read", "TOOL_INVALID_ARGUMENTS"],
    ["refused", "file_read", "TOOL_OUTSIDE_WORKSPACE"],
    ["call", "file_read", undefined],
    ["result", "file_read", true],
  ]);
  expect(lines[0]).toMatchObject({ agent: "main", owner: true, arguments: { token: "[redacted]" } });
  expect(texts.join()).not.toContain("value-of-a-token");
  expect(await verifyAudit(directory, { signal: AbortSignal.timeout(10_000) })).toMatchObject({ problems: [] });
});

test("a call that is refused because it was repeated is in the audit log, too", async () => {
  const { lines } = await audited({}, stubborn);
  expect(lines.filter(({ event }) => event !== "result").map(({ event, code }) => [event, code])).toEqual([
    ["call", undefined],
    ["call", undefined],
    ["call", undefined],
    ["refused", "TOOL_REPEATED"],
  ]);
});

test("calls are in no audit log that is switched off", async () => {
  expect((await audited({ audit: false })).lines).toEqual([]);
});
