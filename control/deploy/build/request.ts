/** Checks what was asked for before anything is done. Pure. */

import type { ImageIdentity } from "../../../infra/plan/types.ts";
import { UsageError } from "../../output/failure.ts";
import type { Builder } from "./builder.ts";
import type { BuildRequest } from "./types.ts";

const REPOSITORY = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const HOST = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?/)?`;
const REFERENCE = new RegExp(String.raw`^${HOST}${REPOSITORY}(?:/${REPOSITORY})*(?::\w[\w.-]{0,127})?$`);
const DIGEST = /@sha256:[0-9a-f]{64}$/;
const PLATFORM = /^linux\/[a-z0-9]+(?:\/v\d)?$/;
const NETWORK = /^[A-Za-z0-9][\w.-]{0,127}$/;
const PACKAGE = /^[a-z0-9][a-z0-9+.-]+$/;

/** Throws a UsageError that names the flag. What passes can stand in Docker's arguments. */
export function checkRequest(request: BuildRequest): void {
  for (const tag of request.tags) check("--tag", tag, REFERENCE.test(tag), "registry.example.org/team/cairn:1.2.3");
  const base = request.baseImage;
  check("--base-image", base, REFERENCE.test(base.replace(DIGEST, "")), "node:24-trixie-slim");
  for (const one of request.platforms) check("--platform", one, PLATFORM.test(one), "linux/amd64");
  for (const one of request.packages) check("--package", one, PACKAGE.test(one), "git");
  if (request.network !== null) check("--network", request.network, NETWORK.test(request.network), "host");
  if (request.push && request.tags.some((tag) => !tag.includes("/"))) {
    throw new UsageError(
      "--push needs to know the registry.",
      "Pass --tag REGISTRY/NAME:TAG, or set deployment.image.registry.",
    );
  }
  if (!request.push && !request.load) {
    throw new UsageError("With --no-load and without --push the image would go nowhere.", "Pass --push.");
  }
}

/** Refuses what this builder cannot do. Throws a UsageError. */
export function checkAgainstBuilder(request: BuildRequest, builder: Builder): void {
  if (request.platforms.length < 2) return;
  if (!builder.multiPlatform) {
    throw new UsageError(
      `The builder ${builder.name} (driver ${builder.driver}) builds for one platform at a time.`,
      "Make one that can: `docker buildx create --use --driver docker-container`.",
    );
  }
  if (!request.push) {
    throw new UsageError(
      "An image for several platforms goes to a registry: an engine holds one of them.",
      "Pass --push and --tag REGISTRY/NAME:TAG.",
    );
  }
}

/** The name of an image that was given none. */
export function defaultReference(
  image: { readonly registry?: string | undefined; readonly tag?: string | undefined },
  version: ImageIdentity["version"],
): string {
  return `${image.registry ?? "cairn"}:${image.tag ?? version.replaceAll("+", "_")}`;
}

function check(flag: string, value: string, right: boolean, example: string): void {
  if (!right) throw new UsageError(`${flag} ${JSON.stringify(value)} is not understood.`, `For example ${example}.`);
}
