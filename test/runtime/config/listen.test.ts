import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatListen, isLoopback, parseListen } from "../../../runtime/config/listen.ts";

describe("addresses to listen on", () => {
  test.each([
    ["7455", { host: "127.0.0.1", port: 7455 }],
    ["127.0.0.1:7433", { host: "127.0.0.1", port: 7433 }],
    ["0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
    ["[::1]:80", { host: "::1", port: 80 }],
    ["localhost:65535", { host: "localhost", port: 65_535 }],
    ["node-2.example.org:1", { host: "node-2.example.org", port: 1 }],
  ])("%s", (text, expected) => {
    expect(parseListen(text)).toEqual(expected);
  });

  test.each([
    "",
    "70000",
    ":7433",
    "host",
    "host:",
    "host:65536",
    "host:-1",
    "::1:80",
    "[::1]",
    "[x]:80",
    "127.0.0.256:80",
    "a b:80",
    "http://h:80",
  ])("refuses %j", (text) => {
    expect(parseListen(text)).toBeNull();
  });

  test("what is written out is read back", () => {
    const host = fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain());
    fc.assert(
      fc.property(host, fc.integer({ min: 0, max: 65_535 }), (name, port) => {
        expect(parseListen(formatListen({ host: name, port }))).toEqual({ host: name, port });
      }),
    );
  });

  test.each([
    ["127.0.0.1", true],
    ["127.9.9.9", true],
    ["localhost", true],
    ["::1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["127.example.org", false],
    ["10.0.0.1", false],
  ])("%s reaches this machine only: %s", (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });
});
