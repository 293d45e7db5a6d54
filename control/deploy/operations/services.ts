/** Ports of the operations: everything that reads, prompts, waits or runs something. `default-services.ts` has the real ones. */

import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import type { DeploymentPlan, ImageIdentity, Release, SecretValues } from "../../../infra/plan/types.ts";
import type { Client } from "../../../runtime/client/index.ts";
import type { Issue } from "../../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../driver.ts";
import type { Engine } from "../engine/engine.ts";
import type { InfraFiles } from "../files.ts";
import type { DatabaseSettings } from "../node-settings.ts";
import type { Diff, InfraEvent, ShownDiff } from "../schemas.ts";
import type { Identity } from "../state/operator-lock.ts";
import type { RunLog } from "../state/run-log.ts";

/** A deployment directory as it was read; see infra/project.ts. */
export interface ReadProject {
  readonly dir: string;
  readonly plan: DeploymentPlan;
  readonly secrets: SecretValues;
  /** SHA-256 fingerprint of the certificate that nodes are given; null without TLS, and where each makes its own. */
  readonly certificate: string | null;
  readonly warnings: readonly Issue[];
  readonly redactValues: readonly string[];
}

export interface EngineRequest {
  readonly files: InfraFiles;
  readonly stack: string;
  readonly target: string;
  readonly backend: string;
  readonly secrets: readonly string[];
  readonly report: (text: string) => void;
  readonly log: RunLog;
  /** Ends what the engine does at once. */
  readonly killSignal: AbortSignal;
}

export interface Services {
  readProject(dir: string, signal: AbortSignal): Promise<ReadProject>;
  createDriver(project: ReadProject): Promise<TargetDriver>;
  createProgram(project: ReadProject, options: { readonly adopt: ReadonlySet<string> }): Promise<PulumiFn>;
  openEngine(request: EngineRequest): Promise<Engine>;
  readonly release: {
    read(dir: string): Promise<Release>;
    write(dir: string, release: Release): Promise<void>;
  };
  readonly images: {
    /** Builds or pulls the image that the configuration asks for, and records it as `built` in release.json. */
    provide(project: ReadProject, report: (text: string) => void, signal: AbortSignal): Promise<ImageIdentity>;
    /** The image that a name on the command line means. INFRA_IMAGE_MISSING. */
    resolve(reference: string, project: ReadProject, signal: AbortSignal): Promise<ImageIdentity>;
    /** What machines it is for, as Docker names them (`amd64`); null where nobody can say. */
    architectures(image: ImageIdentity, project: ReadProject, signal: AbortSignal): Promise<readonly string[] | null>;
  };
  /** Writes infra/ where it is not there, or not of this version. */
  render(dir: string, options: RenderRequest): Promise<Rendered>;
  /** Writes the memory of a deployed stack into a file; returns its path. */
  backup(dir: string, project: ReadProject, driver: TargetDriver, signal: AbortSignal): Promise<string>;
  readonly nodes: NodeAccess;
  /** Edits of cairn.yaml; comments and everything else stay. Errors of `editConfiguration`. */
  readonly configuration: {
    /** What the node's place in the list decides for others is written out. */
    removeNode(name: string): Promise<void>;
    /** With the agents that are bound to it. */
    renameNode(from: string, to: string): Promise<void>;
    setDatabase(to: DatabaseSettings): Promise<void>;
  };
  readonly prompts: Prompts | null;
  now(): Date;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  identity(): Promise<Identity>;
}

/** A node of the stack, and the way to it. */
export interface NodeAddress {
  readonly project: ReadProject;
  readonly driver: TargetDriver;
  readonly node: string;
  /** The pod that is meant, where the node is several. */
  readonly member?: string;
}

/** What a rollout asks of nodes that run. */
export interface NodeAccess {
  /** A client of the node, for as long as `work` takes. */
  call<T>(address: NodeAddress, signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T>;
  /** RUNTIME_START_FAILED that says what is missing: its version, readiness, or a step of the quick self-test. */
  gate(address: NodeAddress, signal: AbortSignal): Promise<void>;
  /** Lets active turns end, and refuses messages until it is resumed; it goes on by itself after `seconds`. */
  pause(address: NodeAddress, seconds: number, signal: AbortSignal): Promise<void>;
  resume(address: NodeAddress, signal: AbortSignal): Promise<void>;
}

export interface RenderRequest {
  readonly stack: string;
  /** URL of a Pulumi backend; the folder `infra/state` when absent. */
  readonly backend: string | undefined;
  /** Write over what was changed by hand. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

export interface Rendered {
  readonly directory: string;
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  readonly kept: readonly string[];
}

/** Prompts a person. Null in Services without a terminal. */
export interface Prompts {
  /** Shows what would change and asks whether to go on. */
  confirm(question: string, diff: Diff | ShownDiff, signal: AbortSignal): Promise<boolean>;
  adopt(names: readonly string[], signal: AbortSignal): Promise<boolean>;
  /** The name as it was typed. */
  typeName(question: string, signal: AbortSignal): Promise<string>;
}

/** What every operation is called with. */
export interface OperationInput {
  readonly dir: string;
  readonly backend?: string | undefined;
  readonly services: Services;
  readonly onEvent: (event: InfraEvent) => void;
  readonly signal: AbortSignal;
  readonly killSignal: AbortSignal;
}
