import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  bytes,
  decimal,
  dnsLabel,
  duration,
  flag,
  formatDuration,
  headerName,
  headerValue,
  identifier,
  integer,
  modelReference,
  parseDuration,
  plainUrl,
  timezone,
  tokens,
  url,
} from "../../../runtime/config/schema/scalars.ts";

const accepted: [string, z.ZodType, unknown, unknown][] = [
  ["duration", duration(), "900s", 900_000],
  ["duration", duration(), "5m", 300_000],
  ["duration", duration(), "1h30m", 5_400_000],
  ["duration", duration(), "250ms", 250],
  ["duration", duration(), "1.5s", 1_500],
  ["duration", duration(), "20d", 1_728_000_000],
  ["duration", duration(), 0, 0],
  ["size", bytes(), "512Mi", 536_870_912],
  ["size within bounds", bytes({ min: "1Ki", max: "1Mi" }), "1Mi", 1_048_576],
  ["address with a query", plainUrl(), "https://host/mcp?key=1", "https://host/mcp?key=1"],
  ["header", headerName(), "X-Api-Key", "X-Api-Key"],
  ["value of a header", headerValue(), "Bearer a=é", "Bearer a=é"],
  ["size", bytes(), "2G", 2_000_000_000],
  ["size", bytes(), "10k", 10_000],
  ["size", bytes(), 4096, 4096],
  ["size", bytes(), "1.5Gi", 1_610_612_736],
  ["tokens", tokens(), "128k", 128_000],
  ["tokens", tokens(), "1M", 1_000_000],
  ["tokens", tokens(), 200_000, 200_000],
  ["switch", flag(), true, true],
  ["switch", flag(), "off", false],
  ["switch", flag(), "YES", true],
  ["integer", integer({ min: 1 }), "12", 12],
  ["decimal", decimal(), "-0.5", -0.5],
  ["identifier", identifier(), 42, "42"],
  ["identifier", identifier(), "@someone", "@someone"],
  ["label", dnsLabel("a name"), "node-3", "node-3"],
  ["label", dnsLabel("a name"), "a".repeat(63), "a".repeat(63)],
  ["zone", timezone(), "Europe/Berlin", "Europe/Berlin"],
  ["model", modelReference(), "ollama:qwen3:8b", "ollama:qwen3:8b"],
  ["address", url(["postgres"]), "postgres://u:p@h:5432/d?sslmode=require", "postgres://u:p@h:5432/d?sslmode=require"],
];

const refused: [string, z.ZodType, unknown][] = [
  ["duration without a unit", duration(), 900],
  ["duration without a unit, as text", duration(), "900"],
  ["duration with a sign", duration(), "-5s"],
  ["duration with a rest", duration(), "5m later"],
  ["duration below its bound", duration({ min: 1_000 }), "10ms"],
  ["duration longer than a timer", duration(), "30d"],
  ["empty duration", duration(), ""],
  ["size in words", bytes(), "big"],
  ["size that is too small", bytes({ min: "1Ki", max: "1Mi" }), 0],
  ["size that is too large", bytes({ min: "1Ki", max: "1Mi" }), "2Mi"],
  ["address with a password", plainUrl(), "https://ada:secret@host/"],
  ["address with a fragment", plainUrl(), "https://host/#part"],
  ["header with a space", headerName(), "bad name"],
  ["header of the protocol", headerName(), "Content-Length"],
  ["header of two lines", headerValue(), "a\nb"],
  ["header of other characters", headerValue(), "☃"],
  ["negative size", bytes(), -1],
  ["switch in words", flag(), "maybe"],
  ["switch as number", flag(), 1],
  ["integer with a fraction", integer(), 1.5],
  ["integer beyond exactness", integer(), 2 ** 53],
  ["empty integer", integer(), " "],
  ["integer out of bounds", integer({ min: 1, max: 5 }), 6],
  ["number that is none", decimal(), "x"],
  ["infinite number", decimal(), Number.POSITIVE_INFINITY],
  ["empty identifier", identifier(), ""],
  ["shell in a name", dnsLabel("a name"), "a; rm -rf /"],
  ["newline behind a name", dnsLabel("a name"), "node\n"],
  ["capital letters in a name", dnsLabel("a name"), "Node"],
  ["hyphen at the end of a name", dnsLabel("a name"), "node-"],
  ["name of 64 letters", dnsLabel("a name"), "a".repeat(64)],
  ["unknown zone", timezone(), "Mars/Olympus"],
  ["model without a provider", modelReference(), "gpt"],
  ["model without a name", modelReference(), "openai:"],
  ["address of another kind", url(), "file:///etc/passwd"],
  ["address without a host", url(), "http://"],
];

describe("values of cairn.yaml", () => {
  test.each(accepted)("%s %#: reads %3$j", (_what, schema, input, output) => {
    expect(schema.parse(input)).toEqual(output);
  });

  test.each(refused)("refuses a %s", (_what, schema, input) => {
    const result = schema.safeParse(input);
    expect(result.success).toBe(false);
    // The text of an issue is what is allowed, never a phrase of the library.
    expect(result.error?.issues[0]?.message).not.toMatch(/invalid/i);
  });

  test("a duration that is written out is read back as the same time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});
