/** Request and result of a build. */

import type { ImageIdentity } from "../../../infra/plan/types.ts";

export const DEFAULT_BASE_IMAGE = "node:24-trixie-slim";

/** The flags of `cairn build`, checked by `checkRequest`. */
export interface BuildRequest {
  readonly baseImage: string;
  /** References that the image gets; never empty. The first is the one that it is known by. */
  readonly tags: readonly string[];
  readonly push: boolean;
  /** Into this machine's engine. */
  readonly load: boolean;
  /** `linux/amd64` and the like; empty: the engine's own. */
  readonly platforms: readonly string[];
  readonly noCache: boolean;
  /** Network of the steps that fetch packages; null: the builder's own. */
  readonly network: string | null;
  /** File with the package registry's address and token; null: none. */
  readonly npmrc: string | null;
  /** Debian packages on top, for agents' commands. */
  readonly packages: readonly string[];
}

/** Kinds of attestation that went with the image. */
export type Attestation = "sbom" | "provenance";

/** The document of `cairn build --json`. */
export interface BuildResult {
  readonly schema: 1;
  /** Of this machine's engine; null when the image went to a registry alone. */
  readonly id: string | null;
  /** `repository@sha256:<64 hex>` once a registry has it. */
  readonly digest: string | null;
  readonly reference: string;
  readonly tags: readonly string[];
  readonly version: string;
  readonly revision: string | null;
  readonly base_image: string;
  /** `sha256:<64 hex>`; null where the base was built here or no registry had it. */
  readonly base_digest: string | null;
  readonly platforms: readonly string[];
  /** Unpacked, base included; null when this machine's engine does not have the image. */
  readonly size_bytes: number | null;
  readonly pushed: boolean;
  readonly loaded: boolean;
  readonly attestations: readonly Attestation[];
  /** Number of plugin and skill directories inside. */
  readonly plugins: number;
  readonly skills: number;
  /** The release file that names it now; null outside a deployment directory. */
  readonly recorded: string | null;
  readonly duration_ms: number;
}

export function identityOfResult(result: BuildResult): ImageIdentity {
  const { id, digest, reference, version, revision } = result;
  return { id, digest, reference, version, revision };
}
