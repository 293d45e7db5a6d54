/**
 * Brings an image to an engine: pulled from a registry, or sent from another engine as a stream, without a file in between.
 */

import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { execa } from "execa";
import type { ImageIdentity, SecretValues } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { bytes } from "../../output/words.ts";
import type { Report } from "../inspection.ts";
import {
  CANCEL_GRACE_MS,
  type DockerEngine,
  type DockerHost,
  diskFull,
  dockerArguments,
  dockerFailure,
  isDiskFull,
  isUnreachable,
  placeOn,
  tryDocker,
} from "./docker-cli.ts";
import { type InspectedImage, identityOf, inspectImage } from "./inspect.ts";
import { withRegistryLogin } from "./registry-login.ts";

/** Milliseconds that a pull may take. */
const PULL_MS = 30 * 60_000;

/** The name to pull or inspect: the digest if a registry has the image, else the id. */
export function runnable(image: ImageIdentity | string): string {
  return typeof image === "string" ? image : (image.digest ?? image.id ?? image.reference);
}

/** Whether the engine has exactly this image, by digest or by id; for a text, an image of that name. */
export async function hasImage(
  image: ImageIdentity | string,
  host: DockerEngine,
  signal?: AbortSignal,
): Promise<boolean> {
  return (await findImage(image, host, signal)) !== null;
}

/**
 * Lets the engine pull. Resolves with what it has then. INFRA_IMAGE_MISSING when no registry gives it, INFRA_DISK_FULL,
 * INFRA_HOST_UNREACHABLE. `hint`: what helps where it is not Cairn's own image.
 */
export async function pullImage(
  image: ImageIdentity | string,
  host: DockerHost,
  registry: SecretValues["registry"],
  report: Report,
  signal?: AbortSignal,
  hint = "Check deployment.image.registry, username and password, or build the image with `cairn build`.",
): Promise<ImageIdentity> {
  const name = typeof image === "string" ? image : (image.digest ?? image.reference);
  report(`Pulling ${name} ${placeOn(host)}`);
  const { ok, stderr } = await withRegistryLogin(registry, (environment) =>
    tryDocker(["pull", "--quiet", "--", name], { host, environment, ...(signal ? { signal } : {}) }, PULL_MS),
  );
  const found = ok ? await inspectImage(name, host, signal) : null;
  if (found !== null) return identityOf(found, typeof image === "string" ? image : image.reference);
  if (isDiskFull(stderr)) throw dockerFailure(stderr, `docker pull ${name}`, host);
  const words = stderr.trim().split("\n").at(-1) ?? "";
  throw new InfraError("INFRA_IMAGE_MISSING", `The image ${name} cannot be pulled ${placeOn(host)}: ${words}`, {
    hint,
  });
}

export interface Sending {
  readonly image: ImageIdentity;
  readonly from: DockerHost;
  readonly to: DockerHost;
  readonly report: Report;
  readonly signal?: AbortSignal;
}

/**
 * Streams an image from one engine to another and checks that it is the same there. Does nothing when the target has it.
 * INFRA_IMAGE_MISSING when the source lacks it or the target ends up with another id, INFRA_DISK_FULL,
 * INFRA_HOST_UNREACHABLE.
 */
export async function sendImage({ image, from, to, report, signal }: Sending): Promise<void> {
  if (await hasImage(image, to, signal)) return;
  const source = await findImage(image, from, signal);
  if (source === null) {
    throw new InfraError("INFRA_IMAGE_MISSING", `The image ${runnable(image)} is not ${placeOn(from)}.`, {
      hint: "Build it with `cairn build`, or pull it there.",
    });
  }
  await stream(source, from, to, report, signal);
  const arrived = await inspectImage(source.id, to, signal);
  if (arrived === null) throw await otherId(source, image.reference, to, signal);
  // An image without a name is what `docker image prune` takes.
  await tryDocker(["image", "tag", source.id, image.reference], { host: to, ...(signal ? { signal } : {}) });
}

async function findImage(
  image: ImageIdentity | string,
  host: DockerEngine,
  signal?: AbortSignal,
): Promise<InspectedImage | null> {
  const names = typeof image === "string" ? [image] : [image.digest, image.id];
  for (const name of names) {
    const found = name === null ? null : await inspectImage(name, host, signal);
    if (found !== null) return found;
  }
  return null;
}

/** `docker save | docker load`, both ends watched: when one fails the other is ended, too. */
async function stream(
  source: InspectedImage,
  from: DockerHost,
  to: DockerHost,
  report: Report,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ending = new AbortController();
  const cancelSignal = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
  const options = { reject: false, cancelSignal, forceKillAfterDelay: CANCEL_GRACE_MS } as const;
  const save = execa("docker", dockerArguments(["image", "save", source.id], from), {
    ...options,
    stdin: "ignore",
    buffer: { stdout: false },
  });
  const load = execa("docker", dockerArguments(["image", "load", "--quiet"], to), options);
  const counter = countBytes((sent) =>
    report(`Sending the image to ${to}: ${bytes(sent)} of about ${bytes(source.sizeBytes)}`),
  );
  const moved = pipeline(save.stdout, counter, load.stdin).catch(() => undefined);
  void save.then((result) => result.failed && ending.abort());
  void load.then((result) => result.failed && ending.abort());
  const [saved, loaded] = await Promise.all([save, load, moved]);
  signal?.throwIfAborted();
  // The first failure has a message of its own; the other process was only cancelled.
  for (const [result, host, what] of [
    [loaded, to, "docker image load"],
    [saved, from, "docker image save"],
  ] as const) {
    if (result.failed && !result.isCanceled) throw transportFailure(result.stderr, what, host);
  }
}

function transportFailure(words: string, what: string, host: DockerHost): InfraError {
  if (isUnreachable(words)) return dockerFailure(words, what, host);
  if (isDiskFull(words)) return diskFull(words.trim().split("\n").at(-1) ?? "", host);
  return dockerFailure(words, what, host);
}

/** Engines with different image stores call one image by different ids. */
async function otherId(
  source: InspectedImage,
  reference: string,
  to: DockerHost,
  signal: AbortSignal | undefined,
): Promise<InfraError> {
  const named = await inspectImage(reference, to, signal);
  const same = named !== null && named.layers.join() === source.layers.join();
  return new InfraError(
    "INFRA_IMAGE_MISSING",
    same
      ? `The image arrived ${placeOn(to)}, but the engine there calls it ${named.id} instead of ${source.id}.`
      : `The image ${source.id} was sent, and is not ${placeOn(to)} all the same.`,
    { hint: "Use the same image store on both engines (`docker info`, Storage Driver), or a registry." },
  );
}

function countBytes(onSent: (sent: number) => void): Transform {
  let sent = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sent += chunk.length;
      onSent(sent);
      done(null, chunk);
    },
  });
}
