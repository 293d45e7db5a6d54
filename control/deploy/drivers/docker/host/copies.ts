/** Copies of volumes on a Docker host, made by a container of the node's own image, which is there, without a network. */

import { ownLabels } from "../../../../../infra/components/docker/labels.ts";
import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import { writeArchive } from "../../../archive-file.ts";
import type { ExistingData } from "../../../driver.ts";
import { askDocker, dockerArguments, dockerFailure, tryDocker } from "../../../images/docker-cli.ts";
import { runnable } from "../../../images/transport.ts";
import { withOneOff } from "./one-off.ts";
import { whileReachable } from "./reachable.ts";

/** Milliseconds; homes and workspaces may be large. */
const COPY_MS = 3_600_000;

/** The volumes of one host, each under its name. The file is there when it is whole. */
export async function archiveData(
  plan: DockerPlan,
  data: readonly ExistingData[],
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const [first] = data;
  if (first === undefined) return;
  const mounts = data.flatMap(({ name }) => ["--volume", `${name}:/data/${name}:ro`]);
  const command = [...mounts, "--entrypoint", "tar", imageAt(plan, first.place), "-C", "/data", "-cz", "."];
  await withOneOff(`${plan.stack}.archive`, { host: first.place, signal }, (flags) => {
    const program = {
      program: "docker",
      args: dockerArguments([...flags, ...command], first.place),
      failure: (words: string) => dockerFailure(words, "tar of the node's volumes", first.place),
    };
    return whileReachable(first.place, signal, (ending) => writeArchive(file, program, ending));
  });
}

/** `to` gets what `from` has, and nothing else: an earlier run may have been cut off. */
export async function copyData(
  plan: DockerPlan,
  { from, to, node }: { readonly from: ExistingData; readonly to: string; readonly node: string },
  signal: AbortSignal,
): Promise<void> {
  const call = { host: from.place, signal };
  const labels = ownLabels(plan, "node", node).flatMap(({ label, value }) => ["--label", `${label}=${value}`]);
  await askDocker(["volume", "create", ...labels, to], call);
  const mounts = ["--volume", `${from.name}:/from:ro`, "--volume", `${to}:/to`];
  const copy = "find /to -mindepth 1 -delete && cp -a /from/. /to/";
  const command = [...mounts, "--entrypoint", "/bin/sh", imageAt(plan, from.place), "-c", copy];
  const result = await withOneOff(`${plan.stack}.copy`, call, (flags) =>
    whileReachable(from.place, signal, (ending) =>
      tryDocker([...flags, ...command], { ...call, signal: ending }, COPY_MS),
    ),
  );
  if (!result.ok) throw dockerFailure(result.stderr, `cp of ${from.name}`, from.place);
}

function imageAt({ nodes }: DockerPlan, place: string): string {
  const image = nodes.find((node) => node.host === place && node.image !== null)?.image ?? null;
  if (image !== null) return runnable(image);
  throw new InfraError("INFRA_IMAGE_MISSING", `No node at ${place} has an image that could copy its data.`, {
    hint: "Run `cairn build`.",
  });
}
