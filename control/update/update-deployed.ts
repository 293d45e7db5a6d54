/**
 * `update` of a stack: the image is there before anything stops, and the nodes get it one after the other as by
 * `infra up --roll`. Those that do not pass, and those before them, get back what they had.
 */

import { existsSync } from "node:fs";
import { execa } from "execa";
import type { ImageIdentity } from "../../infra/plan/types.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { UNKNOWN_VERSION } from "../deploy/images/inspect.ts";
import { openFleet, throughDatabase } from "../deploy/operations/roll/in-fleet.ts";
import { roll } from "../deploy/operations/roll/roll.ts";
import type { OperationInput, ReadProject } from "../deploy/operations/services.ts";
import { openSession } from "../deploy/operations/session.ts";
import type { UpResult } from "../deploy/schemas.ts";
import { UsageError } from "../output/failure.ts";
import type { OnFailure } from "../rollout/fleet-steps.ts";
import type { FleetOptions } from "../rollout/open-fleet.ts";
import type { UpdateResult } from "./result.ts";

export interface MeshOptions extends FleetOptions {
  readonly onFailure: OnFailure;
}

export interface DeployedUpdate {
  readonly run: OperationInput;
  /** From the command line; undefined: built from the program. */
  readonly prebuilt: string | undefined;
  /** Through the database that the nodes share; undefined: from this machine alone. */
  readonly mesh?: MeshOptions | undefined;
  readonly report: (text: string) => void;
  /** Tests play the engine. */
  readonly deploy?: (run: OperationInput, image: string, mesh?: MeshOptions) => Promise<UpResult | null>;
}

/** Errors of the build and of the preparation of `infra up --roll`, with nothing changed. */
export async function updateDeployed(update: DeployedUpdate): Promise<UpdateResult> {
  const { run, report, mesh, deploy = rollAll } = update;
  const project = await run.services.readProject(run.dir, run.signal);
  const release = await run.services.release.read(run.dir);
  const nodes = nodesOf(project);
  const { target } = project.plan;
  const former = nodes.flatMap((node) => release.nodes[node] ?? []);
  // Refused before anything is built; what is resumed has its image by its journal.
  const fleet = mesh === undefined ? null : await openFleet(await openSession(run), mesh);
  if (fleet?.interrupted == null) report("Providing the image");
  const image =
    fleet?.interrupted == null
      ? await chooseImage(update, project)
      : await run.services.images.resolve(fleet.interrupted.to, project, run.signal);
  const said = {
    schema: 1,
    target,
    from: [...new Set(former.map(shownVersion))].join(", ") || "none",
    to: shownVersion(image),
    reason: null,
    next: null,
  } as const;
  if (
    fleet?.interrupted == null &&
    former.length === nodes.length &&
    former.every((one) => nameOf(one) === nameOf(image))
  ) {
    // An update that was cut off may have brought it, and not have tested it.
    const wrong = await testAll(run, project, image);
    if (wrong === null) return { ...said, outcome: "unchanged", restarted: false };
    const next = "Name the image to go back to with --prebuilt.";
    return { ...said, outcome: "operator", restarted: false, reason: wrong, next };
  }
  const result = await deploy(run, nameOf(image), mesh);
  const rolled = result?.roll;
  const next = "See `cairn infra status` and `cairn logs`.";
  if (rolled === undefined) throw new InfraError("INFRA_FAILED", "The nodes were not updated.", { hint: next });
  const { outcome, reason, last_words, log } = rolled;
  const failed = { ...said, restarted: true, reason, next, last_words, ...(log === null ? {} : { log }) };
  if (outcome === "operator") return { ...failed, outcome: "operator" };
  if (outcome === "paused") {
    const again = "Mend what failed, and run the same command again: nodes that have the version are left alone.";
    return { ...failed, outcome: "paused", next: again };
  }
  if (outcome === "rolled_back") return { ...failed, outcome: "rolled_back" };
  return { ...said, outcome: "updated", restarted: true };
}

/** Why a node that has the image does not pass; null where all pass. */
async function testAll(
  { services, signal }: OperationInput,
  project: ReadProject,
  image: ImageIdentity,
): Promise<string | null> {
  const { plan } = project;
  const driver = await services.createDriver(project);
  for (const { name } of plan.nodes) {
    const own = { ...project, plan: { ...plan, nodes: plan.nodes.map((one) => ({ ...one, image })) } as typeof plan };
    const wrong = await services.nodes.gate({ project: own, driver, node: name }, signal).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (wrong !== null) return `${name} runs this image: ${wrong}`;
  }
  return null;
}

function rollAll(run: OperationInput, image: string, mesh?: MeshOptions): Promise<UpResult | null> {
  const onFailure = mesh?.onFailure ?? "rollback";
  return roll(run, {
    image,
    adopt: false,
    yes: true,
    onFailure,
    ...(mesh === undefined ? {} : { fleet: throughDatabase(mesh) }),
  });
}

async function chooseImage({ run, prebuilt, report }: DeployedUpdate, project: ReadProject): Promise<ImageIdentity> {
  const { images } = run.services;
  if (prebuilt === undefined) return images.provide(project, report, run.signal);
  const reference = existsSync(prebuilt) ? await loadArchive(prebuilt, run.signal) : prebuilt;
  return images.resolve(reference, project, run.signal);
}

/** Takes an archive of `docker save` into this machine's engine; resolves with the image's name or id. */
async function loadArchive(file: string, signal: AbortSignal): Promise<string> {
  const result = await execa("docker", ["image", "load", "--input", file], {
    reject: false,
    stdin: "ignore",
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  const found = /^Loaded image(?: ID)?: (\S+)$/m.exec(result.stdout ?? "")?.[1];
  if (!result.failed && found !== undefined) return found;
  const words = result.code === "ENOENT" ? "there is no docker on this machine" : (result.stderr ?? "").trim();
  throw new InfraError("INFRA_IMAGE_MISSING", `${file} cannot be loaded as an image: ${words || "it holds none"}.`, {
    hint: "Pass an archive that `docker image save` wrote, or the name of an image.",
  });
}

/** Stands for exactly one image, wherever there is such a name. */
export function nameOf({ digest, id, reference }: ImageIdentity): string {
  return digest ?? id ?? reference;
}

/** The image itself where nothing tells its version. */
export function shownVersion(image: ImageIdentity): string {
  return image.version === UNKNOWN_VERSION ? (image.digest ?? image.reference) : image.version;
}

/** A UsageError where there is none. */
export function nodesOf({ plan }: ReadProject): string[] {
  if (plan.nodes.length === 0) throw new UsageError("The deployment has no node.");
  return plan.nodes.map(({ name }) => name);
}
