/** From what was asked for to the arguments of `docker buildx build`. Pure. */

import type { BaseImage } from "./base-image.ts";
import type { Builder } from "./builder.ts";
import type { Attestation, BuildRequest } from "./types.ts";

export interface BuildInput {
  readonly request: BuildRequest;
  readonly base: BaseImage;
  readonly builder: Builder;
  readonly version: string;
  readonly revision: string | null;
  /** Seconds since 1970 that count as the time of the build; null: no time is written. */
  readonly sourceDateEpoch: number | null;
  /** Where the project lives; null where package.json does not say. */
  readonly sourceUrl: string | null;
  /** Directory of the context. */
  readonly context: string;
  readonly metadataFile: string;
}

/** Variables of proxies: their values may hold a password, so Docker takes them from the environment. */
const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"] as const;

export function buildArguments(input: BuildInput, environment: Readonly<Record<string, string | undefined>>): string[] {
  const { request, builder } = input;
  const { created, labels } = labelsOf(input);
  return [
    "buildx",
    "build",
    ...["--progress", "plain", "--metadata-file", input.metadataFile],
    ...request.tags.flatMap((tag) => ["--tag", tag]),
    ...["--build-arg", `BASE_IMAGE=${input.base.reference}`],
    ...(request.packages.length > 0 ? ["--build-arg", `PACKAGES=${[...request.packages].sort().join(" ")}`] : []),
    ...(created === null ? [] : ["--build-arg", `SOURCE_DATE_EPOCH=${input.sourceDateEpoch}`]),
    ...proxyVariables(environment).flatMap((name) => ["--build-arg", name]),
    ...Object.entries(labels).flatMap(([name, value]) => ["--label", `org.opencontainers.image.${name}=${value}`]),
    ...(request.platforms.length > 0 ? ["--platform", request.platforms.join(",")] : []),
    ...(request.load ? ["--load"] : []),
    ...(request.push ? ["--push"] : []),
    ...(request.noCache ? ["--no-cache"] : []),
    ...(request.network === null ? [] : ["--network", request.network]),
    ...(request.npmrc === null ? [] : ["--secret", `id=npmrc,src=${request.npmrc}`]),
    ...attestationArguments(attestationsOf(request, builder)),
    input.context,
  ];
}

/** An engine's store of one image has no place for them, so they go with an image that goes to a registry. */
export function attestationsOf(request: BuildRequest, builder: Builder): readonly Attestation[] {
  const roomInEngine = builder.driver === "docker";
  return builder.attests && (roomInEngine || !request.load) ? ["sbom", "provenance"] : [];
}

/** Those that are set, as they are spelled. */
function proxyVariables(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]).filter((name) => Boolean(environment[name]));
}

function attestationArguments(wanted: readonly Attestation[]): string[] {
  return [
    wanted.includes("sbom") ? "--sbom=true" : "--sbom=false",
    wanted.includes("provenance") ? "--provenance=mode=max" : "--provenance=false",
  ];
}

function labelsOf({ version, revision, sourceDateEpoch, sourceUrl, request, base }: BuildInput): {
  readonly created: string | null;
  readonly labels: Readonly<Record<string, string>>;
} {
  const created = sourceDateEpoch === null ? null : new Date(sourceDateEpoch * 1000).toISOString();
  return {
    created,
    labels: {
      version,
      ...(revision === null ? {} : { revision }),
      "base.name": request.baseImage,
      ...(base.digest === null ? {} : { "base.digest": base.digest }),
      ...(created === null ? {} : { created }),
      ...(sourceUrl === null ? {} : { source: sourceUrl }),
    },
  };
}
