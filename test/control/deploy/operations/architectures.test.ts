/** Images for other machines than the ones that a node runs on. */

import { describe, expect, it } from "vitest";
import { refuseForeignImages } from "../../../../control/deploy/operations/architectures.ts";
import type { ReadProject } from "../../../../control/deploy/operations/services.ts";
import type { Session } from "../../../../control/deploy/operations/session.ts";

const IMAGE = { id: `sha256:${"a".repeat(64)}`, digest: null, reference: "cairn:2", version: "2", revision: null };

interface Case {
  readonly made: readonly string[] | null;
  readonly machines: readonly string[];
  /** The node has it already. */
  readonly deployed?: boolean;
  /** Of the run. */
  readonly nodes?: readonly string[];
}

/** As `up` asks it of a stack of one node. */
function findingsOf({ made, machines, deployed = false, nodes = ["alpha"] }: Case) {
  const session = {
    driver: { architectures: async () => machines },
    run: {
      dir: "/nowhere",
      signal: new AbortController().signal,
      services: {
        release: { read: async () => ({ schema: 1, built: null, nodes: deployed ? { alpha: IMAGE } : {} }) },
        images: { architectures: async () => made },
      },
    },
  };
  const project = { plan: { target: "docker", nodes: [{ name: "alpha", image: IMAGE }] } };
  // The parts of a session and of a project that it looks at.
  return refuseForeignImages(session as unknown as Session, project as unknown as ReadProject, nodes);
}

describe("an image of another architecture", () => {
  it("is refused with both names and the way out", async () => {
    await expect(findingsOf({ made: ["arm64"], machines: ["amd64"] })).rejects.toMatchObject({
      code: "INFRA_IMAGE_MISSING",
      message: "The image cairn:2 is for arm64, and node alpha runs on amd64.",
      details: {
        hint: expect.stringMatching(
          /`cairn build --platform linux\/amd64`.*--platform linux\/arm64 --platform linux\/amd64 --push.*Nothing/,
        ),
      },
    });
  });

  it("is warned of where some of the machines can run it", async () => {
    expect(await findingsOf({ made: ["amd64"], machines: ["amd64", "arm64"] })).toEqual([
      {
        severity: "warning",
        code: "INFRA_IMAGE_MISSING",
        message: "The image cairn:2 is for amd64, and node alpha may get a machine of arm64, too.",
        hint: expect.stringContaining("labels: { kubernetes.io/arch: amd64 }"),
      },
    ]);
  });

  it.each<[string, Case]>([
    ["the same", { made: ["amd64"], machines: ["amd64"] }],
    ["for several", { made: ["amd64", "arm64"], machines: ["arm64"] }],
    ["unknown", { made: null, machines: ["amd64"] }],
    ["on a target that does not say", { made: ["arm64"], machines: [] }],
    ["what the node has, and an engine plays it", { made: ["arm64"], machines: ["amd64"], deployed: true }],
    ["of a node that the run is not about", { made: ["arm64"], machines: ["amd64"], nodes: [] }],
  ])("is let through: %s", async (_words, shape) => expect(await findingsOf(shape)).toEqual([]));
});
