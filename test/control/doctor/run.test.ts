import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Check, Unavailable } from "../../../control/doctor/checks/check.ts";
import { CHECKS } from "../../../control/doctor/checks/index.ts";
import { GROUPS } from "../../../control/doctor/groups.ts";
import { runChecks } from "../../../control/doctor/run.ts";
import { selectChecks } from "../../../control/doctor/select.ts";
import { UsageError } from "../../../control/output/failure.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { probeContextWith } from "./probe-context.ts";

const GOOD = check("system.good", async () => ({ status: "pass", message: "Good." }));

describe("running checks", () => {
  it("tells them in their order, whoever is done first", async () => {
    const slow = check("config.slow", async () => {
      await sleep(50);
      return { status: "pass", message: "Slow." };
    });
    const { checks } = await run([slow, GOOD]);
    expect(checks.map(({ id, category }) => `${category}/${id}`)).toEqual(["config/config.slow", "system/system.good"]);
  });

  it("makes a failure of its own of a check that throws, whatever it throws", async () => {
    const thrown = [new Error("broken"), "a text", undefined, new TypeError("odd")];
    const checks = thrown.map((error, index) =>
      check(`config.throws${index}`, async () => {
        throw error;
      }),
    );
    const synchronous: Check = {
      ...GOOD,
      id: "config.at_once",
      run: () => {
        throw new Error("at once");
      },
    };
    const results = await run([...checks, synchronous, GOOD]);
    expect(results.checks.map(({ status }) => status)).toEqual(["fail", "fail", "fail", "fail", "fail", "pass"]);
    expect(results.checks[0]).toMatchObject({
      message: "The check itself failed: broken",
      fix: expect.stringContaining("config.throws0"),
    });
    expect(results.late).toBe(false);
  });

  it("makes a failure of a check that hangs, tells it to end, and waits for nobody", async () => {
    let reported = false;
    const hangs = check("memory.hangs", (_context, signal) => {
      signal.addEventListener("abort", () => {
        reported = true;
      });
      return new Promise(() => undefined);
    });
    const results = await run([hangs, GOOD], 50);
    expect(results.checks).toMatchObject([
      {
        id: "memory.hangs",
        status: "fail",
        message: "Timed out after 0.05 s.",
        fix: expect.stringContaining("--timeout 30"),
      },
      { id: "system.good", status: "pass" },
    ]);
    expect(reported).toBe(true);
    expect(results.late).toBe(true);
  });

  it("does not mind what a check that was given up says later", async () => {
    const late = check("memory.late", async () => {
      await sleep(80);
      throw new Error("too late to be heard");
    });
    const results = await run([late], 20);
    expect(results.checks[0]?.message).toContain("Timed out after");
    // An unhandled rejection would end this test run.
    await sleep(120);
  });

  it("skips a check whose needs another one tells of", async () => {
    const needy = check("queues.needy", async () => {
      throw new Unavailable("There is no node.");
    });
    expect((await run([needy])).checks).toMatchObject([{ status: "skip", message: "There is no node." }]);
  });

  it("ends at once when it is interrupted", async () => {
    const interruption = new AbortController();
    const hangs = check("memory.hangs", () => new Promise(() => undefined));
    const running = runChecks([hangs], await probeContextWith(), { timeoutMs: 60_000, signal: interruption.signal });
    interruption.abort(new Error("interrupted"));
    await expect(running).rejects.toThrow("interrupted");
  });

  it("gives everybody else's answer when one check takes what they share down", async () => {
    const asked: string[] = [];
    const context = Object.assign(await probeContextWith(), {
      database: async () => {
        asked.push("looked");
        throw new Error("the server crashed");
      },
    });
    const database = CHECKS.filter(({ id }) => id.startsWith("database.") || id.startsWith("system."));
    const { checks } = await runChecks(database, context, {
      timeoutMs: EVENTUALLY_MS,
      signal: new AbortController().signal,
    });
    expect(asked).not.toHaveLength(0);
    expect(checks.find(({ id }) => id === "database.reachable")).toMatchObject({
      status: "fail",
      message: expect.stringContaining("the server crashed"),
    });
    expect(checks.find(({ id }) => id === "system.node")).toMatchObject({ status: "pass" });
    expect(checks.find(({ id }) => id === "system.disk")?.status).not.toBe("fail");
  });
});

describe("choosing checks", () => {
  const ids = (selection: Parameters<typeof selectChecks>[1]) => selectChecks(CHECKS, selection).map(({ id }) => id);

  it("takes all of them when nothing is said", () => {
    expect(ids({})).toHaveLength(CHECKS.length);
    expect(ids({ only: [], skip: [] })).toHaveLength(CHECKS.length);
  });

  it("takes ids and categories, and leaves out what is skipped", () => {
    expect(ids({ only: ["mesh", "system.node"] })).toEqual(["system.node", "mesh.registry", "mesh.peers"]);
    expect(ids({ only: ["mesh"], skip: ["mesh.peers"] })).toEqual(["mesh.registry"]);
    expect(ids({ only: ["security"] }).sort()).toEqual([...(GROUPS["security"] ?? [])].sort());
    expect(ids({ only: ["system"], skip: ["security"] })).not.toContain("system.sandbox");
    expect(ids({ skip: ["system"] }).filter((id) => id.startsWith("system."))).toEqual([]);
  });

  it.each([
    [{ only: ["databse"] }, "--only", "`database`"],
    [{ only: ["database"], skip: ["database"] }, "--skip excludes every check", "Leave one"],
    [{ skip: ["system.nod"] }, "--skip", "`system.node`"],
  ])("refuses what is unknown, naming the nearest", (selection, flag, nearest) => {
    try {
      ids(selection);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      expect(error).toMatchObject({ message: expect.stringContaining(flag), hint: expect.stringContaining(nearest) });
    }
  });
});

function check(id: Check["id"], work: Check["run"]): Check {
  return { id, subject: "something", run: work };
}

async function run(checks: readonly Check[], timeoutMs = EVENTUALLY_MS) {
  return runChecks(checks, await probeContextWith(), { timeoutMs, signal: new AbortController().signal });
}
