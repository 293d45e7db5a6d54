/** The image that a deployment's configuration asks for: built from the source tree, or taken from its registry. */

import type { ImageIdentity } from "../../infra/plan/types.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "../service/deployment.ts";
import { inspectWithoutSecrets } from "../service/deployment.ts";
import { buildImage } from "./build/build.ts";
import { configuredBuild } from "./build/deployment.ts";
import { DEFAULT_BASE_IMAGE, identityOfResult } from "./build/types.ts";
import { identityOf, inspectImage, UNKNOWN_VERSION } from "./images/inspect.ts";
import { recordBuilt } from "./images/release-file.ts";
import { pullImage } from "./images/transport.ts";
import type { ReadProject } from "./operations/services.ts";

export interface ProvideInput {
  readonly deployment: Deployment;
  /** Directory of the program's package.json. */
  readonly root: string;
  readonly project: ReadProject;
  readonly report: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Recorded as `built` in release.json. Errors of the build; INFRA_IMAGE_MISSING when nothing says where it is from. */
export async function provideImage(input: ProvideInput): Promise<ImageIdentity> {
  const { deployment, project, report, signal } = input;
  const inspection = await inspectWithoutSecrets(deployment, signal);
  const configured = await configuredBuild(deployment, false, signal);
  if (inspection.loaded?.config.deployment.image.build_from_source === false) {
    const pulled = await pullImage(
      configured.reference(project.plan.version),
      "local",
      project.secrets.registry,
      report,
      signal,
    );
    await recordBuilt(deployment.dir, pulled);
    return pulled;
  }
  const request = {
    baseImage: DEFAULT_BASE_IMAGE,
    tags: (version: string) => [configured.reference(version)],
    push: false,
    load: true,
    platforms: [],
    noCache: false,
    network: null,
    npmrc: null,
    packages: [],
  };
  return identityOfResult(
    await buildImage(request, configured.deployment, { root: input.root, signal, report, warn: report }),
  );
}

/** An image by its name, id or digest: as this machine's engine has it, else as a registry will give it, whose label nobody has read. */
export async function resolveImage(
  reference: string,
  { plan }: ReadProject,
  signal: AbortSignal,
): Promise<ImageIdentity> {
  const found = await inspectImage(reference, "local", signal).catch(() => null);
  if (found !== null) {
    // A cluster's machines know images by their names, and this engine's ids alone where they have the very same store.
    const named = plan.target === "kubernetes" && reference === found.id ? found.tags[0] : undefined;
    return identityOf(found, named ?? reference);
  }
  if (/@sha256:[0-9a-f]{64}$/.test(reference)) {
    const name = reference.slice(0, reference.indexOf("@"));
    return { id: null, digest: reference, reference: name, version: UNKNOWN_VERSION, revision: null };
  }
  if (plan.target === "kubernetes") {
    return { id: null, digest: null, reference, version: UNKNOWN_VERSION, revision: null };
  }
  // What another machine has brought to the hosts; where it is not there it is missing when it is to be delivered.
  if (/^sha256:[0-9a-f]{64}$/.test(reference)) {
    return { id: reference, digest: null, reference, version: UNKNOWN_VERSION, revision: null };
  }
  throw new InfraError("INFRA_IMAGE_MISSING", `There is no image ${reference} on this machine.`, {
    hint: "Build it with `cairn build`, pull it, or name it by its digest: repository@sha256:...",
  });
}
