import assert from "node:assert/strict";
import test from "node:test";
import type { HookContexts, Logger } from "cairn-agents/plugin";
import { hookConformance } from "cairn-agents/testing/hook";
import { create } from "./index.ts";

const nothing = () => undefined;
const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };

const context: HookContexts["turn:before"] = {
  agent: "main",
  sessionKey: "session",
  conversationId: "conversation",
  turnId: "turn",
  channel: "agent",
  user: "owner",
  owner: true,
  workspace: "/nonexistent",
  text: "Hello",
};

function open() {
  return create({ id: "NAME", settings: { note: "Be brief." }, logger });
}

// What every hook has to keep to.
for (const check of hookConformance({ open: async () => ({ hook: open(), context }) })) test(check.name, check.run);

test("adds the note of its settings", async () => {
  const changed = await open().run(context);
  assert.equal(changed?.text, "Hello\n\nBe brief.");
});
