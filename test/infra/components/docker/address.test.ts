/** Addresses of Docker hosts: parts of them become arguments of ssh, so that nothing else may come through. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostSlug, parseDockerHost, sshDestination } from "../../../../infra/components/docker/address.ts";

test.each([
  ["local", null],
  ["ssh://box", { url: "ssh://box", user: null, host: "box", port: null }],
  ["ssh://ops@box.example:2222", { url: "ssh://ops@box.example:2222", user: "ops", host: "box.example", port: 2222 }],
  ["ssh://ops@box/", { url: "ssh://ops@box", user: "ops", host: "box", port: null }],
  ["ssh://ops@[fe80::1]:22", { url: "ssh://ops@[fe80::1]:22", user: "ops", host: "fe80::1", port: 22 }],
])("%s is understood", (address, expected) => {
  expect(parseDockerHost(address)).toEqual(expected);
});

test.each([
  "",
  "box",
  "tcp://box:2375",
  "ssh://",
  "ssh://-oProxyCommand=id",
  "ssh://-l@box",
  "ssh://a;id@box",
  "ssh://box:0",
  "ssh://box:65536",
  "ssh://box/path",
  "ssh://a b@box",
  "ssh://user:password@box",
  "ssh://box\n-oProxyCommand=id",
  "ssh://[-x]",
])("%j is refused", (address) => {
  expect(() => parseDockerHost(address)).toThrow(expect.objectContaining({ code: "INFRA_PLAN_INVALID" }));
});

describe("whatever is given", () => {
  const word = fc.string({ unit: fc.constantFrom(..."ab-_.:@/[]; \n'\"$`1"), maxLength: 12 });

  test("no argument of ssh but those of ours starts with a dash, and none has what a shell would read", () => {
    fc.assert(
      fc.property(word, word, (user, host) => {
        let parsed: ReturnType<typeof parseDockerHost>;
        try {
          parsed = parseDockerHost(`ssh://${user}@${host}`);
        } catch {
          return;
        }
        const values = sshDestination(parsed ?? { url: "", user: null, host: "", port: null }).filter(
          (argument) => !["-p", "-l", "--"].includes(argument),
        );
        for (const value of values) expect(value).toMatch(/^[A-Za-z0-9_:][A-Za-z0-9_.:-]*$/);
      }),
    );
  });

  test("hosts that look alike keep names of their own", () => {
    fc.assert(
      fc.property(word, word, (one, other) => {
        fc.pre(one !== other);
        expect(hostSlug(`ssh://${one}`)).not.toBe(hostSlug(`ssh://${other}`));
        expect(hostSlug(`ssh://${one}`)).toMatch(/^[A-Za-z0-9-]+$/);
      }),
    );
  });
});
