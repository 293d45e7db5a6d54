import { expect, test, vi } from "vitest";
import { createSecurityTrail } from "../../../runtime/app/security-trail.ts";

function setUp() {
  const lines: Record<string, unknown>[] = [];
  const append = async (entry: object) => void lines.push(JSON.parse(JSON.stringify(entry)));
  const clock = { now: () => new Date("2026-01-01T00:00:00Z"), monotonic: () => 0 };
  return { lines, trail: createSecurityTrail({ append, clock }) };
}

const wrong = (address: string) => ({ event: "token.wrong", outcome: "refused", address, requestId: "r" }) as const;

test("what was done is written as it is", async () => {
  const { lines, trail } = setUp();
  const done = { event: "token.created", outcome: "done", address: "10.0.0.1", by: "owner", requestId: "r-1" } as const;
  for (let n = 0; n < 3; n++) trail.record({ ...done, details: { name: "ci" } });
  await trail.close();
  const { requestId: request_id, ...rest } = done;
  const line = { ...rest, request_id, details: { name: "ci" } };
  expect(lines).toEqual([line, line, line]);
});

test("of refusals the first has a line, the rest of the minute one together", async () => {
  vi.useFakeTimers();
  try {
    const { lines, trail } = setUp();
    for (let n = 0; n < 7_000; n++) trail.record(wrong("10.0.0.1"));
    trail.record(wrong("10.0.0.2"));
    expect(lines).toHaveLength(2);
    vi.advanceTimersByTime(60_000);
    const counted = { event: "token.wrong", outcome: "refused", since: "2026-01-01T00:00:00.000Z" };
    expect(lines.slice(2)).toEqual([{ ...counted, address: "10.0.0.1", count: 6_999 }]);
    trail.record(wrong("10.0.0.1"));
    expect(lines).toHaveLength(4);
  } finally {
    vi.useRealTimers();
  }
});

test("however many addresses take part, a minute has some two hundred lines", async () => {
  const { lines, trail } = setUp();
  for (let n = 0; n < 50_000; n++) trail.record(wrong(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`));
  for (let n = 0; n < 50_000; n++) trail.record(wrong("10.0.0.1"));
  await trail.close();
  expect(lines.length).toBeLessThan(210);
  const total = lines.reduce((sum, { count }) => sum + (typeof count === "number" ? count : 1), 0);
  expect(total).toBe(100_000);
});
