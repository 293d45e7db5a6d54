/** Addresses of model servers that a node in a container cannot reach: there, loopback is the container itself. */
import { isLoopback } from "../listen.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

export function checkContainerAddresses({ config: { deployment, providers, memory } }: CheckInput): Findings {
  const found = createCollector();
  if (deployment === undefined || deployment.target === "manual") return found;
  const addresses: readonly (readonly [path: readonly string[], address: string | undefined])[] = [
    ...Object.entries(providers ?? {}).map(([id, { base_url }]) => [["providers", id, "base_url"], base_url] as const),
    [["memory", "embedding", "base_url"], memory?.embedding.base_url],
    [["memory", "summarizer", "base_url"], memory?.summarizer.base_url],
  ];
  for (const [path, address] of addresses) {
    const host = address === undefined ? null : (URL.parse(address)?.hostname ?? null);
    if (host === null || !isLoopback(host)) continue;
    found.warn(
      path,
      "loopback-address",
      `${host} is the container itself where the target is ${deployment.target}: nothing answers there`,
      "let the server listen beyond loopback, and write the address of its machine in the network",
    );
  }
  return found;
}
