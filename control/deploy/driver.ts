/**
 * What the commands need of a target outside the resource graph: is it reachable, what runs on it, how is an image brought
 * to it, how is a node reached. One implementation a target under `drivers/`.
 */

import type { ImageIdentity } from "../../infra/plan/types.ts";
import type { FencingToken } from "../rollout/contracts.ts";
import type { RecordedResource } from "./engine/checkpoint.ts";
import type { Inspection, ObservedNode, Report } from "./inspection.ts";
import type { DatabaseSettings } from "./node-settings.ts";

/** One thing that is wrong before anything was changed. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** One of the INFRA_ error codes. */
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** Data that exists on the target under a name of the plan. */
export interface ExistingData {
  /** The volume's or claim's own name. */
  readonly name: string;
  readonly place: string;
  /** Stack that made it, as its labels say; null when nothing does. */
  readonly stack: string | null;
  /** What runs on it now, as the target names it; absent where nothing does, or where that cannot be determined. */
  readonly usedBy?: readonly string[];
}

/** Data of the stack that none of its parts uses any more. */
export interface FormerData extends ExistingData {
  /** A command of the operator's that removes them for good. */
  readonly removal: string;
}

/** A way to a node's HTTP interface that lasts until it is closed. */
export interface NodeConnection {
  readonly url: string;
  close(): Promise<void>;
}

/** A part of the stack that a person looks into. `name`: of a node, or of one of its pods. */
export type StackPart = { readonly kind: "node"; readonly name: string } | { readonly kind: "postgres" };

/** A moment before now, by the clock of what wrote the log: the operator's own may be an hour off. */
export interface Ago {
  readonly agoSeconds: number;
}

export type PartAction =
  | {
      /** What the part has written to its standard streams. */
      readonly kind: "logs";
      /** The newest so many; null: all that the target has kept. */
      readonly lines: number | null;
      readonly follow: boolean;
      readonly since: Date | Ago | null;
    }
  | {
      /** A command beside the part's own program, with its user and its environment. */
      readonly kind: "exec";
      readonly argv: readonly string[];
      /** Whether standard input and output are a terminal. */
      readonly terminal: boolean;
    };

/** A program of this machine with its arguments. It is to get the standard streams of the command that it serves. */
export interface PartCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** After it has failed: resolves where what it leads to answers. INFRA_HOST_UNREACHABLE, INFRA_HOST_KEY_MISMATCH. */
  answers?(signal: AbortSignal): Promise<void>;
  /** After it has ended: removes what it needed. */
  close(): Promise<void>;
}

/**
 * Two servers of PostgreSQL: the stack's own, and a second one of another major beside it, which no node reaches. Errors as of the
 * target's tools.
 */
export interface DatabaseServers {
  /**
   * What says in cairn.yaml where data lie. `data`, here and below: a name as of `databaseData` (infra/plan/names.ts), which the state
   * and `existingData` know them by, too.
   */
  setting(data: string): DatabaseSettings["data"];
  /** Image of the stack's own server as it was applied last, as cairn.yaml named it; null where none was. */
  image(recorded: readonly RecordedResource[], signal: AbortSignal): Promise<string | null>;
  /** Brings an image to where `majors` asks it. Nothing where nothing can run there yet. */
  bring(image: string, report: Report, signal: AbortSignal): Promise<void>;
  /** Major of the server in an image, and of the stack's data; null: there are none. Null where the image cannot be asked. */
  majors(image: string, signal: AbortSignal): Promise<{ readonly server: number; readonly data: number | null } | null>;
  /** Whether something has the name of these data. */
  exists(data: string, signal: AbortSignal): Promise<boolean>;
  /** Bytes of the stack's data, and what their disk has free. `remedy`: what the operator makes more room with. */
  room(signal: AbortSignal): Promise<Room>;
  /** With the settings and limits of the stack's own server, on new data. Resolves when it answers. */
  startSecond(image: string, data: string, signal: AbortSignal): Promise<void>;
  /** Ends the connections of nodes and lets none in until it is opened, this process ends, or the server is started anew. */
  closeToNodes(signal: AbortSignal): Promise<ClosedDatabase>;
  /** Copies the database into the second server. `from`: major of the data. */
  copy(from: number, signal: AbortSignal): Promise<void>;
  /** A line for each relation, trigger, routine and extension, and for each table its rows: equal where what they have is equal. */
  contents(server: "own" | "second", signal: AbortSignal): Promise<readonly string[]>;
  /** The stack's own server, which stays stopped. */
  stop(signal: AbortSignal): Promise<void>;
  /** The stack's own server, where it is stopped, and opens it to nodes. Nothing where it is gone. */
  start(signal: AbortSignal): Promise<void>;
  /** The second server ends, and its data lie where the stack's own server finds them by their name. Repeatable. */
  handOver(data: string, signal: AbortSignal): Promise<void>;
  /** The second server and its data. Nothing where there is none. */
  removeSecond(data: string, signal: AbortSignal): Promise<void>;
  /** A command of the operator's that removes data for good. */
  removal(data: string): string;
}

