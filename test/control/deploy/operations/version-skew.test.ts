/** Images of releases that could not serve beside what runs are refused before anything stops. */

import { describe, expect, it } from "vitest";
import { refuseVersionSkew } from "../../../../control/deploy/operations/version-skew.ts";
import type { ImageIdentity } from "../../../../infra/plan/types.ts";
import { SUPPORTED_SKEW } from "../../../../runtime/contracts/version-skew.ts";

const image = (version: string): ImageIdentity => ({
  id: null,
  digest: null,
  reference: "cairn:x",
  version,
  revision: null,
});
const release = (versions: Readonly<Record<string, string>>) => ({
  nodes: Object.fromEntries(Object.entries(versions).map(([name, version]) => [name, image(version)])),
});
const plan = (versions: Readonly<Record<string, string | null>>) =>
  Object.entries(versions).map(([name, version]) => ({ name, image: version === null ? null : image(version) }));

describe("images of a deployment", () => {
  const all = new Set(["a", "b", "c"]);

  it("of the next minor are let through, on all nodes or on one", () => {
    const has = release({ a: "0.2.0", b: "0.2.3" });
    refuseVersionSkew(plan({ a: "0.3.0", b: "0.3.0" }), has, all);
    refuseVersionSkew(plan({ a: "0.3.0", b: "0.2.3" }), has, all);
    refuseVersionSkew(plan({ a: "0.2.0", b: "0.2.3", c: "0.1.0" }), has, all);
  });

  it("of a release too far from a node that runs are refused, with its name, the range, and both ways on", () => {
    const refused = expect(() =>
      refuseVersionSkew(plan({ a: "0.4.0", b: "0.4.0" }), release({ a: "0.2.0", b: "0.2.3" }), all),
    );
    refused.toThrow(
      expect.objectContaining({
        code: "INFRA_UP_REFUSED",
        message: `The node b runs Cairn 0.2.3, and Cairn 0.4.0 serves beside 0.3.x to 0.5.x only. ${SUPPORTED_SKEW}`,
        details: { hint: expect.stringMatching(/one minor after the other.*infra destroy/) },
      }),
    );
    expect(() => refuseVersionSkew(plan({ a: "0.2.0", c: "0.4.0" }), release({ a: "0.2.0" }), all)).toThrow("node a");
  });

  it("are not compared with a node that does not run, that is the one itself, or that keeps what it has", () => {
    refuseVersionSkew(plan({ a: "0.4.0", b: "0.4.0" }), release({ a: "0.2.0", b: "0.2.0" }), new Set());
    refuseVersionSkew(plan({ a: "0.4.0" }), release({ a: "0.2.0" }), all);
    refuseVersionSkew(plan({ a: "0.4.0", b: "0.2.0" }), release({ a: "0.4.0", b: "0.2.0" }), all);
    refuseVersionSkew(plan({ a: "unknown", b: null }), release({ a: "0.2.0", b: "0.2.0" }), all);
  });
});
