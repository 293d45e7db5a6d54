/** Ports of a rollout of many nodes: what it is driven with, and what each of these has to promise. Types only. */

import type { Clock } from "../../runtime/contracts/ports.ts";
import type { FleetStep, OnFailure, Outcome } from "./fleet-steps.ts";
import type { StepRecord } from "./steps.ts";

/** Durations are measured with `monotonic` alone: what two machines call now may be minutes apart. */
export interface RolloutClock extends Clock {
  /** Milliseconds. Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Goes with every command. Both numbers only grow: `lease` from holder to holder, `command` with each of one holder. */
export interface FencingToken {
  /** Of the fleet's database: numbers of another one, such as a former one of the same stack, say nothing here. */
  readonly fleet: string;
  readonly lease: number;
  readonly command: number;
}

export interface LeaseGrant {
  readonly fleet: string;
  /** Higher than that of every grant before it. */
  readonly number: number;
  /** Milliseconds for which it is held after each renewal. */
  readonly ttlMs: number;
}

/** The right to change a fleet, held by one command line at a time. Kept where the journal is. */
export interface FleetLease {
  /** INFRA_LOCKED, naming the holder. */
  acquire(holder: string, signal: AbortSignal): Promise<LeaseGrant>;
  /** INFRA_LOCKED: it has expired, or is another's. Every other error says nothing about the lease. */
  renew(number: number, signal: AbortSignal): Promise<void>;
  /** Also after an interruption, so that it does not wait long: what is not released expires. */
  release(number: number): Promise<void>;
}

/** A rollout as its journal has it. */
export interface RolloutEntry {
  readonly id: string;
  /** Who began it. */
  readonly holder: string;
  /** Identity of the image that all nodes are to get. */
  readonly to: string;
  /** What each node had; null: nothing, so that there is no way back. In the order in which they are changed. */
  readonly from: readonly { readonly node: string; readonly image: string | null }[];
  readonly onFailure: OnFailure;
  readonly maxUnavailable: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly steps: readonly StepRecord<FleetStep>[];
  /** Null: it is under way, or was interrupted and can be resumed. */
  readonly end: RolloutEnd | null;
}

export interface RolloutEnd {
  readonly outcome: Outcome;
  /** Nodes that have the new image. */
  readonly done: readonly string[];
  /** The first that failed. */
  readonly failed: string | null;
  readonly reason: string | null;
  /** Nodes that neither passed nor came back. */
  readonly stuck: readonly string[];
  /** Nodes that were not reached: either image may run there. */
  readonly unknown: readonly string[];
}

/**
 * Lives with the lease, in the fleet's database: a process that can take the lease can read it, so that another machine can resume. A
 * write is refused (INFRA_LOCKED) for every lease but the newest that was granted: what a new holder reads stays as it is.
 */
export interface RolloutJournal {
  /** The newest rollout; null: there was none. */
  read(signal: AbortSignal): Promise<RolloutEntry | null>;
  /** Replaces the entry of the same id. Durable when it resolves; calls do not overlap. */
  write(entry: RolloutEntry, lease: number): Promise<void>;
}

/** What runs on a node now. */
export interface NodeObservation {
  /** Null: nothing is there. */
  readonly image: string | null;
  /** As the program reports it; null where it does not answer. */
  readonly version: string | null;
  /** Whether it takes messages. */
  readonly ready: boolean;
  /** Another one after each start of the program. */
  readonly instance: string;
}

/**
 * One node of a fleet. Commands are idempotent, and carry a token: the host itself compares it, under a lock and in the same command
 * that acts, with the newest that it has seen, and refuses an older one (INFRA_LOCKED). Each rejects with INFRA_HOST_UNREACHABLE
 * where there was no answer: then it may have been carried out, or be so later. Every other error is the node's own.
 */
export interface NodeDriver {
  readonly name: string;
  observe(signal: AbortSignal): Promise<NodeObservation>;
  /** Makes the host refuse every older token, and resolves when no command with one acts there any more. */
  fence(token: FencingToken, signal: AbortSignal): Promise<void>;
  /**
   * The node stops taking messages, and its turns end, or are interrupted visibly at the node's deadline. Resolves when it has none,
   * also where nothing runs. It serves again by itself after `holdMs` without a swap.
   */
  drain(token: FencingToken, holdMs: number, signal: AbortSignal): Promise<void>;
  /** Stop first: the former program has ended before this one starts. The image is there before anything stops. */
  swap(image: string, token: FencingToken, signal: AbortSignal): Promise<void>;
  /** Waits until the node is ready with this image and has answered a turn; RUNTIME_START_FAILED with what is missing. */
  gate(image: string, signal: AbortSignal): Promise<void>;
}
