/** Pins the base image: what a tag means tomorrow must not change what was built today, nor its record. */

import { CairnError } from "../../../runtime/contracts/errors.ts";
import { tryDocker } from "../images/docker-cli.ts";
import { inspectImage, repositoryOf } from "../images/inspect.ts";
import type { Builder } from "./builder.ts";

/** Milliseconds for the registry's answer. */
const REGISTRY_MS = 20_000;
const DIGEST = /sha256:[0-9a-f]{64}/;

export interface BaseImage {
  /** What the Dockerfile starts from: with its digest where that is known. */
  readonly reference: string;
  /** `sha256:<64 hex>`; null where no registry has the image, or none is reachable. */
  readonly digest: string | null;
}

/**
 * The engine's own builder takes the image that the engine has: its digest is the one of the registry that it came from, and one
 * that was made here has none. Any other builder resolves it at the registry, and so does this.
 */
export async function pinBaseImage(image: string, builder: Builder, signal: AbortSignal): Promise<BaseImage> {
  const given = new RegExp(`@(${DIGEST.source})$`).exec(image)?.[1];
  if (given !== undefined) return { reference: image, digest: given };
  const local = builder.driver === "docker" ? await inspectImage(image, "local", signal) : null;
  const pinned = local?.digests.find((digest) => digest.startsWith(`${repositoryOf(image)}@`));
  const digest = local === null ? await askRegistry(image, signal) : (DIGEST.exec(pinned ?? "")?.[0] ?? null);
  return { reference: digest === null ? image : `${image}@${digest}`, digest };
}

async function askRegistry(image: string, signal: AbortSignal): Promise<string | null> {
  const question = ["buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", image];
  try {
    const { ok, stdout } = await tryDocker(question, { signal }, REGISTRY_MS);
    return ok ? (DIGEST.exec(stdout)?.[0] ?? null) : null;
  } catch (error) {
    signal.throwIfAborted();
    // A registry that does not answer: the build finds out by itself whether it can do without.
    if (error instanceof CairnError && error.code === "INFRA_HOST_UNREACHABLE") return null;
    throw error;
  }
}
