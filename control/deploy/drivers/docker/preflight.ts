/** What would make `up` fail halfway on a Docker host, found before anything is changed. */

import { statfs } from "node:fs/promises";
import process from "node:process";
import { LOCAL, parseDockerHost, type SshAddress } from "../../../../infra/components/docker/address.ts";
import type { DockerPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { isWildcard } from "../../../../runtime/contracts/urls.ts";
import { isOlder } from "../../../../runtime/contracts/versions.ts";
import { bytes } from "../../../output/words.ts";
import { isFreePort } from "../../../service/free-port.ts";
import type { Finding } from "../../driver.ts";
import { placeOf, placeOn } from "../../images/docker-cli.ts";
import type { FoundContainer } from "./host/found-container.ts";
import {
  currentEndpoint,
  engineRoot,
  engineVersion,
  findContainers,
  findNetworks,
  publishingContainers,
} from "./host/inventory.ts";
import { atPlace, containerNames, hostsOf, type PublishedPort, publishedPorts } from "./host/names.ts";
import { runRemote } from "./host/ssh.ts";

/** Of Docker 25: health checks with an interval of their own for the start. */
const LEAST_API = "1.44";
const GIB = 1024 ** 3;
/** Bytes: less is an error, or a warning. An image and a young database fit. */
const DISK_ERROR = GIB;
const DISK_WARNING = 5 * GIB;
/** Bytes: less than a database needs to go on. */
const DISK_FULL = 32 * 1024 ** 2;
/** The default of Docker's libraries. */
const DEFAULT_ENDPOINT = "unix:///var/run/docker.sock";

/** Hosts side by side; nothing throws but the signal. What stands under the names of `deployed` is no finding. */
export async function preflight(
  plan: DockerPlan,
  signal: AbortSignal,
  deployed: ReadonlySet<string> = new Set(),
): Promise<Finding[]> {
  const findings = await Promise.all(hostsOf(plan).map((place) => examineHost(plan, place, deployed, signal)));
  return findings.flat();
}

async function examineHost(
  plan: DockerPlan,
  place: string,
  deployed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    const ssh = parseDockerHost(place);
    // First: Docker's own words about a host that ssh refuses say little.
    if (ssh) await runRemote(ssh, ["true"], signal);
    const { api, os } = await engineVersion(place, signal);
    if (isOlder(api, LEAST_API)) findings.push(tooOld(place, api));
    if (os !== "linux") {
      findings.push(
        error("INFRA_PLAN_INVALID", `The Docker engine ${placeOf(place)} runs ${os} containers, not Linux.`),
      );
    }
    const rest = await Promise.all([
      ssh ? [] : examineContext(signal),
      examineNames(plan, place, deployed, signal),
      examinePorts(plan, place, ssh, deployed, signal),
      examineDisk(place, ssh, signal),
    ]);
    findings.push(...rest.flat());
  } catch (problem) {
    signal.throwIfAborted();
    if (!(problem instanceof InfraError)) throw problem;
    findings.push(error(problem.code, problem.message, problem.details.hint));
  }
  return findings;
}

/** The Pulumi provider does not know contexts: it must end up at the same engine as the command line. */
async function examineContext(signal: AbortSignal): Promise<Finding[]> {
  const endpoint = await currentEndpoint(signal);
  const provider = process.env.DOCKER_HOST || DEFAULT_ENDPOINT;
  if (endpoint === provider) return [];
  return [
    error(
      "INFRA_CONTEXT_UNKNOWN",
      `Docker's command line uses the engine at ${endpoint}, and a deployment would use ${provider}.`,
      `Run \`export DOCKER_HOST=${endpoint}\`, or switch with \`docker context use default\`.`,
    ),
  ];
}

async function examineNames(
  plan: DockerPlan,
  place: string,
  deployed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const names = atPlace(containerNames(plan), place).map(({ name }) => name);
  const [networks, containers] = await Promise.all([
    findNetworks([plan.network], place, signal),
    findContainers(names, place, signal),
  ]);
  const foreign = (kind: string, things: readonly { readonly name: string; readonly stack: string | null }[]) =>
    things
      .filter(({ name, stack }) => stack !== plan.stack && !deployed.has(name))
      .map(({ name, stack }) =>
        error(
          "INFRA_UP_REFUSED",
          `A ${kind} with the name ${name} is there already ${placeOn(place)}, ${stack === null ? "and this program did not make it" : `of the stack ${stack}`}.`,
          `Give this deployment another name, or remove it (\`docker ${kind} rm ${name}\`) if nothing needs it.`,
        ),
      );
  return [...foreign("network", networks), ...foreign("container", containers)];
}

