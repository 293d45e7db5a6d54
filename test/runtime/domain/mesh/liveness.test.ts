import { describe, expect, it } from "vitest";
import { LivenessTable, OFFLINE_MS, SUSPECT_MS } from "../../../../runtime/domain/mesh/liveness.ts";

describe("a member of another database", () => {
  it("lives while its heartbeat rises, is suspect after 45 s and offline after 90 s", () => {
    const table = new LivenessTable();
    table.hear(["a", 1, 1], 0);
    expect(table.stateOf("a", SUSPECT_MS - 1)).toBe("alive");
    expect(table.stateOf("a", SUSPECT_MS)).toBe("suspect");
    // The same beat, told again by somebody else, is no sign of life.
    table.hear(["a", 1, 1], SUSPECT_MS);
    expect(table.stateOf("a", OFFLINE_MS)).toBe("offline");
    table.hear(["a", 1, 2], OFFLINE_MS);
    expect(table.stateOf("a", OFFLINE_MS)).toBe("alive");
  });

  it("counts from the beginning after a start, which has a higher version; an earlier one is over", () => {
    const table = new LivenessTable();
    table.hear(["a", 1, 900], 0);
    table.hear(["a", 2, 0], OFFLINE_MS);
    expect(table.stateOf("a", OFFLINE_MS)).toBe("alive");
    table.hear(["a", 1, 901], 2 * OFFLINE_MS);
    expect(table.stateOf("a", 2 * OFFLINE_MS)).toBe("offline");
    expect([table.beatOf("a", 2), table.beatOf("a", 1)]).toEqual([0, 0]);
  });

  it("is suspect when it is only known from a file, until it is heard, and offline when it is not", () => {
    const table = new LivenessTable();
    table.expect("a", 1_000);
    expect(table.stateOf("a", 1_000)).toBe("suspect");
    expect(table.stateOf("a", 1_000 + OFFLINE_MS - SUSPECT_MS)).toBe("offline");
    table.hear(["a", 1, 0], 2_000);
    table.expect("a", 2_000);
    expect(table.stateOf("a", 2_000)).toBe("alive");
    expect(table.stateOf("b", 0)).toBe("offline");
  });
});
