import { describe, expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

// Each test runs several processes, which take their time on a busy machine.

describe("memory queue-status", () => {
  it("shows every queue and ticker, and why they have failed without letting their words steer the terminal", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "queue-status"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/queue +waiting +active +failed +completed/);
    expect(stdout).toMatch(/synthesize-tool-call +3 +1 +2 +9/);
    expect(stdout).toContain("synthesize-tool-call failed: the model\\u001b[31m is unavailable");
    // A ticker that fails has no failed job: it runs again and again.
    expect(stdout).toContain("embed failed: the store is full");
  });

  it("is one document with --json, from a node that is started for it too", async () => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(["memory", "queue-status", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).queues[0]).toEqual({
      queue: "synthesize-tool-call",
      waiting: 3,
      active: 1,
      failed: 2,
      completed: 9,
      last_error: expect.stringContaining("is unavailable"),
    });
  });
});

describe("memory backfill-tool-synth", () => {
  it("tells what it has queued, and with --dry-run what it would", async () => {
    const cli = await createCli();
    await cli.node();
    const rest = "5 of 9 tool calls without content; 3 have one already, of 1 it has failed.";
    expect((await cli.run(["memory", "backfill-tool-synth"])).stdout).toContain(`Queued jobs for ${rest}`);
    expect((await cli.run(["memory", "backfill-tool-synth", "--dry-run"])).stdout).toContain(
      `Would queue jobs for ${rest}`,
    );
    const { stdout } = await cli.run(["memory", "backfill-tool-synth", "--dry-run", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ dry_run: true, candidates: 9, enqueued: 5, queued: 3, failed: 1 });
  });
});

describe("memory retry-failed", () => {
  it("tells how many jobs wait again", async () => {
    const cli = await createCli();
    await cli.node();
    const retry = ["memory", "retry-failed", "--task", "embed"];
    expect((await cli.run(retry)).stdout).toBe(
      "2 of 3 failed jobs of embed wait again; 1 left alone, their work is queued already.\n",
    );
    expect((await cli.run([...retry, "--error", "nothing"])).stdout).toBe("No failed job of embed matches.\n");
    const { stdout } = await cli.run([...retry, "--dry-run", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ task: "embed", dry_run: true, matched: 3, retried: 2, skipped: 1 });
  });

  it("needs a task, and names the known ones", async () => {
    const cli = await createCli();
    const without = await cli.run(["memory", "retry-failed"]);
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("task");
    const unknown = await cli.run(["memory", "retry-failed", "--task", "embedd"]);
    expect(unknown.code).toBe(2);
    for (const task of ["synthesize-tool-call", "extract-wiki", "embed"]) expect(unknown.stderr).toContain(task);
  });

  it("says that a pattern is none", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "retry-failed", "--task", "embed", "--error", "(", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error.message).toContain("not a regular expression");
  });
});
