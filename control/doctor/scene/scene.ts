/**
 * What checks look at: the machine, the files, the node, the database. Each thing is looked at once, when the first check
 * asks, and changes nothing. What is not there is Unavailable, so that a check need not care why.
 */

import type { Health } from "../../../runtime/client/index.ts";
import type { Config } from "../../../runtime/config/index.ts";
import type { Redactor } from "../../../runtime/config/redact.ts";
import type { Environment } from "../../../runtime/config/references.ts";
import { Unavailable } from "../unavailable.ts";
import { type ConfigurationLook, lookAtConfiguration } from "./configuration.ts";
import { type DatabaseLook, lookAtDatabase } from "./database.ts";
import type { DeploymentProbe } from "./deployment-probe.ts";
import type { Machine } from "./machine.ts";
import { lookAtNode, type MemoryStats, type NodeLook, readLastMessage, readStats } from "./node.ts";
import type { Place } from "./place.ts";
import { createSceneRedactor } from "./redactor.ts";
import { environmentOf, lookAtSecrets, type SecretsLook } from "./secrets-file.ts";

export interface SceneInput {
  readonly place: Place;
  readonly machine: Machine;
  readonly probe: DeploymentProbe;
  readonly processEnv: Environment;
  /** Root of this program's package, and its version. */
  readonly root: string;
  readonly version: string;
  /** Ids that were asked for by name. */
  readonly requested: ReadonlySet<string>;
  /** Milliseconds for looking at one thing; less than a check has, so that the reason is told and not the deadline. */
  readonly lookMs: number;
  /** Aborts when doctor ends: nothing that is looked at outlives it. */
  readonly signal: AbortSignal;
}

export interface Scene extends Omit<SceneInput, "signal"> {
  secretsFile(): Promise<SecretsLook>;
  /** `.env`, as far as it can be used, and the process's environment over it. */
  environment(): Promise<Environment>;
  configuration(): Promise<ConfigurationLook>;
  /** Unavailable when there is none or it is not valid. */
  config(): Promise<Config>;
  /** Absolute; Unavailable when this user has no home directory. */
  home(): string;
  node(): Promise<NodeLook>;
  /** What a node says of itself; Unavailable when none answers. */
  health(): Promise<Health>;
  stats(): Promise<MemoryStats>;
  /** Time of the newest message; null when there is none. */
  lastMessage(): Promise<Date | null>;
  database(): Promise<DatabaseLook>;
  /** Takes every secret that is known of by now out of a text. */
  redactor(): Promise<Redactor>;
}

export function createScene({ signal, ...input }: SceneInput): Scene {
  const { place, processEnv, lookMs } = input;
  const until = (): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(lookMs)]);

  const secretsFile = once(() => lookAtSecrets(place.dir));
  const environment = once(async () => environmentOf(await secretsFile(), processEnv));
  const configuration = once(async () => lookAtConfiguration(place, await environment()));
  const node = once(async () =>
    lookAtNode(place, await configuration(), await environment(), { lookMs, signal: until(), ended: signal }),
  );
  const stats = once(async () => readStats(await node(), { lookMs, signal: until() }));
  const lastMessage = once(async () => readLastMessage(await node(), { lookMs, signal: until() }));

  const scene: Scene = {
    ...input,
    secretsFile,
    environment,
    configuration,
    node,
    stats,
    lastMessage,
    async config() {
      const look = await configuration();
      if (look.state !== "valid") throw new Unavailable(NO_CONFIGURATION[look.state]);
      return look.config;
    },
    home() {
      if (place.home === null) throw new Unavailable("This user has no home directory (see system.home).");
      return place.home;
    },
    async health() {
      const look = await node();
      if (look.health === null) throw new Unavailable(`${look.reason} (see deployment.node).`);
      return look.health;
    },
    database: once(async () => lookAtDatabase(await scene.config(), { lookMs, signal: until() })),
    redactor: async () => createSceneRedactor(processEnv, await secretsFile(), await configuration()),
  };
  return scene;
}

const NO_CONFIGURATION = {
  missing: "There is no configuration (see config.present).",
  unreadable: "The configuration cannot be read (see config.present).",
  broken: "The configuration is no YAML (see config.syntax).",
  newer: "The configuration is of a newer version (see config.version).",
  invalid: "The configuration is not valid (see config.valid).",
} as const;

/** The work's promise, the same for everybody who asks. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined;
  return () => {
    promise ??= work();
    return promise;
  };
}
