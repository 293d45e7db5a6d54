/** For which machines an image is. Architectures are named as Docker names them: `amd64`, `arm64`. */

import { z } from "zod";
import type { ImageIdentity, SecretValues } from "../../../infra/plan/types.ts";
import { tryDocker } from "./docker-cli.ts";
import { inspectImage } from "./inspect.ts";
import { withRegistryLogin } from "./registry-login.ts";

const KERNELS: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64", armv7l: "arm", i686: "386" };

const manifest = z.object({
  Descriptor: z.object({ platform: z.object({ architecture: z.string() }).nullish() }),
});
const manifests = z.union([z.array(manifest), manifest.transform((one) => [one])]);

/** Docker's name of an architecture that the kernel (`uname -m`) names; empty stays empty. */
export function architectureOf(machine: string): string {
  const name = machine.trim();
  return KERNELS[name] ?? name;
}

/**
 * Sorted; null where nobody can say. An image that has a digest comes from its registry, which may have it for several: a copy of
 * this machine's engine is but the one for this machine.
 */
export async function imageArchitectures(
  { digest, id }: ImageIdentity,
  registry: SecretValues["registry"],
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const found = digest === null ? await ofLocal(id, signal) : await ofRegistry(digest, registry, signal);
  // What is no image for a machine, such as an attestation, has the architecture `unknown`.
  const names = [...new Set(found)].filter((name) => name !== "" && name !== "unknown").sort();
  return names.length === 0 ? null : names;
}

async function ofLocal(id: string | null, signal: AbortSignal): Promise<string[]> {
  const image = id === null ? null : await inspectImage(id, "local", signal).catch(() => null);
  signal.throwIfAborted();
  return image === null ? [] : [image.platform.slice(image.platform.indexOf("/") + 1)];
}

async function ofRegistry(digest: string, registry: SecretValues["registry"], signal: AbortSignal): Promise<string[]> {
  const answer = await withRegistryLogin(registry, (environment) =>
    tryDocker(["manifest", "inspect", "--verbose", digest], { environment, signal }),
  ).catch(() => null);
  signal.throwIfAborted();
  if (!answer?.ok) return [];
  try {
    const { data = [] } = manifests.safeParse(JSON.parse(answer.stdout));
    return data.flatMap(({ Descriptor: { platform } }) => platform?.architecture ?? []);
  } catch {
    return [];
  }
}
