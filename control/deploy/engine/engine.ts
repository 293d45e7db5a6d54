/** One stack of the Pulumi engine: what can be done with it. Operations see this interface, tests may fake it. */

import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import type { Diff } from "../schemas.ts";
import type { ExportedState } from "./checkpoint.ts";
import type { EngineNote } from "./notes.ts";

export interface RunInput {
  readonly onNote: (note: EngineNote) => void;
  /** Stops it once its current steps are done: the promise rejects with INFRA_INTERRUPTED. */
  readonly signal: AbortSignal;
}

export interface ProgramRun extends RunInput {
  readonly program: PulumiFn;
  /** URNs; all resources when absent. */
  readonly targets?: readonly string[] | undefined;
  /** URNs of resources that are made anew although nothing of theirs has changed. */
  readonly replace?: readonly string[];
  /** Asks the target for every resource first. */
  readonly refresh?: boolean;
  /** Is told of components that are new. A run for one node has to name those, too, though nothing of them is on a target. */
  readonly onComponent?: ((urn: string) => void) | undefined;
}

export interface PreviewRun extends ProgramRun {
  /** Compares with this state instead of the recorded one, which stays as it is. */
  readonly assuming?: ExportedState;
}

export interface Applied {
  readonly diff: Diff;
  readonly outputs: unknown;
}

/** A lock of the engine's own, in a backend that is a folder. */
export interface EngineLock {
  readonly stack: string;
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: string;
  readonly file: string;
}

/** A secret of the stack's configuration, made here once. */
export interface StackSecret {
  readonly key: string;
  /** For one that ends: the key beside it that holds the date of its renewal, YYYY-MM-DD, and the date of today. */
  readonly renewal?: { readonly key: string; readonly today: string };
  /** `read` gives the value of a secret that was made before this one. */
  make(read: (key: string) => Promise<string>): Promise<{ readonly value: string; readonly renewAt?: string }>;
}

/** Methods reject with InfraError; a CairnError that the program threw comes through as it is. */
export interface Engine {
  readonly stack: string;
  readonly backend: string;
  /** Shows what `up` would change. */
  preview(run: PreviewRun): Promise<Diff>;
  up(run: ProgramRun): Promise<Applied>;
  /** What `destroy` would remove; protected resources stay. */
  previewDestroy(run: RunInput): Promise<Diff>;
  /** With `targets` these alone, whose dependents have to be among them. */
  destroy(run: RunInput & { readonly targets?: readonly string[] }): Promise<Diff>;
  /** Records these resources as they are there. */
  refresh(run: RunInput & { readonly targets: readonly string[] }): Promise<void>;
  /** Null when there is no such stack yet. INFRA_STATE_UNREADABLE when it cannot be read. */
  state(): Promise<ExportedState | null>;
  replaceState(state: ExportedState): Promise<void>;
  /** Puts a state in the place of one that cannot be read, which is kept beside it. Folder backends alone. */
  restoreState(state: ExportedState): Promise<void>;
  /** Empty where the backend is no folder: there the engine itself says so when it is used. */
  locks(): Promise<readonly EngineLock[]>;
  /** Removes files among the locks that are none, such as those of a disk that was full. Empty where the backend is no folder. */
  removeBrokenLocks(): Promise<readonly string[]>;
  /** Removes the engine's locks. */
  cancel(): Promise<void>;
  /** Removes a stack without resources, its history and its configuration. */
  remove(): Promise<void>;
  /** Makes the stack if it is not there, and the secrets of its configuration that are not there or are to be renewed. */
  prepare(secrets: readonly StackSecret[]): Promise<void>;
}
