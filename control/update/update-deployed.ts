/**
 * `update` of a stack with one node: the image is there before anything stops, `infra up` gives it to the node, and the image
 * that the node had before comes back when the new one does not pass the gate.
 */

import { existsSync } from "node:fs";
import { execa } from "execa";
import type { ImageIdentity } from "../../infra/plan/types.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type { OperationInput, ReadProject } from "../deploy/operations/services.ts";
import { up } from "../deploy/operations/up.ts";
import type { UpResult } from "../deploy/schemas.ts";
import { UsageError } from "../output/failure.ts";
import { changeNode, type Step } from "../rollout/rollback.ts";
import type { UpdateResult } from "./result.ts";

export interface DeployedUpdate {
  readonly run: OperationInput;
  /** From the command line; undefined: built from the program. */
  readonly prebuilt: string | undefined;
  readonly report: (text: string) => void;
  /** Rejects when the node does not pass; `image` is what it is to run. */
  readonly gate: (node: string, image: ImageIdentity) => Promise<void>;
  /** Tests play the engine. */
  readonly deploy?: (run: OperationInput, image: string) => Promise<UpResult | null>;
}

/** UsageError for a stack of several nodes; errors of the build and of `infra up`'s preparation, with nothing changed. */
export async function updateDeployed(update: DeployedUpdate): Promise<UpdateResult> {
  const { run, report } = update;
  const project = await run.services.readProject(run.dir, run.signal);
  const node = onlyNode(project);
  const { target } = project.plan;
  const former = (await run.services.release.read(run.dir)).nodes[node] ?? null;
  report("Providing the image");
  const image = await chooseImage(update, project);
  const said = {
    schema: 1,
    target,
    from: former?.version ?? "none",
    to: image.version,
    reason: null,
    next: null,
  } as const;
  if (former !== null && nameOf(former) === nameOf(image)) {
    // An update that was cut off may have brought it, and not have tested it.
    const wrong = await update.gate(node, image).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (wrong === null) return { ...said, outcome: "unchanged", restarted: false };
    const next = "Name the image to go back to with --prebuilt.";
    return { ...said, outcome: "operator", restarted: false, reason: `The node runs this image: ${wrong}`, next };
  }

  const end = await changeNode<"restart" | "gate" | "back">({
    forward: nodeSteps(update, node, image),
    back:
      former === null
        ? null
        : [
            { name: "back", run: async () => report(`Going back to ${former.reference}`) },
            ...nodeSteps(update, node, former),
          ],
    // The engine keeps the state, and an update that is run again tests the image that the node has.
    record: (_name, work) => work(),
    // A lock or an interruption is nothing that another image would mend.
    isUnrelated: (error) => run.signal.aborted || isLock(error),
  });
  if (end.kind === "passed") return { ...said, outcome: "updated", restarted: true };
  const next = "See `cairn infra status` and `cairn logs`.";
  if (end.kind === "rolled_back") return { ...said, outcome: "rolled_back", restarted: true, reason: end.reason, next };
  const back = end.back === null ? "There is no former image to go back to." : `Going back failed, too: ${end.back}`;
  return { ...said, outcome: "operator", restarted: true, reason: `${end.reason} ${back}`, next };
}

/** `infra up` changes the image and restarts the node in one. */
function nodeSteps(
  { run, deploy = deployAll, gate }: DeployedUpdate,
  node: string,
  image: ImageIdentity,
): Step<"restart" | "gate">[] {
  return [
    {
      name: "restart",
      async run() {
        const result = await deploy(run, nameOf(image));
        if (result?.healthy) return;
        throw new InfraError("INFRA_FAILED", `The node ${node} did not become healthy with ${image.reference}.`);
      },
    },
    { name: "gate", run: () => gate(node, image) },
  ];
}

function deployAll(run: OperationInput, image: string): Promise<UpResult | null> {
  return up(run, { node: undefined, image, adopt: false, yes: true });
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

/** The node that an update is about. A UsageError for what needs a rollout. */
export function onlyNode({ plan }: ReadProject): string {
  if (plan.target === "kubernetes") {
    throw new UsageError(
      "On Kubernetes this version does not roll a new image.",
      "Apply it with `cairn infra up --node NAME --image IMAGE`, one node after the other: it ends with the command of kubectl " +
        "that lets the pods take it.",
    );
  }
  const [first, ...more] = plan.nodes;
  if (first === undefined) throw new UsageError("The deployment has no node.");
  if (more.length > 0) {
    const names = plan.nodes.map(({ name }) => name).join(", ");
    throw new UsageError(
      `The stack has several nodes: ${names}.`,
      "Take one node after the other: `cairn infra up --node NAME --image IMAGE`.",
    );
  }
  return first.name;
}

function isLock(error: unknown): boolean {
  return ["INFRA_LOCKED", "INFRA_INTERRUPTED"].includes(codeOf(error) ?? "");
}
