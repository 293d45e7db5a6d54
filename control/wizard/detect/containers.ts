/** Addresses at which containers may reach this machine, and which of its model servers on loopback listen there, too. */
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import type { Environment } from "../../../runtime/config/index.ts";
import { isLoopback } from "../../../runtime/config/listen.ts";
import { askTool } from "./tool.ts";

export interface OwnAddresses {
  /** Gateway of Docker's bridge, which containers of this machine reach; null where there is none. */
  readonly docker: string | null;
  /** In the network, for containers of other machines; null where it has none. */
  readonly network: string | null;
  /** `host:port` of model servers that are found on loopback and accept connections there, too. */
  readonly listening: readonly string[];
}

export interface OwnAddressesOptions {
  readonly env: Environment;
  /** Whether Docker's service answers. */
  readonly docker: boolean;
  /** Addresses of the model servers that were found. */
  readonly servers: readonly string[];
  /** Milliseconds for Docker, and for each connection. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** Interfaces that containers and virtual machines of this machine hang on. */
const VIRTUAL = /^(?:docker|br-|veth|virbr|lxc|cni|flannel)/;

/** Never rejects. */
export async function detectOwnAddresses(options: OwnAddressesOptions): Promise<OwnAddresses> {
  const { timeoutMs } = options;
  const servers = options.servers.filter(leadsToLoopback);
  const docker = options.docker && servers.length > 0 ? await bridgeGateway(options).catch(() => null) : null;
  const network = networkAddress();
  const wanted = servers.flatMap((url) =>
    [docker, network].filter((host) => host !== null).map((host) => ({ host, port: portOf(url) })),
  );
  const answers = await Promise.all(
    wanted.map(async ({ host, port }) => ((await accepts(host, port, timeoutMs)) ? [`${host}:${port}`] : [])),
  );
  return { docker, network, listening: [...new Set(answers.flat())] };
}

async function bridgeGateway({ env, timeoutMs, signal }: OwnAddressesOptions): Promise<string | null> {
  const args = ["network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}"];
  const answer = await askTool({ program: "docker", args, env, timeoutMs, signal });
  const gateway = answer?.ok ? answer.stdout.trim() : "";
  return IPV4.test(gateway) ? gateway : null;
}

function networkAddress(): string | null {
  const found = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    VIRTUAL.test(name) ? [] : addresses.filter(({ family, internal }) => family === "IPv4" && !internal),
  );
  return found[0]?.address ?? null;
}

/** Whether something takes a connection there. Never rejects. */
export function accepts(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}

export function leadsToLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname;
  return host !== undefined && isLoopback(host);
}

export function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
