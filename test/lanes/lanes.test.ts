import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { chooseLanes, LANES, laneOf, requiredLanes } from "./lanes.ts";
import { EVENTUALLY_MS } from "./patience.ts";
import { affordable, nearestFirst, relatedTests } from "./related.ts";
import { readArguments } from "./request.ts";
import { OF_LONG_FILES } from "./seconds.ts";
import { inOrderOfLanes } from "./sequencer.ts";
import { requiredSuites } from "./tools.ts";

const byName = (name: string) => LANES.filter((lane) => lane.name === name);

describe("lanes", () => {
  it.each([
    ["test/runtime/domain/scoring.test.ts", "pure"],
    ["test/runtime/domain/shell/expand.local.test.ts", "local"],
    ["test/a.test.ts", "local"],
    ["test/runtime/http/agents.test.ts", "local"],
    ["test/control/commands/chat.test.ts", "cli"],
    ["test/runtime/app/turn.db.test.ts", "store"],
    ["test/first-run.e2e.test.ts", "blackbox"],
    ["test/infra/up.docker.test.ts", "docker"],
    ["test/infra/up.kubernetes.test.ts", "kubernetes"],
    ["test/infra/upgrade.nightly.test.ts", "nightly"],
    ["test/fakes/openai/server.ts", undefined],
    ["test/a.no-lane.test.ts", undefined],
  ])("puts %s into %s", (file, expected) => {
    expect(laneOf(file)?.name).toBe(expected);
  });

  it.each(LANES)("gives a test of $name time to wait for something and to tell that it did not come", (lane) => {
    expect(lane.timeoutMs).toBeGreaterThanOrEqual(2 * EVENTUALLY_MS);
  });

  it("leaves to the night what takes long", () => {
    expect(LANES.filter((lane) => !lane.always).map((lane) => lane.name)).toEqual(["nightly"]);
  });

  it("leaves real engines and hosts to who asks for them", () => {
    expect(LANES.filter((lane) => lane.asked).map((lane) => lane.name)).toEqual([
      "engine",
      "docker",
      "ssh",
      "kubernetes",
    ]);
  });

  it("starts what takes long before what fills the gaps, and what waits beside what computes", () => {
    const stores = Array.from({ length: 6 }, (_, at) => `store ${at + 1}`);
    const files = ["pure 1", "docker 1", ...stores, "docker 2", "blackbox 1"];
    const seconds: Readonly<Record<string, number>> = { docker: 80, blackbox: 45, store: 12, pure: 0.1 };
    const lane = (file: string) => file.split(" ")[0] ?? "";
    const long = (file: string) => (file === "store 6" ? 13 : (seconds[lane(file)] ?? 0));
    expect(inOrderOfLanes(files, lane, long)).toEqual([
      ...["docker 1", "store 6", "store 1", "store 2", "store 3", "store 4"],
      ...["docker 2", "store 5", "pure 1", "blackbox 1"],
    ]);
  });

  it("know only files that are there as long ones", () => {
    expect(Object.keys(OF_LONG_FILES).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("skips a lane whose tool is missing and says why", () => {
    const choice = chooseLanes([...byName("pure"), ...byName("docker")], new Set(), (tool) => `no ${tool}`);
    expect(choice.run.map((lane) => lane.name)).toEqual(["pure"]);
    expect(choice.skipped).toMatchObject([{ lane: { name: "docker" }, reason: "no docker", required: false }]);
  });

  it("marks a skipped lane that REQUIRE_LANES names", () => {
    const required = requiredLanes({ REQUIRE_LANES: "pure, docker" });
    expect(chooseLanes(LANES, required, (tool) => `no ${tool}`).skipped.find((s) => s.required)?.lane.name).toBe(
      "docker",
    );
    expect(chooseLanes(LANES, required, () => undefined).skipped).toEqual([]);
  });

  it("refuses a required lane or suite that does not exist", () => {
    expect(() => requiredLanes({ REQUIRE_LANES: "pure,stroe" })).toThrow(/stroe/);
    expect(requiredLanes({})).toEqual(new Set());
    expect(() => requiredSuites({ REQUIRE_SUITES: "bubblewarp" })).toThrow(/bubblewarp/);
    expect(requiredSuites({ REQUIRE_SUITES: "bubblewrap, docker" })).toEqual(new Set(["bubblewrap", "docker"]));
  });
});

describe("arguments of the test command", () => {
  it("are none for the complete run", () => {
    expect(readArguments([])).toEqual({ complete: true, lanes: [], paths: [], vitest: [] });
  });

  it("are paths, lanes, and options of Vitest", () => {
    expect(readArguments(["./test/runtime/domain", "--lane", "pure", "--bail=1", "-t", "some words"])).toEqual({
      complete: false,
      lanes: ["pure"],
      paths: ["test/runtime/domain"],
      vitest: ["./test/runtime/domain", "--bail=1", "-t", "some words"],
    });
    expect(readArguments(["test/a.test.ts:12", "--lane=store"])).toMatchObject({
      lanes: ["store"],
      paths: ["test/a.test.ts"],
    });
  });

  it("may name no lane that does not exist", () => {
    expect(() => readArguments(["--lane", "unit"])).toThrow(/unit/);
    expect(() => readArguments(["--lane"])).toThrow(/name of a lane/);
  });
});

describe("the tests that a change reaches", () => {
  const related = (file: string) => relatedTests([file], () => true);

  it("import it, or what imports it", () => {
    expect(related("runtime/domain/scoring.ts")).toContain("test/runtime/domain/scoring.test.ts");
    expect(related("test/support/planted-files.ts")).toContain("test/runtime/files/files.test.ts");
    expect(related("runtime/domain/scoring.ts")).not.toContain("test/control/memory/render-hits.test.ts");
  });

  it("are those of its folder where only a program finds it", () => {
    expect(related("control/commands/chat.ts")).toContain("test/control/commands/chat.test.ts");
  });
});

describe("the tests that the quick check takes first", () => {
  const tests = ["test/control/b.test.ts", "test/runtime/app/turn/run.test.ts", "test/runtime/app/recall/rank.test.ts"];
  const order = (changed: readonly string[]) => nearestFirst(tests, changed);

  it("stand beside the change", () => {
    expect(order(["runtime/app/turn/run.ts"])[0]).toBe("test/runtime/app/turn/run.test.ts");
    expect(order(["runtime/app/recall/other.ts"])[0]).toBe("test/runtime/app/recall/rank.test.ts");
  });

  it("are those that fit into its time, a long one leaving room for others", () => {
    const costs: Readonly<Record<string, number>> = { long: 24, one: 6, two: 6, three: 12, four: 8 };
    expect(affordable(Object.keys(costs), (test) => costs[test] ?? 0, 20)).toEqual(["one", "two", "four"]);
  });

  it("are the changed ones before all", () => {
    expect(order(["runtime/app/turn/run.ts", "test/control/b.test.ts"])[0]).toBe("test/control/b.test.ts");
  });
});
