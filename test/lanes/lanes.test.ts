import { matchesGlob } from "node:path";
import { describe, expect, it } from "vitest";
import { chooseLanes, LANES, requiredLanes } from "./lanes.ts";
import { EVENTUALLY_MS } from "./patience.ts";
import { inOrderOfLanes } from "./sequencer.ts";

const byName = (name: string) => LANES.filter((lane) => lane.name === name);

describe("lanes", () => {
  it.each([
    ["test/runtime/domain/scoring.test.ts", ["unit"]],
    ["test/a.test.ts", ["unit"]],
    ["test/runtime/app/turn.db.test.ts", ["database"]],
    ["test/first-run.e2e.test.ts", ["blackbox"]],
    ["test/infra/up.docker.test.ts", ["docker"]],
    ["test/infra/up.kubernetes.test.ts", ["kubernetes"]],
    ["test/infra/upgrade.nightly.test.ts", ["nightly"]],
    ["test/fakes/openai/server.ts", []],
  ])("puts %s into %j", (file, expected) => {
    const lanes = LANES.filter(
      ({ include, exclude }) =>
        include.some((glob) => matchesGlob(file, glob)) && !exclude.some((glob) => matchesGlob(file, glob)),
    );
    expect(lanes.map((lane) => lane.name)).toEqual(expected);
  });

  it.each(LANES)("gives a test of $name time to wait for something and to tell that it did not come", (lane) => {
    expect(lane.timeoutMs).toBeGreaterThanOrEqual(2 * EVENTUALLY_MS);
  });

  it("leaves to the night what takes long", () => {
    expect(LANES.filter((lane) => !lane.always).map((lane) => lane.name)).toEqual(["nightly"]);
  });

  it("starts what takes long before what fills the gaps", () => {
    const files = ["unit 1", "docker 1", "database 1", "docker 2", "blackbox 1"];
    expect(inOrderOfLanes(files, (file) => file.split(" ")[0] ?? "")).toEqual([
      "docker 1",
      "docker 2",
      "blackbox 1",
      "database 1",
      "unit 1",
    ]);
  });

  it("skips a lane whose tool is missing and says why", () => {
    const choice = chooseLanes([...byName("unit"), ...byName("docker")], new Set(), (tool) => `no ${tool}`);
    expect(choice.run.map((lane) => lane.name)).toEqual(["unit"]);
    expect(choice.skipped).toMatchObject([{ lane: { name: "docker" }, reason: "no docker", required: false }]);
  });

  it("marks a skipped lane that REQUIRE_LANES names", () => {
    const required = requiredLanes({ REQUIRE_LANES: "unit, docker" });
    expect(chooseLanes(LANES, required, (tool) => `no ${tool}`).skipped.find((s) => s.required)?.lane.name).toBe(
      "docker",
    );
    expect(chooseLanes(LANES, required, () => undefined).skipped).toEqual([]);
  });

  it("refuses a required lane that does not exist", () => {
    expect(() => requiredLanes({ REQUIRE_LANES: "unit,databse" })).toThrow(/databse/);
    expect(requiredLanes({})).toEqual(new Set());
  });
});
