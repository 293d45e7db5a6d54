import { describe, expect, it } from "vitest";
import { parseAgo, parseGrep, parseSince } from "../../../control/logs/log-filter.ts";
import { UsageError } from "../../../control/output/failure.ts";

const NOW = new Date("2030-01-31T12:00:00.000Z");

describe("--since", () => {
  it.each([
    ["30s", "2030-01-31T11:59:30.000Z"],
    ["15m", "2030-01-31T11:45:00.000Z"],
    ["2h", "2030-01-31T10:00:00.000Z"],
    ["7d", "2030-01-24T12:00:00.000Z"],
    ["1w", "2030-01-24T12:00:00.000Z"],
    ["2030-01-30", "2030-01-30T00:00:00.000Z"],
    ["2030-01-30T08:15", "2030-01-30T08:15:00.000Z"],
    ["2030-01-30 08:15:30", "2030-01-30T08:15:30.000Z"],
    ["2030-01-30T08:15:30+02:00", "2030-01-30T06:15:30.000Z"],
  ])("%s is %s", (text, expected) => {
    expect(parseSince(text, NOW).toISOString()).toBe(expected);
  });

  it.each([
    ["10m", 600],
    ["1d", 86_400],
    ["0s", 1],
    ["2030-01-31", null],
  ])("%s is a length of %s seconds", (text, expected) => expect(parseAgo(text)).toBe(expected));

  it.each(["", "soon", "15", "m15", "2030-13-01", "2030-01-31T25:00", "1e3s"])("refuses %j", (text) => {
    expect(() => parseSince(text, NOW)).toThrow(UsageError);
  });
});

describe("--grep", () => {
  it("minds no case", () => {
    expect(parseGrep("turn.*FAILED").test("The Turn has failed")).toBe(true);
  });

  it("refuses what is no regular expression", () => {
    expect(() => parseGrep("(")).toThrow(UsageError);
  });
});
