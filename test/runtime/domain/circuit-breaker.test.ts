import { describe, expect, it } from "vitest";
import {
  admit,
  afterCall,
  type Circuit,
  CLOSED,
  FAILURES,
  isIdle,
  OPEN_MS,
  WINDOW_MS,
} from "../../../runtime/domain/circuit-breaker.ts";

function failed(times: readonly number[], circuit: Circuit = CLOSED): Circuit {
  return times.reduce((before, at) => afterCall(before, false, "failed", at), circuit);
}

const OPEN = failed([0, 0, 0, 0, 0]);

describe("a circuit", () => {
  it("opens with the fifth failure of a minute, to the millisecond", () => {
    expect(FAILURES).toBe(5);
    expect(failed([0, 1, 2, 3]).state).toBe("closed");
    expect(failed([0, 1, 2, 3, WINDOW_MS - 1])).toEqual({ state: "open", until: WINDOW_MS - 1 + OPEN_MS });
    expect(failed([0, 1, 2, 3, WINDOW_MS]).state).toBe("closed");
  });

  it("says how long to wait while it is open", () => {
    expect(admit(OPEN, 1_000)).toEqual({ admitted: false, retryAfterMs: OPEN_MS - 1_000 });
  });

  it("takes one probe after that, whose outcome decides", () => {
    const probe = admit(OPEN, OPEN_MS);
    expect(probe).toEqual({ admitted: true, probe: true, circuit: { state: "half_open" } });
    if (!probe.admitted) return;
    expect(admit(probe.circuit, OPEN_MS)).toMatchObject({ admitted: false });
    expect(afterCall(probe.circuit, true, "succeeded", OPEN_MS)).toEqual(CLOSED);
    expect(afterCall(probe.circuit, true, "failed", OPEN_MS)).toEqual({ state: "open", until: 2 * OPEN_MS });
    expect(afterCall(probe.circuit, true, "cancelled", OPEN_MS)).toEqual({ state: "open", until: OPEN_MS });
  });

  it("is not changed by calls that began before it opened", () => {
    for (const outcome of ["succeeded", "failed", "cancelled"] as const) {
      expect(afterCall(OPEN, false, outcome, 5)).toBe(OPEN);
      expect(afterCall({ state: "half_open" }, false, outcome, OPEN_MS)).toEqual({ state: "half_open" });
    }
  });

  it("is idle again a minute after its last failure", () => {
    const circuit = failed([0, 10]);
    expect(isIdle(circuit, WINDOW_MS + 9)).toBe(false);
    expect(isIdle(circuit, WINDOW_MS + 10)).toBe(true);
  });
});
