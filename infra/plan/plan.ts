/**
 * From a configuration to a deployment plan: what a target is to create, as data without a secret. Pure: the same input gives
 * the same plan on every machine, and a node that is added at the end changes nothing in the plans of the others.
 */
import { type Config, parseListen } from "../../runtime/config/index.ts";
import { API_TOKEN_VARIABLE } from "../../runtime/config/secrets-file.ts";
import type { TreeMap } from "../../runtime/config/tree.ts";
import { InfraError, type Issue } from "../../runtime/contracts/errors.ts";
import { nodeAddresses } from "./addresses.ts";
import { checkMemory, checkNames, stopTimeout, warnOfLoopback } from "./checks.ts";
import { planDocker } from "./docker.ts";
import { planKubernetes } from "./kubernetes.ts";
import { configuredNodes, type NodeBase, type NodeSettings, writtenListen } from "./node.ts";
import { CERTIFICATE, commonTree, renderConfiguration } from "./node-configuration.ts";
import { nodeVariables } from "./node-secrets.ts";
import { createProblems, type Problems } from "./problems.ts";
import { planProxmox } from "./proxmox.ts";
import type { TargetContext } from "./target-context.ts";
import {
  CONTAINER,
  type DeploymentPlan,
  type ImageIdentity,
  type PlannedFile,
  type PostgresPlan,
  type Release,
} from "./types.ts";
import { type SeedFile, workspaceRoots } from "./workspaces.ts";

export interface PlanInput {
  /** As it was written, with nothing secret in it (`liftSecrets`), deployment.* included. */
  readonly tree: TreeMap;
  /** The same, resolved, with absolute paths. */
  readonly config: Config;
  /** Names of the variables that have a value. Their values are no business of a plan. */
  readonly variables: {
    /** In `.env`. */
    readonly inFile: readonly string[];
    /** Anywhere: `.env`, the environment of the process, secrets that were lifted. */
    readonly available: readonly string[];
  };
  /** Text of the certificate that `runtime.tls.cert` names; null where it names no file. */
  readonly certificate: string | null;
  /** Whether `runtime.tls.key` names a file, whose text is then known as TLS_KEY_VARIABLE. */
  readonly tlsKeyFile: boolean;
  readonly seeds: readonly SeedFile[];
  readonly release: Release;
  /** Version of the program that plans. */
  readonly version: string;
}

export interface Planned {
  readonly plan: DeploymentPlan;
  readonly warnings: readonly Issue[];
}

/** INFRA_PLAN_INVALID with everything that is wrong at once; INFRA_TARGET_MANUAL where there is nothing to plan. */
export function planDeployment(input: PlanInput): Planned {
  const { config } = input;
  const { target } = config.deployment;
  if (target === "manual") throw manual();
  const problems = createProblems();
  const context = commonPart(input, problems);
  const parts = { docker: planDocker, proxmox: planProxmox, kubernetes: planKubernetes };
  const plan = parts[target](context, problems);
  problems.throwIfAny();
  return { plan, warnings: problems.warnings };
}

function commonPart(input: PlanInput, problems: Problems): TargetContext {
  const { config, tree, version } = input;
  const { deployment } = config;
  const settings = configuredNodes(config, tree);
  const listenPort = writtenListen(config, tree).port;
  checkNames(config, settings, problems);
  checkMemory(config, tree, problems);
  warnOfLoopback(config, problems);
  return {
    config,
    machines: input.release.machines ?? {},
    listenPort,
    common: {
      schema: 1,
      stack: deployment.name,
      version,
      postgres: planPostgres(config),
      sharedStorage: deployment.datahub.shared_storage,
    },
    nodes: planNodes(input, settings, listenPort, problems),
  };
}

function planPostgres({ deployment: { datahub } }: Config): PostgresPlan | null {
  if (!datahub.postgres) return null;
  const address = datahub.publish === undefined ? null : parseListen(datahub.publish);
  return {
    image: datahub.image,
    limits: { memoryBytes: datahub.memory ?? null, cpus: datahub.cpus ?? null },
    publish: address && { address: address.host, port: address.port },
  };
}

