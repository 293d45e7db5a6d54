import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createLearningRedactor, createRedactor, REDACT_PATHS } from "../../../runtime/config/redact.ts";

describe("the redactor", () => {
  test("leaves no known secret in any text", () => {
    const secret = fc
      .string({ minLength: 6 })
      .filter((text) => text.trim().length >= 6 && !"[redacted]".includes(text));
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 4 }),
        fc.string(),
        fc.string(),
        (secrets, before, after) => {
          const redact = createRedactor(secrets);
          for (const value of secrets) {
            // What the replacement and its surroundings form together may only by chance be the secret once more.
            const redacted = redact(`${before}${value}${after}`).replaceAll("[redacted]", "\u0000");
            expect(redacted).not.toContain(value);
          }
        },
      ),
    );
  });

  test("finds a secret that is escaped in JSON or percent-encoded in an address", () => {
    const redact = createRedactor(['quo"te\\slash', "p@ss/word?"]);
    expect(redact(JSON.stringify({ message: 'it was quo"te\\slash' }))).toBe('{"message":"it was [redacted]"}');
    expect(redact("postgres://u:p%40ss%2Fword%3F@h/d")).not.toContain("p%40ss");
  });

  test("takes out the whole private key, not its first line: escaped, with headers, and without its end", () => {
    const redact = createRedactor([]);
    const lines = [
      "-----BEGIN RSA PRIVATE KEY-----",
      "Proc-Type: 4,ENCRYPTED",
      "DEK-Info: AES-128-CBC,0A1B",
      "",
      "MIIEpAIBAAKC+/Q=",
      "c2VjcmV0",
      "-----END RSA PRIVATE KEY-----",
    ];
    const plain = lines.filter((line) => !line.includes(": ") && line !== "");
    for (const key of [lines, plain, plain.slice(0, -1)]) {
      for (const text of [key.join("\n"), JSON.stringify(key.join("\n"))]) {
        const redacted = redact(`before ${text}\n. after`);
        expect(redacted).not.toMatch(/MIIE|c2Vj|0A1B/);
        expect(redacted).toMatch(/^before .*after$/s);
      }
    }
    expect(redact("-----BEGIN PUBLIC KEY-----\nMIIB")).toContain("MIIB");
  });

  test("reads a run of a million letters in one go", () => {
    const redact = createRedactor([]);
    for (const run of ["a", "-a", "A1b2", "a."]) {
      const text = run.repeat(1_000_000 / run.length);
      expect(redact(text)).toBe(text);
    }
  });

  test("replaces the longer secret where one contains another", () => {
    expect(createRedactor(["secret", "secret-and-more"])("x secret-and-more y secret")).toBe(
      "x [redacted] y [redacted]",
    );
  });

  test("does not touch ordinary text for the sake of a very short secret", () => {
    expect(createRedactor(["a", ""])("a day at the beach")).toBe("a day at the beach");
  });

  test.each([
    ["Authorization: Bearer abcdefghijkl", "Authorization: Bearer [redacted]"],
    ["key sk-ant-REDACTED-abcdefghij", "key [redacted]"],
    ["key xapp-1-A0APP-1234567890-abcdefghij", "key [redacted]"],
    [
      "connect to postgres://cairn:hunter2@db:5432/cairn failed",
      "connect to postgres://cairn:[redacted]@db:5432/cairn failed",
    ],
    ["token cairn_abcdefghijklmnopqrstuvwxyz", "token [redacted]"],
    ["http://127.0.0.1:7433/health", "http://127.0.0.1:7433/health"],
    ["mail me@example.org at 10:30", "mail me@example.org at 10:30"],
  ])("knows %s by its shape", (text, expected) => {
    expect(createRedactor([])(text)).toBe(expected);
  });

  test("the log's paths are ones that the logger accepts, and they cover headers and nested settings", () => {
    const lines: string[] = [];
    const logger = pino({ redact: [...REDACT_PATHS] }, { write: (line: string) => void lines.push(line) });
    logger.info({
      headers: { authorization: "S1", "x-api-key": "S2" },
      provider: { api_key: "S3", id: "openai" },
      token: "S4",
      a: { b: { password: "S5" } },
    });
    expect(lines.join("")).not.toMatch(/S\d/);
    expect(lines.join("")).toContain("openai");
  });
});

describe("a redactor that learns", () => {
  test("takes out secrets that are added later, too", () => {
    const { redact, hide } = createLearningRedactor(["first-secret"]);
    expect(redact("first-secret later-secret")).toBe("[redacted] later-secret");
    hide(["later-secret", "first-secret"]);
    expect(redact("first-secret later-secret")).toBe("[redacted] [redacted]");
  });
});
