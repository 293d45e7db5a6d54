/** The engine's events as an operator wants to follow them. */

import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { isShown, ownName, parseUrn } from "./urn.ts";

export type EngineNote =
  | {
      readonly kind: "resource";
      readonly op: string;
      readonly state: "started" | "done" | "failed";
      readonly type: string;
      readonly name: string;
      readonly urn: string;
    }
  | {
      readonly kind: "message";
      readonly severity: "info" | "warning" | "error";
      readonly message: string;
      readonly urn: string | null;
    };

/** Steps that change nothing are not worth a line. */
const QUIET = new Set(["same", "read", "refresh", "discard", "remove-pending-replace"]);

const SEVERITIES: Readonly<Record<string, "info" | "warning" | "error">> = {
  info: "info",
  "info#err": "info",
  warning: "warning",
  error: "error",
};

/**
 * Messages of the engine about itself that do not help an operator, or harm: how to remove the protection of data. What is not
 * healthy on Kubernetes is known from the driver, in words; the provider warns of it with an empty list.
 */
const CHATTER =
  /^using pulumi-|^Refreshed resource is in an unhealthy state:|^Attempting to deploy or update resources with \d+ pending|^(?:update|preview) failed$|cannot be deleted\s+because it is protected/;

/** Null for events that are not shown. `redact` is applied to the text of the engine and its providers. */
export function noteOf(event: EngineEvent, redact: (text: string) => string): EngineNote | null {
  const { diagnosticEvent: said, resourcePreEvent: begun, resOutputsEvent: ended, resOpFailedEvent: failed } = event;
  if (said) {
    const message = redact(plain(said.message)).trim();
    // Debug messages come, too, though the types do not say so: they spell out whole resources.
    const severity = SEVERITIES[said.severity];
    if (severity === undefined || said.ephemeral || message === "" || CHATTER.test(message)) return null;
    return { kind: "message", severity, message, urn: said.urn || null };
  }
  if (begun && begun.planning !== true) return step(begun.metadata, "started");
  if (ended && ended.planning !== true) return step(ended.metadata, "done");
  if (failed) return step(failed.metadata, "failed");
  return null;
}

/** What the engine and its providers say in an event, in full, for a log. Empty for events that say nothing. */
export function saidIn({ diagnosticEvent: said }: EngineEvent, redact: (text: string) => string): string[] {
  if (!said || SEVERITIES[said.severity] === undefined) return [];
  const message = redact(plain(said.message)).trim();
  return message === "" ? [] : [`${said.severity} ${said.urn ? parseUrn(said.urn).name : ""}: ${message}`];
}

function step(metadata: StepEventMetadata, state: "started" | "done" | "failed"): EngineNote | null {
  const { op, urn, type } = metadata;
  const custom = metadata.new?.custom ?? metadata.old?.custom ?? false;
  if (!isShown(metadata, custom) || (QUIET.has(op) && state !== "failed")) return null;
  const name = ownName(urn, metadata.new?.inputs ?? metadata.old?.inputs);
  return { kind: "resource", op, state, type: parseUrn(urn).type || type, name, urn };
}

/** The engine's marks for colours: `<{%reset%}>`. */
function plain(text: string): string {
  return text.replace(/<\{%.*?%\}>/g, "");
}