export interface Room {
  readonly used: number;
  readonly free: number;
  /** A sentence; when absent the disk is the host's. */
  readonly remedy?: string;
}

export interface ClosedDatabase {
  /** Whether nodes are still kept out. */
  closed(): boolean;
  open(): Promise<void>;
}

/** A rollout's command for one pod. */
export interface PodChange {
  /** Mark of the image that was applied: digest, id or reference, whichever comes first. */
  readonly image: string;
  /** The pod's fence has to have it. */
  readonly token: FencingToken;
  readonly report: Report;
}

/** Pods of workloads that the graph changes without touching them. Names as of `pods`; a node's own where it is one. */
export interface PodRollout {
  /** Of a node, in the order in which the target lets them change. */
  order(node: string): readonly string[];
  /** As `observe`, of one pod. INFRA_HOST_UNREACHABLE. */
  observe(name: string, signal: AbortSignal): Promise<ObservedNode>;
  /** After the graph was applied: pods that do not have it and that the target would change before this one, in its order. */
  before(name: string, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * The pod takes what was applied, and none below it does. Resolves when it is ready with it. Repeatable. INFRA_LOCKED where a newer
   * token stands there, or another image was applied; INFRA_FAILED names what is not ready, and why.
   */
  change(name: string, change: PodChange, signal: AbortSignal): Promise<void>;
}

export interface NamedResource {
  readonly type: string;
  readonly name: string;
}

export interface TargetDriver {
  /**
   * Looks and changes nothing: tools, hosts, keys, contexts, ports, disk. `deployed` are names of what the state records: what
   * stands under them is for `inspect`.
   */
  preflight(signal: AbortSignal, deployed?: ReadonlySet<string>): Promise<readonly Finding[]>;
  /**
   * Resolves when the target answers; INFRA_HOST_UNREACHABLE otherwise. Where the engine's provider itself would wait for a target that
   * fell silent without an end; absent where it would not.
   */
  answers?(signal: AbortSignal): Promise<void>;
  /** That the disk of one of these places has no room at all, as a sentence; null where each has some. Absent where the target has no such disk. */
  fullDisk?(places: readonly string[], signal: AbortSignal): Promise<string | null>;
  /** Every place that images run on. */
  imagePlaces(): readonly string[];
  /** Memory of these places in bytes, where limits that nobody set come from the size of the machine. */
  machines?(places: readonly string[], signal: AbortSignal): Promise<Readonly<Record<string, number>>>;
  /** Of the machines that may run this node, as Docker names them (`amd64`), sorted; empty where the target does not say. */
  architectures(node: string, signal: AbortSignal): Promise<readonly string[]>;
  hasImage(image: ImageIdentity | string, place: string, signal: AbortSignal): Promise<boolean>;
  /** Brings an image from this machine's engine, or lets the place pull it; INFRA_IMAGE_MISSING when neither works. */
  deliverImage(image: ImageIdentity | string, place: string, report: Report, signal: AbortSignal): Promise<void>;
  /** After preflight, before the graph is applied: makes what is no resource of it, such as a namespace. Repeatable. */
  prepare?(report: Report, signal: AbortSignal): Promise<void>;
  /**
   * After the graph was applied, where the target's resources do not wait for themselves: brings what runs to what was
   * applied, one node after the other, and returns when all of it is ready; INFRA_FAILED names what is not, and why. Where
   * images wait for a run of their own, `released` are the nodes that get theirs now. `nodes`: those that count besides the
   * database; all when absent.
   */
  reconcile?(
    report: Report,
    signal: AbortSignal,
    released?: ReadonlySet<string>,
    nodes?: readonly string[],
  ): Promise<void>;
  /** Nodes that were given another image and run the former one still, until a run for them releases it. */
  outdated?(signal: AbortSignal): Promise<readonly string[]>;
  /** Data under the plan's names, also what another stack made. */
  existingData(signal: AbortSignal): Promise<readonly ExistingData[]>;
  /** What upgrades of PostgreSQL have left. A place that does not answer has none. Absent where the plan has no PostgreSQL. */
  formerData?(signal: AbortSignal): Promise<readonly FormerData[]>;
  observe(signal: AbortSignal): Promise<readonly ObservedNode[]>;
  /** Every part of the stack, and what differs from these resources of the state. A place that does not answer is `unknown`. */
  inspect(recorded: readonly RecordedResource[], signal: AbortSignal): Promise<Inspection>;
  /** Whether the engine's provider reads everything that it makes: its own refresh then finds every changed setting. */
  readonly readsSettings: boolean;
  /**
   * Provider's id of a resource whose creation was interrupted, if it exists on the target (`type` is the Pulumi type,
   * `name` the resource's own name there); null when it does not.
   */
  findInterrupted(type: string, name: string, signal: AbortSignal): Promise<string | null>;
  /**
   * Stops and removes everything of the stack that runs or that can be made anew, whether or not the state knows of it; data
   * and what another stack made stay. Names of what was removed.
   */
  removeWorkloads(report: Report, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * After an older copy of the state was put back, or the target went away before it answered: removes what stands there unrecorded and
   * has no data, of which the engine could make no second one. Absent where it can. `asked`: of these alone, by Pulumi type and own
   * name; resolves with those of them that may have data.
   */
  removeUnrecorded?(
    recorded: readonly RecordedResource[],
    report: Report,
    signal: AbortSignal,
    asked?: readonly NamedResource[],
  ): Promise<readonly NamedResource[]>;
  /** Removes data volumes for good. Called after the backup and the typed name alone. */
  deleteData(names: readonly ExistingData[], signal: AbortSignal): Promise<void>;
  /** Writes the data into a new file, a tar archive with gzip; nothing may be at work on them. */
  archiveData(data: readonly ExistingData[], file: string, report: Report, signal: AbortSignal): Promise<void>;
  /** Another volume of the same place, made where it is missing, gets the content of this one and no other. */
  copyData(from: ExistingData, to: string, node: string, signal: AbortSignal): Promise<void>;
  /**
   * On the node's host, in one command under a lock there: refuses a token that is older than the newest that was seen (INFRA_LOCKED),
   * keeps this one, and stops the node where that is asked. Nothing to stop where nothing runs, and where `podRollout` does it.
   * `name`: of a node, or of one of its pods.
   */
  fence(
    name: string,
    command: { readonly token: FencingToken; readonly stop: boolean },
    signal: AbortSignal,
  ): Promise<void>;
  /** Removes what `fence` has kept on the node's host. Absent where it goes with the node's own resources. */
  forgetFence?(node: string, signal: AbortSignal): Promise<void>;
  /** Absent where changing a node's resources changes the node. */
  readonly podRollout?: PodRollout;
  /** Absent where the plan has no PostgreSQL. */
  readonly database?: DatabaseServers;
  /** Names of the equal pods that a node consists of, each with files of its own; absent, or empty, where it is one. */
  pods?(node: string): readonly string[];
  /** `name`: of a node, or of one of its pods. */
  connect(name: string, signal: AbortSignal): Promise<NodeConnection>;
  /** How to read a part's log, or to run a command in it. INFRA_PLAN_INVALID for a part that the plan has not. */
  enter(part: StackPart, action: PartAction, signal: AbortSignal): Promise<PartCommand>;
}
