import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backfill, flush } from "../../../control/capture/deliver.ts";
import type { Harness } from "../../../control/capture/harnesses.ts";
import { captureHome } from "../../support/capture-home.ts";
import { sessionText, writeOpenCodeDatabase } from "../../support/session-files.ts";

async function user() {
  const at = await captureHome();
  const lines: string[] = [];
  const onLine = (line: string) => void lines.push(line);
  const signal = new AbortController().signal;
  return {
    ...at,
    lines,
    backfill: (harness: Harness) => backfill(harness, { home: at.home, machine: at.machine, signal, onLine }),
    flush: (dead = false) => flush(at.home, { dead, signal, onLine }),
  };
}

describe("capture backfill", () => {
  test("brings in every session of each assistant, once: 12 + 12, 9 and 6 events", async () => {
    const { backfill, place, node, lines } = await user();
    for (const name of ["a", "b"]) {
      await writeFile(await place(".claude", "projects", "p", `${name}.jsonl`), await sessionText("claude-code"));
    }
    const rollout = "rollout-2026-08-10T20-05-00-0198f2c4-7b1e-7c30-8a2f-5d6e7f809101.jsonl";
    await writeFile(await place(".codex", "archived_sessions", rollout), await sessionText("codex"));
    await writeOpenCodeDatabase(await place(".local", "share", "opencode", "opencode.db"));
    expect(await backfill("claude-code")).toEqual({
      harness: "claude-code",
      sessions: 2,
      events: 24,
      failed: [],
      waiting: 0,
    });
    expect(await backfill("codex")).toMatchObject({ sessions: 1, events: 9 });
    expect(await backfill("opencode")).toMatchObject({ sessions: 1, events: 6 });
    expect([...node.stored.values()].map(({ length }) => length)).toEqual([12, 12, 9, 6]);
    expect(lines).toHaveLength(4);
    expect(await backfill("claude-code")).toMatchObject({ sessions: 2, events: 0 });
    expect(node.requests).toHaveLength(4);
  });

  test("goes on after a session that cannot be read, and names it", async () => {
    const { backfill, place } = await user();
    const broken = await place(".local", "share", "opencode", "opencode-a.db");
    await writeFile(broken, "no database");
    await writeOpenCodeDatabase(await place(".local", "share", "opencode", "opencode.db"));
    expect(await backfill("opencode")).toMatchObject({
      sessions: 2,
      events: 6,
      failed: [{ session: broken, reason: expect.stringContaining("not a database") }],
    });
  });

  test("says where it looked when there is nothing, and what to do first when nothing is installed", async () => {
    const { backfill, userHome, paths } = await user();
    await expect(backfill("codex")).rejects.toMatchObject({
      code: "RUNTIME_NOT_FOUND",
      message: expect.stringContaining(join(userHome, ".codex", "sessions")),
    });
    await rm(paths.settings);
    await expect(backfill("codex")).rejects.toMatchObject({
      code: "RUNTIME_INVALID_REQUEST",
      details: { hint: expect.stringContaining("capture install") },
    });
  });
});

describe("capture flush", () => {
  test("delivers all that waits, 70 files, and what was refused when that is asked for", async () => {
    const { flush, place, hook, node, paths } = await user();
    const text = (await sessionText("claude-code")).split("\n").slice(0, 2).join("\n");
    node.answer = () => 503;
    for (let n = 0; n < 70; n += 1) {
      const path = await place(".claude", "projects", "p", `s${n}.jsonl`);
      await writeFile(path, `${text}\n`);
      await hook("claude-code", { transcript_path: path, hook_event_name: "Stop" });
    }
    expect(await flush()).toMatchObject({ stored: 0, waiting: 70, reason: expect.stringContaining("503") });
    node.answer = ({ session_key }) => (session_key.endsWith(":s3") ? 400 : 200);
    expect(await flush()).toEqual({ stored: 69, dead: 1, waiting: 0, requeued: 0 });
    node.answer = () => 200;
    expect(await flush(true)).toEqual({ stored: 1, dead: 0, waiting: 0, requeued: 1 });
    expect(node.stored.size).toBe(70);
    expect(await readdir(paths.spool)).toEqual(["bad", "dead"]);
  });
});
