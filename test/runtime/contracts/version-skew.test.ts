/** Releases that may serve one fleet: the same major, minors at most one apart. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import {
  assertWithinSkew,
  beyondSkew,
  SUPPORTED_SKEW,
  supportedRange,
  withinSkew,
} from "../../../runtime/contracts/version-skew.ts";

describe("releases of one fleet", () => {
  it.each([
    ["0.2.0", "0.2.9", true],
    ["0.2.0", "0.3.0", true],
    ["0.3.1", "0.2.0", true],
    ["0.2.0", "0.3.0-rc.1", true],
    ["0.2.0", "0.4.0", false],
    ["0.4.0", "0.2.0", false],
    ["0.9.0", "1.0.0", false],
    ["1.4.0", "1.5.2", true],
    ["1.4.0", "1.6.0", false],
    // Whoever cannot be read is judged by the schema alone.
    ["0.2.0", "unknown", true],
    ["next", "0.2.0", true],
  ])("%s beside %s: %s", (one, two, together) => {
    expect(withinSkew(one, two)).toBe(together);
  });

  const release = fc.tuple(fc.nat(3), fc.nat(12), fc.nat(30)).map((parts) => parts.join("."));

  it("go together or not, whichever of them asks", () => {
    fc.assert(fc.property(release, release, (one, two) => withinSkew(one, two) === withinSkew(two, one)));
  });

  it("go together along every path of an upgrade, one minor at a time", () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(12), fc.nat(9), fc.nat(9), (major, minor, from, to) =>
        withinSkew(`${major}.${minor}.${from}`, `${major}.${minor + 1}.${to}`),
      ),
    );
  });

  it("are named with the range that goes together with one of them", () => {
    expect(supportedRange("0.2.5")).toBe("0.1.x to 0.3.x");
    expect(supportedRange("1.0.0")).toBe("1.0.x to 1.1.x");
    expect(supportedRange("unknown")).toBeNull();
  });
});

describe("a node that comes to a fleet", () => {
  const members = [
    { name: "alpha", release: "0.3.0" },
    { name: "beta", release: "0.2.4" },
  ];

  it("is let in where its release goes together with every member's", () => {
    expect(beyondSkew("0.2.0", members)).toBeNull();
    expect(() => assertWithinSkew("0.3.9", members)).not.toThrow();
    expect(() => assertWithinSkew("0.3.9", [])).not.toThrow();
  });

  it("is refused with the name of the first that it may not serve beside, and the range", () => {
    const refused = expect(() => assertWithinSkew("0.4.0", members));
    refused.toThrow(RuntimeError);
    refused.toThrow(
      expect.objectContaining({
        code: "RUNTIME_VERSION_SKEW",
        retryable: false,
        status: 409,
        message: `The node beta runs Cairn 0.2.4, and Cairn 0.4.0 serves beside 0.3.x to 0.5.x only. ${SUPPORTED_SKEW}`,
        details: { hint: expect.stringContaining("stop beta first") },
      }),
    );
  });

  it("takes a member that says nothing of itself for one of 0.1", () => {
    const older = [{ name: "old", release: null }];
    expect(beyondSkew("0.2.0", older)).toBeNull();
    expect(() => assertWithinSkew("0.3.0", older)).toThrow("The node old runs Cairn older than 0.2.0, and");
  });
});
