/** Every provider and every channel that has a manifest runs the checks of its kind against a fake of what it talks to. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CHANNELS } from "../../../runtime/plugins/channels/manifests.ts";
import { PROVIDERS } from "../../../runtime/plugins/providers/manifests.ts";

const PLUGINS = join(import.meta.dirname, "../plugins");

/** Texts of the tests below a folder. */
async function testsIn(folder: string): Promise<string[]> {
  const names = await readdir(join(PLUGINS, folder), { recursive: true });
  return Promise.all(
    names.filter((name) => name.endsWith(".test.ts")).map((name) => readFile(join(PLUGINS, folder, name), "utf8")),
  );
}

it.each(CHANNELS.map(({ id }) => id))("the channel %s", async (id) => {
  const tests = await testsIn(join("channels", id));
  const own = tests.filter((test) => new RegExp(`runtime/plugins/channels/${id}/index\\.ts`).test(test));
  expect(own.some((test) => test.includes("channelConformance("))).toBe(true);
});

it("each provider, and no other", async () => {
  const { APIS } = await import("../plugins/providers/support.ts");
  // It has no server, and its checks stand beside those of the others.
  const offline = PROVIDERS.filter(({ id }) => id === "offline").map(({ id }) => id);
  expect([...APIS.map(({ name }) => name), ...offline].sort()).toEqual(PROVIDERS.map(({ id }) => id).sort());
  const checks = await readFile(join(PLUGINS, "providers/conformance.test.ts"), "utf8");
  expect(checks).toContain("describe.each(APIS)");
  expect(checks).toContain("createOfflineProvider(");
});
