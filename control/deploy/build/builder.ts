/** Finds what builds images here: Docker's command line, its engine, buildx, and what the chosen builder can do. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { askDocker, dockerFailure, isUnreachable, tryDocker } from "../images/docker-cli.ts";

export interface Builder {
  readonly name: string;
  /** `docker` is the engine itself; `docker-container`, `kubernetes` and `remote` are BuildKit on its own. */
  readonly driver: string;
  /** Whether an image may carry an SBOM and its provenance. */
  readonly attests: boolean;
  readonly multiPlatform: boolean;
}

/** INFRA_TOOL_MISSING without Docker or buildx, INFRA_HOST_UNREACHABLE without an engine. */
export async function findBuilder(signal: AbortSignal): Promise<Builder> {
  // First, because without an engine nothing else has a meaning.
  const store = await askDocker(["info", "--format", "{{json .DriverStatus}}"], { signal });
  const version = await tryDocker(["buildx", "version"], { signal });
  if (!version.ok) {
    throw new InfraError("INFRA_TOOL_MISSING", "Docker's buildx is not installed; images are built with it.", {
      hint: "Install the package docker-buildx-plugin (Debian: docker-buildx), and see that `docker buildx version` works.",
    });
  }
  const { ok, stdout, stderr } = await tryDocker(["buildx", "inspect"], { signal });
  if (!ok && isUnreachable(stderr)) throw dockerFailure(stderr, "docker buildx inspect");
  if (!ok) {
    throw new InfraError("INFRA_TOOL_MISSING", `The builder cannot be used: ${stderr.trim().split("\n").at(-1)}`, {
      hint: "`docker buildx ls` shows the builders, `docker buildx use NAME` chooses one.",
    });
  }
  return describeBuilder(stdout, /io\.containerd\.snapshotter/.test(store));
}

/** From the words of `docker buildx inspect`. The one place that reads them. */
export function describeBuilder(inspection: string, containerdStore: boolean): Builder {
  const field = (name: string): string =>
    new RegExp(String.raw`^${name}:[ \t]*(\S+)`, "m").exec(inspection)?.[1] ?? "unknown";
  const driver = field("Driver");
  // The engine's own builder writes into the engine's store, and only the newer of its two can hold more than one image.
  const able = driver !== "docker" || containerdStore;
  return { name: field("Name"), driver, attests: able, multiPlatform: able };
}