function planNodes(
  input: PlanInput,
  settings: readonly NodeSettings[],
  listenPort: number,
  problems: Problems,
): TargetContext["nodes"] {
  const { tree, config, variables, release, certificate, tlsKeyFile } = input;
  const deployedDatabase = config.deployment.datahub.postgres;
  const tlsFiles = { cert: certificate !== null, key: tlsKeyFile };
  const common = commonTree({ tree, config, deployedDatabase, tlsFiles }, problems);
  const { names: secretVariables, unused } = nodeVariables({
    written: tree,
    node: common,
    shown: config.tools.shell.env,
    telemetry: config.telemetry.otlp,
    ...variables,
    deployedDatabase,
  });
  if (unused.length > 0) {
    problems.warn(".env", `stays on this machine, because nothing in cairn.yaml refers to it: ${unused.join(", ")}`);
  }
  if (!secretVariables.includes(API_TOKEN_VARIABLE)) {
    problems.refuse(
      API_TOKEN_VARIABLE,
      "is not set, and nodes refuse to serve without it: `cairn init` writes one into .env",
    );
  }
  const said = nodeAddresses({ config, tree, nodes: settings, listenPort }, problems);
  const stopTimeoutS = stopTimeout(config, problems);
  const tls = config.runtime.tls !== "off";
  return settings.map((node, index) => {
    const agents = agentsOf(config, node.name);
    const { name, advertise } = said[index] ?? { name: node.name, advertise: null };
    const base: NodeBase = {
      name: node.name,
      agents,
      image: imageOf(release, node.name),
      files: [
        file(`${CONTAINER.configuration}/cairn.yaml`, renderConfiguration(common, { name, advertise })),
        ...(certificate === null ? [] : [file(CERTIFICATE, certificate)]),
        ...seedFiles(input, agents),
      ],
      secretVariables,
      environment: environment(),
      stopTimeoutS,
      tls,
    };
    return { base, settings: node };
  });
}

/** A node may be called like a property that every object has: `constructor`. */
function imageOf({ nodes, built }: Release, node: string): ImageIdentity | null {
  return (Object.hasOwn(nodes, node) ? nodes[node] : undefined) ?? built;
}

/** Those that are bound to the node, and those that are bound to none: the holder of their lease runs them. */
function agentsOf(config: Config, node: string): string[] {
  return Object.entries(config.agents).flatMap(([name, agent]) =>
    agent.node === undefined || agent.node === node ? [name] : [],
  );
}

/** The shared workspace, and the workspaces of agents that may run there. */
function seedFiles({ config, seeds }: PlanInput, agents: readonly string[]): PlannedFile[] {
  const roots = workspaceRoots(config)
    .filter((root, index) => index === 0 || root.agents.some((agent) => agents.includes(agent)))
    .map(({ name }) => name);
  return seeds
    .filter(({ root }) => roots.includes(root))
    .map(({ root, path, content }) => file(`${CONTAINER.seed}/${root}/${path}`, content))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function environment(): Record<string, string> {
  return {
    SERVICE_CONTAINER: "1",
    SERVICE_HOME: CONTAINER.home,
    SERVICE_LISTEN: `0.0.0.0:${CONTAINER.port}`,
    SERVICE_WORKSPACE_ROOT: CONTAINER.workspaces,
    SERVICE_WORKSPACE_SEED: CONTAINER.seed,
  };
}

function file(path: string, content: string): PlannedFile {
  return { path, content };
}

function manual(): InfraError {
  return new InfraError(
    "INFRA_TARGET_MANUAL",
    "deployment.target is manual: there is no infrastructure to preview or change.",
    {
      hint: "Run the node on this machine with `cairn start --detach`, or as a systemd unit with `cairn service install`; for infrastructure, set deployment.target to docker, proxmox or kubernetes.",
    },
  );
}
