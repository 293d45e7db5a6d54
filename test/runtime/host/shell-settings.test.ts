/** `tools.shell` of cairn.yaml as the shell tool gets it. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../runtime/config/load.ts";
import { shellSettings } from "../../../runtime/host/settings.ts";
import { SHELL_DEFAULTS } from "../../../runtime/plugins/tools/index.ts";

async function settingsOf(shell: object) {
  const dir = await mkdtemp(join(tmpdir(), "cairn-shell-settings-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const config = { version: 1, providers: { model: { kind: "offline" } }, agents: { main: {} }, tools: { shell } };
  await writeFile(join(dir, "cairn.yaml"), JSON.stringify(config));
  return shellSettings(await loadConfig({ dir, home: join(dir, "home"), env: {} }));
}

it("has bounds, and no network for others than the owner, unless they are set", async () => {
  const { maxProcesses, maxMemoryBytes, network, networkForOthers } = SHELL_DEFAULTS;
  expect([maxProcesses, maxMemoryBytes, network, networkForOthers]).toEqual([4_096, 4 * 1024 ** 3, true, false]);
  expect(await settingsOf({})).toMatchObject({ maxProcesses, maxMemoryBytes, network, networkForOthers });
});

it("kills a command a second after it was asked to end", async () => {
  expect(await settingsOf({})).toMatchObject({ killGraceMs: 1_000 });
});

it("passes on what is set", async () => {
  const shell = { max_processes: 128, max_memory: "2Gi", network_for_others: true };
  expect(await settingsOf(shell)).toMatchObject({
    maxProcesses: 128,
    maxMemoryBytes: 2 * 1024 ** 3,
    networkForOthers: true,
  });
});

it("refuses a bound on processes that leaves no room for a command", async () => {
  await expect(settingsOf({ max_processes: 3 })).rejects.toThrow(/max_processes/);
});