async function examinePorts(
  plan: DockerPlan,
  place: string,
  ssh: SshAddress | null,
  deployed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const wanted = atPlace(publishedPorts(plan), place);
  if (wanted.length === 0) return [];
  const containers = await publishingContainers(place, signal);
  const remote = ssh ? await remoteListeners(ssh, signal) : null;
  const findings = wanted.map(async (port): Promise<Finding[]> => {
    const holder = containers.find((container) => publishes(container, port));
    if (holder?.stack === plan.stack || (holder && deployed.has(holder.name))) return [];
    if (holder) return [inUse(port, `the container ${holder.name}`)];
    const taken = remote
      ? remote.some((other) => collides(other, port))
      : !(await isFreePort({ host: port.address, port: port.port }));
    return taken ? [inUse(port, "another program")] : [];
  });
  return (await Promise.all(findings)).flat();
}

function publishes(container: FoundContainer, wanted: PublishedPort): boolean {
  // A container that is stopped does not hold its port, but would want it back.
  return container.ports.some((port) => collides(port, wanted));
}

interface Listener {
  readonly address: string;
  readonly port: number;
}

function collides(one: Listener, other: Listener): boolean {
  return one.port === other.port && (one.address === other.address || isAny(one.address) || isAny(other.address));
}

function isAny(address: string): boolean {
  return isWildcard(address) || address === "*";
}

/** Empty where the host has no `ss`. */
async function remoteListeners(ssh: SshAddress, signal: AbortSignal): Promise<Listener[]> {
  const { ok, stdout } = await runRemote(ssh, ["ss", "-Hltn"], signal);
  return ok ? parseListeners(stdout) : [];
}

/** Lines of `ss -Hltn`: state, two queue lengths, local address and port, peer. The one place that reads them. */
export function parseListeners(text: string): Listener[] {
  return text.split("\n").flatMap((line) => {
    const match = /^(.*):([0-9]+)$/.exec(line.trim().split(/\s+/)[3] ?? "");
    if (!match) return [];
    const address = (match[1] ?? "").replace(/%.*$/, "").replace(/^\[|\]$/g, "");
    return [{ address, port: Number(match[2]) }];
  });
}

async function freeAt(place: string, ssh: SshAddress | null, signal: AbortSignal): Promise<number | null> {
  const root = await engineRoot(place, signal);
  return ssh ? remoteFree(ssh, root, signal) : localFree(root);
}

/** One of these hosts, of which Docker's disk has no room for anything, as a sentence; null where each has some. */
export async function fullDisk(places: readonly string[], signal: AbortSignal): Promise<string | null> {
  for (const place of places) {
    const free = await freeAt(place, parseDockerHost(place), signal);
    if (free !== null && free < DISK_FULL) return `The disk of Docker ${placeOf(place)} is full.`;
  }
  return null;
}

async function examineDisk(place: string, ssh: SshAddress | null, signal: AbortSignal): Promise<Finding[]> {
  const free = await freeAt(place, ssh, signal);
  if (free === null || free >= DISK_WARNING) return [];
  const message = `The disk of Docker ${placeOf(place)} has ${bytes(free)} left.`;
  const hint =
    "`docker system df` shows what takes the room, `docker image prune` and `docker builder prune` free some.";
  return [{ severity: free < DISK_ERROR ? "error" : "warning", code: "INFRA_DISK_FULL", message, hint }];
}

/** Bytes; null where the engine's folder is not of this machine (Docker Desktop's is that of its virtual machine). */
async function localFree(root: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(root);
    return bavail * bsize;
  } catch {
    return null;
  }
}

async function remoteFree(ssh: SshAddress, root: string, signal: AbortSignal): Promise<number | null> {
  const { ok, stdout } = await runRemote(ssh, ["df", "-Pk", "--", root], signal);
  return ok ? parseFree(stdout) : null;
}

/** Second line of `df -Pk`: source, blocks, used, available, ... in KiB. The one place that reads it. */
export function parseFree(text: string): number | null {
  const available = text.trim().split("\n")[1]?.trim().split(/\s+/).at(-3);
  return available && /^[0-9]+$/.test(available) ? Number(available) * 1024 : null;
}

function tooOld(place: string, api: string): Finding {
  return error(
    "INFRA_TOOL_MISSING",
    `The Docker engine ${placeOf(place)} is too old: it has API ${api}, and ${LEAST_API} is needed.`,
    "Install Docker 25 or newer.",
  );
}

function inUse({ what, place, address, port }: PublishedPort, holder: string): Finding {
  return error(
    "INFRA_PORT_IN_USE",
    `Port ${port} for ${what} on ${address} ${placeOf(place)} is in use by ${holder}.`,
    `Choose another one${place === LOCAL ? ", or end what uses it" : ""}: \`port\` of the node under deployment.nodes, or deployment.datahub.publish.`,
  );
}

function error(code: string, message: string, hint?: string): Finding {
  return { severity: "error", code, message, ...(hint ? { hint } : {}) };
}
