/** The answers of `docker image inspect`. */

import { z } from "zod";
import type { ImageIdentity } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { type DockerEngine, dockerFailure, tryDocker } from "./docker-cli.ts";

const inspected = z.array(
  z.object({
    Id: z.string(),
    RepoTags: z.array(z.string()).nullish(),
    RepoDigests: z.array(z.string()).nullish(),
    Size: z.number(),
    Os: z.string().default("linux"),
    Architecture: z.string().default(""),
    Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
    RootFS: z.object({ Layers: z.array(z.string()).nullish() }).nullish(),
  }),
);

export interface InspectedImage {
  /** `sha256:<64 hex>`. */
  readonly id: string;
  readonly tags: readonly string[];
  /** `repository@sha256:<64 hex>`, of every registry that it was pushed to or pulled from. */
  readonly digests: readonly string[];
  /** Bytes that it takes unpacked, base included. */
  readonly sizeBytes: number;
  readonly platform: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Digests of the unpacked layers, the lowest first. */
  readonly layers: readonly string[];
}

/** Null when the engine does not have it. */
export async function inspectImage(
  image: string,
  host: DockerEngine = "local",
  signal?: AbortSignal,
): Promise<InspectedImage | null> {
  const call = { host, ...(signal ? { signal } : {}) };
  const { ok, stdout, stderr } = await tryDocker(["image", "inspect", "--", image], call);
  if (!ok) {
    if (/no such image|not found|invalid reference format/i.test(stderr)) return null;
    throw dockerFailure(stderr, `docker image inspect ${image}`, host);
  }
  const parsed = inspected.safeParse(parseJson(stdout));
  const first = parsed.data?.[0];
  if (first === undefined) {
    throw new InfraError("INFRA_FAILED", `Docker's answer about the image ${image} is not understood.`, {
      cause: parsed.error,
    });
  }
  return {
    id: first.Id,
    tags: first.RepoTags ?? [],
    digests: first.RepoDigests ?? [],
    sizeBytes: first.Size,
    platform: `${first.Os}/${first.Architecture}`,
    labels: first.Config?.Labels ?? {},
    layers: first.RootFS?.Layers ?? [],
  };
}

/** Version of an image whose label is not known here. */
export const UNKNOWN_VERSION = "unknown";

/** How the rest of the program identifies an image; version and revision are from its labels. */
export function identityOf(image: InspectedImage, reference: string): ImageIdentity {
  const repository = repositoryOf(reference);
  return {
    id: image.id,
    digest: image.digests.find((digest) => digest.startsWith(`${repository}@`)) ?? null,
    reference,
    version: image.labels["org.opencontainers.image.version"] || UNKNOWN_VERSION,
    revision: image.labels["org.opencontainers.image.revision"] || null,
  };
}

/** `registry:5000/team/cairn` of `registry:5000/team/cairn:1.2@sha256:...`. */
export function repositoryOf(reference: string): string {
  const [name = ""] = reference.split("@");
  return name.replace(/:[^/:]*$/, "");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
