/**
 * What checks read: the machine, the files, the node, the database. Each is read once, when the first check
 * needs it, and nothing is changed. What is not there is Unavailable, so that a check need not care why.
 */

import type { Health, SessionRecord } from "../../../runtime/client/index.ts";
import type { Config } from "../../../runtime/config/index.ts";
import type { Redactor } from "../../../runtime/config/redact.ts";
import type { Environment } from "../../../runtime/config/references.ts";
import type { Fleet } from "../../mesh/fleet.ts";
import { Unavailable } from "../unavailable.ts";
import { type AudioServer, askAudioServers } from "./audio-servers.ts";
import { type ConfigurationSnapshot, readConfiguration } from "./configuration.ts";
import { type DatabaseSnapshot, readDatabase } from "./database.ts";
import { readThroughNodes } from "./database-through-nodes.ts";
import type { DeploymentProbe } from "./deployment-probe.ts";
import type { Machine } from "./machine.ts";
import { askModelServers, type ModelServer } from "./model-servers.ts";
import {
  type MemoryStats,
  type NodeSnapshot,
  readLastMessage,
  readNode,
  readNodesFleet,
  readSessions,
  readStats,
  readTarget,
} from "./node.ts";
import type { DeploymentPaths } from "./paths.ts";
import { createContextRedactor } from "./redactor.ts";
import { environmentOf, readSecrets, type SecretsSnapshot } from "./secrets-file.ts";
import { usedProviders } from "./used-providers.ts";

export interface ProbeContextInput {
  readonly paths: DeploymentPaths;
  readonly machine: Machine;
  readonly probe: DeploymentProbe;
  readonly processEnv: Environment;
  /** Root of this program's package, and its version. */
  readonly root: string;
  readonly version: string;
  /** Ids that were asked for by name. */
  readonly requested: ReadonlySet<string>;
  /** Milliseconds of one probe; less than a check has, so that the report has the reason and not the deadline. */
  readonly probeMs: number;
  /** Aborts when doctor ends: no probe outlives it. */
  readonly signal: AbortSignal;
}

export interface ProbeContext extends Omit<ProbeContextInput, "signal"> {
  secretsFile(): Promise<SecretsSnapshot>;
  /** `.env`, as far as it can be used, and the process's environment over it. */
  environment(): Promise<Environment>;
  configuration(): Promise<ConfigurationSnapshot>;
  /** Unavailable when there is none or it is not valid. */
  config(): Promise<Config>;
  /** Absolute; Unavailable when this user has no home directory. */
  home(): string;
  /** The target that has the nodes, or is to have them; null where they run on this machine. */
  target(): Promise<string | null>;
  node(): Promise<NodeSnapshot>;
  /** What a node reports; Unavailable when none answers. */
  health(): Promise<Health>;
  stats(): Promise<MemoryStats>;
  /** Time of the newest message; null when there is none. */
  lastMessage(): Promise<Date | null>;
  /** The fleet, as the node that answers sees it. Unavailable when none answers. */
  fleet(): Promise<Fleet>;
  /** Those of agents that were written to last, at most a thousand. */
  sessions(): Promise<readonly SessionRecord[]>;
  database(): Promise<DatabaseSnapshot>;
  /** Every provider, asked for its models. */
  modelServers(): Promise<readonly ModelServer[]>;
  /** Of the channels that listen and speak. */
  audioServers(): Promise<readonly AudioServer[]>;
  /** Redacts every secret that was read so far. */
  redactor(): Promise<Redactor>;
}

export function createProbeContext({ signal, ...input }: ProbeContextInput): ProbeContext {
  const { paths, processEnv, probeMs } = input;
  // One deadline for all: a probe that waits for another one would else be done after the checks that need it.
  let deadline: AbortSignal | undefined;
  const until = (): AbortSignal => {
    deadline ??= AbortSignal.any([signal, AbortSignal.timeout(probeMs)]);
    return deadline;
  };

  const secretsFile = once(() => readSecrets(paths.dir));
  const environment = once(async () => environmentOf(await secretsFile(), processEnv));
  const configuration = once(async () => readConfiguration(paths, await environment()));
  const target = once(async () => readTarget(paths, await configuration()));
  const node = once(async () =>
    readNode(paths, await configuration(), await environment(), { probeMs, signal: until(), ended: signal }),
  );
  const stats = once(async () => readStats(await node(), { probeMs, signal: until() }));
  const sessions = once(async () => readSessions(await node(), { probeMs, signal: until() }));
  const fleet = once(async () => readNodesFleet(await node(), { probeMs, signal: until() }));
  const lastMessage = once(async () => readLastMessage(await node(), { probeMs, signal: until() }));

  const context: ProbeContext = {
    ...input,
    secretsFile,
    environment,
    configuration,
    target,
    node,
    stats,
    sessions,
    fleet,
    lastMessage,
    async config() {
      const snapshot = await configuration();
      if (snapshot.state !== "valid") {
        const [sentence, see] = NO_CONFIGURATION[snapshot.state];
        throw new Unavailable(sentence, [see]);
      }
      return snapshot.config;
    },
    home() {
      if (paths.home === null) throw new Unavailable("This user has no home directory.", ["system.home"]);
      return paths.home;
    },
    async health() {
      const snapshot = await node();
      if (snapshot.health === null) throw new Unavailable(snapshot.reason, ["deployment.node"]);
      return snapshot.health;
    },
    database: once(async () => {
      const config = await context.config();
      if ((await context.target()) === null) return readDatabase(config, { probeMs, signal: until() });
      return readThroughNodes(config, await context.node());
    }),
    modelServers: once(async () => askModelServers(usedProviders(await context.config()), until())),
    audioServers: once(async () => askAudioServers(await context.config(), until())),
    redactor: async () => createContextRedactor(processEnv, await secretsFile(), await configuration()),
  };
  return context;
}

const NO_CONFIGURATION = {
  missing: ["There is no configuration.", "config.present"],
  unreadable: ["The configuration cannot be read.", "config.present"],
  broken: ["The configuration is no YAML.", "config.syntax"],
  newer: ["The configuration is of a newer version.", "config.version"],
  invalid: ["The configuration is not valid.", "config.valid"],
} as const;

/** One promise, shared by all callers. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined;
  return () => {
    promise ??= work();
    return promise;
  };
}
