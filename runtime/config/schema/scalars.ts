/**
 * The values that cairn.yaml is made of. Convention: the message of every failed check is the text of what is allowed
 * ("a duration with its unit, such as 900s"), so that the validation report can put it beside what was found.
 * A value that comes from the environment is always text: numbers, switches and sizes are therefore read from text too.
 */
import { z } from "zod";

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const SERVER_ID = /^(?=.{1,32}$)[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What Node sends as the value of a header. */
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]+$/;
/** Headers that are set for each request, or that say how it is sent. */
const SET_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "keep-alive",
  "last-event-id",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
  "upgrade",
]);
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const DURATION_PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;
const DURATION_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE = /^(\d+(?:\.\d+)?)\s*(k|m|g|t|ki|mi|gi|ti)?b?$/i;
const COUNT = /^(\d+(?:\.\d+)?)(k|m)?$/i;
/** The longest wait that a Node timer can hold. */
export const LONGEST_MS = 2_147_483_647;

export type Section<Shape extends z.ZodRawShape> = z.ZodObject<Shape, z.core.$strip>;

/**
 * A mapping with known keys. Unknown ones are kept at run time and reported by `unknown-keys.ts`; the type shows only
 * the known ones, so that a misspelt key in the code is still a compiler error. That difference is the cast's reason.
 */
export function section<const Shape extends z.ZodRawShape>(shape: Shape): Section<Shape> {
  const allowed = `a mapping with the keys ${Object.keys(shape).join(", ")}`;
  return z.looseObject(shape, { error: () => allowed }) as unknown as Section<Shape>;
}

/** A mapping from names to values of one kind. */
export function mapping<Value extends z.ZodType>(key: z.ZodString, value: Value) {
  return z.record(key, value, {
    error: (issue) => (issue.code === "invalid_type" ? "a mapping (name: value)" : undefined),
  });
}

export function list<Item extends z.ZodType>(item: Item) {
  return z.array(item, { error: "a list" });
}

export function choice<const Options extends readonly [string, ...string[]]>(options: Options) {
  return z.enum(options, { error: `one of ${options.join(", ")}` });
}

export function text(allowed = "a text that is not empty") {
  return z.string({ error: allowed }).min(1, { error: allowed });
}

/** An identifier of a chat platform: often written as a number, always kept as text. */
export function identifier() {
  const allowed = "an identifier (text or a whole number)";
  return z
    .union([z.string(), z.number().int()], { error: allowed })
    .transform((value) => String(value))
    .refine((value) => value !== "", { error: allowed });
}

/** Names of agents, providers and channels: they become part of addresses, file names and logs. */
export function name(of: string) {
  const allowed = `${of}: letters, digits, - and _, at most 63, starting with a letter or digit`;
  return z.string({ error: allowed }).regex(NAME, { error: allowed });
}

/** Ids of MCP servers begin the names of their tools, as `<id>__<tool>`, which providers take up to 64 characters. */
export function serverId() {
  const allowed = "a server's id: letters, digits, - and single _ in between, at most 32, starting with a letter";
  return z.string({ error: allowed }).regex(SERVER_ID, { error: allowed });
}

/** Names of nodes: host names, container names and Kubernetes objects are made of them. */
export function dnsLabel(of: string) {
  const allowed = `${of}: small letters, digits and -, at most 63, starting and ending with a letter or digit`;
  return z.string({ error: allowed }).regex(DNS_LABEL, { error: allowed });
}

export function variableName() {
  const allowed = "the name of an environment variable";
  return z.string({ error: allowed }).regex(VARIABLE, { error: allowed });
}

export function flag() {
  const allowed = "true or false";
  return z.union([z.boolean(), z.string()], { error: allowed }).transform((value, context): boolean => {
    if (typeof value === "boolean") return value;
    if (/^(true|on|yes)$/i.test(value)) return true;
    if (/^(false|off|no)$/i.test(value)) return false;
    return refuse(context, value, allowed);
  });
}

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

export function integer(bounds: Bounds = {}) {
  return numeric(`a whole number${within(bounds)}`, bounds, Number.isSafeInteger);
}

export function decimal(bounds: Bounds = {}) {
  return numeric(`a number${within(bounds)}`, bounds, Number.isFinite);
}

/** Milliseconds, written with a unit: `900s`, `5m`, `1h30m`. Bounds are in milliseconds. */
export function duration(bounds: Bounds = {}) {
  const { min = 0, max = LONGEST_MS } = bounds;
  const limits = `${min > 0 ? `, at least ${formatDuration(min)}` : ""}${max < LONGEST_MS ? `, at most ${formatDuration(max)}` : ""}`;
  const allowed = `a duration with its unit, such as 900s, 5m or 1h30m${limits}`;
  return z.union([z.string(), z.literal(0)], { error: allowed }).transform((value, context): number => {
    const milliseconds = value === 0 ? 0 : parseDuration(value);
    if (milliseconds === null || milliseconds < min || milliseconds > max) return refuse(context, value, allowed);
    return milliseconds;
  });
}

