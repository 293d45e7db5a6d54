import assert from "node:assert/strict";
import test from "node:test";
import type { Logger } from "cairn-agents/plugin";
import { toolConformance } from "cairn-agents/testing/tool";
import { create } from "./index.ts";

const nothing = () => undefined;
const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };

function open() {
  return create({ id: "NAME", settings: { zone: "UTC" }, logger });
}

// What every tool has to keep to.
const harness = { open: async () => ({ tool: open() }), valid: { zone: "Asia/Tokyo" }, failing: { zone: "Nowhere" } };
for (const check of toolConformance(harness)) test(check.name, check.run);

test("uses the zone of its settings where the call names none", async () => {
  const { content } = await open().execute({});
  assert.match(content, /UTC/);
});
