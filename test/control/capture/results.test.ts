/** What the commands answer is what their published schemas say. */

import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { backfill, flush } from "../../../control/capture/deliver.ts";
import { captureStatus, installHarness, uninstallHarness } from "../../../control/capture/install.ts";
import {
  renderBackfill,
  renderFlush,
  renderInstall,
  renderStatus,
  renderUninstall,
} from "../../../control/capture/render.ts";
import { CAPTURE_SCHEMAS } from "../../../control/output/result-schemas/capture.ts";
import { captureHome } from "../../support/capture-home.ts";
import { sessionText } from "../../support/session-files.ts";

const plain = (text: string) => text;
const mark = { title: plain, good: plain, warn: plain, error: plain, dim: plain, name: plain };

test("of install, status, backfill, flush and uninstall, in JSON and in words", async () => {
  const { home, machine, place, node } = await captureHome();
  const places = { home, machine, script: "/opt/cairn/bin/cairn-capture.js", node: process.execPath, stamp: "t" };
  const options = { home, machine, signal: new AbortController().signal, onLine: () => undefined };
  await writeFile(await place(".claude", "projects", "p", "s.jsonl"), await sessionText("claude-code"));

  const installed = { ...(await installHarness("claude-code", places)), node: node.url };
  expect(CAPTURE_SCHEMAS["capture-install"].parse(installed)).toEqual(installed);
  expect(renderInstall(installed, mark)).toMatch(/Installed in .*settings\.json[\s\S]*capture backfill claude-code/);

  node.answer = () => 503;
  const brought = await backfill("claude-code", options);
  expect(CAPTURE_SCHEMAS["capture-backfill"].parse(brought)).toEqual(brought);
  expect(renderBackfill(brought, mark)).toMatch(/12 events of 1 sessions[\s\S]*1 batches are in the spool/);

  const status = await captureStatus(places);
  expect(CAPTURE_SCHEMAS["capture-status"].parse(status)).toEqual(status);
  expect(renderStatus(status, mark)).toMatch(/claude-code +installed[\s\S]*codex +not on this machine[\s\S]*1 waiting/);

  const flushed = await flush(home, { ...options, dead: false });
  expect(CAPTURE_SCHEMAS["capture-flush"].parse(flushed)).toEqual(flushed);
  expect(renderFlush(flushed, mark)).toMatch(/0 delivered, 0 refused, 1 waiting[\s\S]*503/);

  const removed = { ...(await uninstallHarness("claude-code", places)), token_revoked: false };
  expect(CAPTURE_SCHEMAS["capture-uninstall"].parse(removed)).toEqual(removed);
  expect(renderUninstall(removed, mark)).toMatch(/Removed .*settings\.json, which held nothing else/);
});