/** Bytes: a number, or a size such as `512Mi` or `10G` (k, M, G, T in thousands; Ki, Mi, Gi, Ti in 1024s). */
export function bytes(bounds?: { readonly min: string; readonly max: string }) {
  const allowed = `a size in bytes, such as 512Mi, 2G or 1048576${bounds ? `, from ${bounds.min} to ${bounds.max}` : ""}`;
  const [least, most] = [parseSize(bounds?.min ?? ""), parseSize(bounds?.max ?? "")];
  return z.union([z.string(), z.number()], { error: allowed }).transform((value, context): number => {
    const size = parseSize(String(value));
    if (size === null || size < (least ?? 0) || size > (most ?? size)) return refuse(context, value, allowed);
    return size;
  });
}

/** A count of tokens: a number, or `128k`, `1m`. */
export function tokens() {
  const allowed = "a count of tokens, such as 128k or 200000";
  return z.union([z.string(), z.number()], { error: allowed }).transform((value, context): number => {
    const match = COUNT.exec(String(value).trim());
    if (!match) return refuse(context, value, allowed);
    const unit = (match[2] ?? "").toLowerCase();
    return Math.round(Number(match[1]) * (unit === "k" ? 1_000 : unit === "m" ? 1_000_000 : 1));
  });
}

/** A path; relative ones start from the deployment directory, `~/` from the user's home. Made absolute by the loader. */
export function path() {
  const allowed = "a path";
  return text(allowed).refine((value) => !value.includes("\0"), { error: allowed });
}

/** A secret reference passes: it is still there only where it was not resolved on purpose. */
export function url(protocols: readonly string[] = ["http", "https"]) {
  const allowed = `an address that starts with ${protocols.map((protocol) => `${protocol}://`).join(" or ")}`;
  return z.string({ error: allowed }).refine((value) => parseAddress(value, protocols) !== null, { error: allowed });
}

/** An address to which requests are sent as it is: a user and a password in it are no part of one, nor is a fragment. */
export function plainUrl() {
  const allowed = "an address that starts with http:// or https://, without a user, a password and a #fragment";
  return z.string({ error: allowed }).refine(
    (value) => {
      const parsed = parseAddress(value, ["http", "https"]);
      return parsed !== null && parsed.username === "" && parsed.password === "" && parsed.hash === "";
    },
    { error: allowed },
  );
}

/** Of an HTTP header that is added to requests. */
export function headerName() {
  const allowed = "the name of a header that the protocol does not set by itself";
  return z
    .string({ error: allowed })
    .regex(TOKEN, { error: allowed })
    .refine((value) => !SET_HEADERS.has(value.toLowerCase()), { error: allowed });
}

export function headerValue() {
  const allowed = "a text of one line, of characters up to U+00FF";
  return text(allowed).regex(HEADER_VALUE, { error: allowed });
}

export function timezone() {
  const allowed = "an IANA time zone, such as UTC or Europe/Berlin";
  return z.string({ error: allowed }).refine(isTimezone, { error: allowed });
}

/** `<provider>:<model>`; the model may itself contain colons. */
export function modelReference() {
  const allowed = "<provider>:<model>, such as openai:gpt-5.5";
  return z.string({ error: allowed }).regex(/^[A-Za-z0-9][A-Za-z0-9_-]*:\S+$/, { error: allowed });
}

/** Null when the text is no duration. */
export function parseDuration(value: string): number | null {
  const compact = value.trim().toLowerCase();
  const parts = [...compact.matchAll(DURATION_PART)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== compact) return null;
  return Math.round(parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (DURATION_MS[unit] ?? 0), 0));
}

export function formatDuration(milliseconds: number): string {
  const unit = (["d", "h", "m", "s"] as const).find((candidate) => {
    const size = DURATION_MS[candidate] ?? 1;
    return milliseconds >= size && milliseconds % size === 0;
  });
  return unit === undefined ? `${milliseconds}ms` : `${milliseconds / (DURATION_MS[unit] ?? 1)}${unit}`;
}

/** Null when the text is no size. */
function parseSize(value: string): number | null {
  const match = SIZE.exec(value.trim());
  if (!match) return null;
  const unit = (match[2] ?? "").toLowerCase();
  const power = unit === "" ? 0 : "kmgt".indexOf(unit.charAt(0)) + 1;
  return Math.round(Number(match[1]) * (unit.endsWith("i") ? 1024 : 1000) ** power);
}

function numeric(
  allowed: string,
  { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: Bounds,
  accepts: (value: number) => boolean,
) {
  return z.union([z.number(), z.string()], { error: allowed }).transform((value, context): number => {
    const parsed = typeof value === "number" ? value : value.trim() === "" ? Number.NaN : Number(value);
    if (!accepts(parsed) || parsed < min || parsed > max) return refuse(context, value, allowed);
    return parsed;
  });
}

function within({ min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return `, ${min} or more`;
  return max === undefined ? "" : `, at most ${max}`;
}

function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

function parseAddress(value: string, protocols: readonly string[]): URL | null {
  const parsed = URL.parse(value);
  if (parsed === null || parsed.hostname === "") return null;
  return parsed.protocol === "op:" || protocols.includes(parsed.protocol.slice(0, -1)) ? parsed : null;
}

function refuse(context: z.core.$RefinementCtx, input: unknown, message: string): never {
  context.issues.push({ code: "custom", message, input });
  return z.NEVER;
}
