/**
 * Keys of cairn.yaml that this version does not implement. The keys are read, so that a file for a later version is still
 * one; a limit that is not kept, or work that does not happen, must not pass in silence. A capability that is built
 * takes its lines out of this table: a test compares it with what a node registers. Pure.
 */
import { isRecord } from "../contracts/values.ts";
import { agent } from "../plugins/channels/agent/manifest.ts";
import { CHANNELS } from "../plugins/channels/manifests.ts";
import { voice } from "../plugins/channels/voice/manifest.ts";
import { CHANNEL_KINDS } from "./known-ids.ts";
import type { Finding } from "./report.ts";
import type { ParsedConfig } from "./schema.ts";
import type { TreeMap } from "./tree.ts";
import { isAskedFor, isEmpty, isEnabled, matches, parsedAt } from "./written-settings.ts";

export interface NotImplemented {
  /** `*`: any key or index. */
  readonly path: readonly string[];
  /** An error where money or safety would depend on it. */
  readonly severity: "error" | "warning";
  /** The finding, as one sentence. */
  readonly why: string;
  /** Whether the parsed value, in its section, uses it. Default: it is written, and neither empty, off nor `enabled: false`. */
  readonly asks?: (value: unknown, key: string, section: unknown) => boolean;
  /** A setting of this section that means the same: where that is reported, this one is not. */
  readonly partOf?: string;
}

/** Kinds of channels that a node has. */
export const BUILT_CHANNELS: readonly string[] = [agent.id, ...CHANNELS.map(({ id }) => id)];

const VOICE_KEYS = ["transcription", "speech", "keep_audio"] as const;
/** Of chat platforms. */
const CHAT_KEYS = ["token", "app_token", "base_url", "webhook", "pairing", "reconnect", "channel_bindings"] as const;
/** Of the HTTP channel. */
const UNUSED_CHANNEL_KEYS = [
  "token",
  "app_token",
  "base_url",
  "webhook",
  "pairing",
  "reconnect",
  ...VOICE_KEYS,
] as const;

export const NOT_IMPLEMENTED: readonly NotImplemented[] = [
  {
    ...warning(
      "channels.*",
      `this version has the channels ${BUILT_CHANNELS.join(", ")}: nothing is received here, and nothing sent`,
    ),
    asks: (value, key) =>
      isEnabled(value) && isRecord(value) && isOwnKind(value["kind"]) && !isBuiltChannel(key, value["kind"]),
  },
  ...VOICE_KEYS.map((key) => ({
    ...warning(`channels.*.${key}`, "only a channel of the kind voice has a use for it"),
    asks: (value: unknown, _: string, section: unknown) => isAskedFor(value) && !isVoice(section),
  })),
  ...CHAT_KEYS.map((key) => ({
    ...warning(`channels.*.${key}`, "a channel of the kind voice has no use for it"),
    asks: (value: unknown, _: string, section: unknown) =>
      isAskedFor(value) && !isEmptyRecord(value) && isVoice(section),
  })),
  warning(`channels.${agent.id}.channel_bindings`, "the HTTP channel binds nothing: each message names its agent"),
  ...UNUSED_CHANNEL_KEYS.map((key) => warning(`channels.${agent.id}.${key}`, "the HTTP channel has no use for it")),
  {
    ...warning(`channels.${agent.id}.enabled`, "the HTTP channel is always there"),
    asks: (value) => value === false,
  },
  warning("telemetry.otlp", "this version sends no traces and no metrics: /metrics has the metrics"),
];

/** What the file uses and this version does not implement. `written` is the file's tree, `config` what was parsed of it. */
export function notImplementedFindings(
  written: TreeMap,
  config: Partial<ParsedConfig>,
): { readonly errors: Finding[]; readonly warnings: Finding[] } {
  const found = new Map<string, { readonly severity: NotImplemented["severity"]; readonly finding: Finding }>();
  for (const { path: pattern, severity, why, asks = isAskedFor, partOf } of NOT_IMPLEMENTED) {
    for (const { path, tree } of matches(written, pattern)) {
      const value = parsedAt(config, path);
      const isWritten = asks !== isAskedFor || !isEmpty(tree);
      if (value === undefined || !isWritten || !asks(value, String(path.at(-1)), parsedAt(config, path.slice(0, -1))))
        continue;
      // A part of a section that is reported already is not reported again.
      if (partOf !== undefined && found.has(JSON.stringify([...path.slice(0, -1), partOf]))) continue;
      if (path.some((_, length) => found.has(JSON.stringify(path.slice(0, length))))) continue;
      found.set(JSON.stringify(path), { severity, finding: { path, message: why, code: "not-implemented" } });
    }
  }
  const of = (wanted: NotImplemented["severity"]) =>
    [...found.values()].flatMap(({ severity, finding }) => (severity === wanted ? [finding] : []));
  return { errors: of("error"), warnings: of("warning") };
}

export function isBuiltChannel(id: string, kind: unknown): boolean {
  return id === agent.id ? kind === agent.id : CHANNELS.some(({ id: built }) => built === kind);
}

/** Of this version or a later one; what plugins bring is checked with the plugins at hand. */
function isOwnKind(kind: unknown): boolean {
  return CHANNEL_KINDS.some((own) => own === kind);
}

function isVoice(section: unknown): boolean {
  return isRecord(section) && section["kind"] === voice.id;
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

/** The table's line for a key of the schema, written as the reference writes it: `agents.<name>.budget.daily_tokens`. */
export function notImplementedKey(key: string): NotImplemented | undefined {
  const parts = key.replaceAll(/<\w+>/g, "*").replaceAll("[]", ".*").split(".");
  return NOT_IMPLEMENTED.find(
    ({ path, asks }) =>
      asks === undefined && path.length <= parts.length && path.every((part, index) => part === parts[index]),
  );
}

function warning(path: string, why: string): NotImplemented {
  return { path: path.split("."), severity: "warning", why };
}
