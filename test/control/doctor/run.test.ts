import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Check, TimedOut, Unavailable } from "../../../control/doctor/checks/check.ts";
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

  it("makes one failure of several checks that hang, told by the one that the others wait for", async () => {
    const hang = (id: Check["id"]) => check(id, () => new Promise(() => undefined));
    const { checks } = await run([hang("config.x"), hang("deployment.node"), hang("memory.y"), GOOD], 50);
    expect(checks.map(({ id, status, follows_from }) => [id, status, follows_from])).toEqual([
      ["config.x", "skip", "deployment.node"],
      ["deployment.node", "fail", undefined],
      ["memory.y", "skip", "deployment.node"],
      ["system.good", "pass", undefined],
    ]);
    expect(checks[1]).toMatchObject({
      message: expect.stringContaining("3 checks timed out"),
      fix: expect.stringContaining("--only config.x,deployment.node,memory.y --timeout 30"),
    });
  });

  it("tells of a busy machine where checks are late", async () => {
    const context = await probeContextWith({ machine: { load: () => 9.8 } });
    const hangs = check("memory.hangs", () => new Promise(() => undefined));
    const { checks } = await runChecks([hangs], context, { timeoutMs: 20, signal: new AbortController().signal });
    expect(checks[0]?.message).toContain("10 processes wait for each processor");
  });

  it("counts a problem once: what follows from it names it, over several steps", async () => {
    const down = check("database.reachable", async () => ({ status: "fail", message: "Gone.", fix: "Start it." }));
    const node = check("deployment.node", async () => {
      throw new Unavailable("No database.", ["database.reachable"]);
    });
    const writes = check("memory.writes", async () => {
      throw new Unavailable("No node.", ["deployment.node"]);
    });
    const slow = check("memory.stats", async () => {
      throw new TimedOut("deployment.node");
    });
    const repeats = check("database.pool", async () => ({
      status: "fail",
      message: "Refused.",
      fix: "Look.",
      see: ["database.reachable"],
    }));
    const { checks } = await run([writes, slow, repeats, node, down]);
    expect(checks.map(({ id, status, follows_from }) => `${id} ${status} ${follows_from}`)).toEqual([
      "memory.writes skip database.reachable",
      "memory.stats skip database.reachable",
      "database.pool skip database.reachable",
      "deployment.node skip database.reachable",
      "database.reachable fail undefined",
    ]);
  });

  it("leaves a failure alone where the check that it names has no problem, or is not among them", async () => {
    const refused = check("deployment.node", async () => ({
      status: "fail",
      message: "Refused.",
      fix: "Look.",
      see: ["secrets.token"],
    }));
    const token = check("secrets.token", async () => ({ status: "pass", message: "Fine." }));
    for (const list of [[refused], [refused, token]]) {
      const { checks } = await run(list);
      expect(checks[0]).toMatchObject({ status: "fail", message: "Refused." });
      expect(checks[0]).not.toHaveProperty("see");
    }
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
