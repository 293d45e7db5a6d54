/** `cairn-agents/testing/provider` and `cairn-agents/testing/channel` as others install them: for any test runner, with Node's own modules and nothing else. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** A provider that is always there, and says nothing. */
const PROGRAM = `
import { registerHooks } from "node:module";
const loaded = new Set();
registerHooks({ resolve: (specifier, context, next) => { const found = next(specifier, context); loaded.add(found.url); return found; } });
const { providerConformance } = await import("cairn-agents/testing/provider");
const provider = {
  id: "silent", name: "Silent", model: "m",
  async *chatStream() {},
  isAvailable: async () => true,
  getModel() { return this.model; },
  setModel(model) { this.model = model; },
};
const open = async () => ({ provider: { ...provider }, requests: () => [], close: async () => {} });
const results = {};
for (const check of providerConformance({ open, lacks: ["server", "tools"] }))
  results[check.name] = await check.run().then(() => "passed", (error) => error.code + ": " + error.message);
const { channelConformance } = await import("cairn-agents/testing/channel");
const openChannel = async () => ({
  channel: {
    id: "mute", platform: "mute", start: async () => {}, stop: async () => {}, send: async () => null,
    state: () => ({ state: "up", reason: null }), onMessage() {}, onCommand() {},
  },
  conversation: "c", secret: "s", deliver: async () => {}, close: async () => {},
});
const lacks = ["platform", "receiver", "edit", "drafts", "reactions", "strangers"];
for (const check of channelConformance({ open: openChannel, lacks }).slice(0, 6))
  results[check.name] = await check.run().then(() => "passed", (error) => error.code + ": " + error.message.split("\\n")[0]);
console.log(JSON.stringify({ results, loaded: [...loaded] }));
`;

it("needs no package, and tells what of a provider and of a channel is right and what is wrong", async () => {
  const directory = await mkdtemp(join(tmpdir(), "cairn-testing-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const installed = join(directory, "node_modules", "cairn-agents");
  await mkdir(join(installed, "dist"), { recursive: true });
  await cp(join(ROOT, "package.json"), join(installed, "package.json"));
  await cp(join(ROOT, "dist", "runtime"), join(installed, "dist", "runtime"), { recursive: true });
  await writeFile(join(directory, "program.mjs"), PROGRAM);
  const { stdout } = await promisify(execFile)(process.execPath, [join(directory, "program.mjs")], { cwd: directory });
  const { loaded, results } = JSON.parse(stdout) as {
    readonly loaded: readonly string[];
    readonly results: Readonly<Record<string, string>>;
  };
  expect(results).toMatchObject({
    "has an id, a name, and a default model that can be changed": "passed",
    "says that it is available": "passed",
    "ends a reply with exactly one end chunk, which has a reason, counts and a model":
      "ERR_ASSERTION: the last chunk of a complete reply has to be its end",
    "has what the harness says, and nothing of what it lacks": "passed",
    "says how it is, with reasons, where each node receives for itself; with a receiver the node does":
      "ERR_ASSERTION: the state before its start",
    "stops without ever having started, and twice": "passed",
    "shows that it types while turns run, as often as it is asked, and takes as many ends": "passed",
    "splits what is longer than the platform's limit, and loses nothing (skipped: no platform)": "passed",
  });
  expect(loaded.filter((url) => !/^node:|\/cairn-agents\/dist\/runtime\/(testing|contracts)\//.test(url))).toEqual([]);
});
