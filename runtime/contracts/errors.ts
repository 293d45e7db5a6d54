/**
 * Every error that Cairn raises on purpose: one table of codes, one class per prefix.
 * The HTTP layer, the command line and the logs read severity, retryability and status from here.
 */

export type Severity = "fatal" | "error" | "warning" | "transient";

export interface ErrorTraits {
  readonly severity: Severity;
  /** True when the same request may succeed later without being changed. */
  readonly retryable: boolean;
  /** The HTTP status that a route answers with. */
  readonly status: number;
}

const traits = (severity: Severity, retryable: boolean, status: number): ErrorTraits => ({
  severity,
  retryable,
  status,
});

export const ERROR_CODES = {
  CHANNEL_CONNECTION_LOST: traits("transient", true, 503),
  /** The platform takes this message, in this conversation, never: the same call would be refused again. */
  CHANNEL_REFUSED: traits("error", false, 502),
  /** A recording without words: there is no message, and no turn. */
  CHANNEL_NOTHING_SAID: traits("warning", false, 422),

  MEMORY_INVALID_ARGUMENT: traits("error", false, 400),
  MEMORY_NOT_FOUND: traits("error", false, 404),
  MEMORY_UNAVAILABLE: traits("transient", true, 503),
  MEMORY_TIMEOUT: traits("transient", true, 503),
  MEMORY_LOCK_TIMEOUT: traits("transient", true, 503),
  MEMORY_CONFLICT: traits("error", false, 409),
  MEMORY_STORE_LOCKED: traits("fatal", false, 503),
  MEMORY_STORE_FULL: traits("error", true, 503),
  MEMORY_SCHEMA_MISMATCH: traits("fatal", false, 503),
  MEMORY_QUERY_FAILED: traits("error", false, 500),
  MEMORY_ARCHIVE_INVALID: traits("error", false, 400),
  MEMORY_STORE_NOT_EMPTY: traits("error", false, 409),
  MEMORY_TOOL_UNKNOWN: traits("error", false, 404),
  MEMORY_SUMMARY_UNUSABLE: traits("error", false, 502),
  MEMORY_SPOOL_FULL: traits("error", true, 507),
  MEMORY_SPOOL_UNWRITABLE: traits("error", false, 500),

  CONFIG_INVALID: traits("fatal", false, 500),
  CONFIG_UNREADABLE: traits("fatal", false, 500),
  CONFIG_VERSION_UNSUPPORTED: traits("fatal", false, 500),
  CONFIG_SECRET_UNRESOLVED: traits("fatal", false, 500),
  CONFIG_SECRETS_FILE_UNSAFE: traits("fatal", false, 500),
  CONFIG_EXISTS: traits("error", false, 409),
  CONFIG_UNWRITABLE: traits("error", false, 500),

  TOOL_UNKNOWN: traits("error", false, 404),
  TOOL_INVALID_ARGUMENTS: traits("error", false, 400),
  TOOL_REFUSED: traits("warning", false, 403),
  TOOL_OUTSIDE_WORKSPACE: traits("warning", false, 403),
  TOOL_SANDBOX_MISSING: traits("error", false, 503),
  TOOL_ABORTED: traits("warning", false, 499),
  TOOL_FAILED: traits("error", false, 500),
  /** The same call had the same result several times in a row. */
  TOOL_REPEATED: traits("warning", false, 409),
  TOOL_TIMEOUT: traits("transient", true, 504),
  /** What the tool talks to does not answer, or not now. */
  TOOL_UNAVAILABLE: traits("transient", true, 503),
  TOOL_OUTCOME_UNKNOWN: traits("warning", false, 500),

  DELEGATION_NO_TARGET: traits("error", false, 404),
  DELEGATION_TOO_DEEP: traits("error", false, 409),
  DELEGATION_CYCLE: traits("error", false, 409),
  DELEGATION_TIMEOUT: traits("error", false, 504),
  DELEGATION_FAILED: traits("error", false, 502),
  /** A turn has used the tokens that it was given for its task. */
  DELEGATION_BUDGET_EXCEEDED: traits("error", false, 409),

  RUNTIME_INVALID_REQUEST: traits("error", false, 400),
  RUNTIME_UNAUTHORIZED: traits("warning", false, 401),
  /** A token that was valid: it is replaced, not corrected. */
  RUNTIME_TOKEN_EXPIRED: traits("warning", false, 401),
  /** Of requests between nodes: their clocks are too far apart for tokens of a minute. */
  RUNTIME_CLOCK_SKEW: traits("warning", false, 401),
  RUNTIME_FORBIDDEN: traits("warning", false, 403),
  RUNTIME_NOT_FOUND: traits("error", false, 404),
  RUNTIME_METHOD_NOT_ALLOWED: traits("error", false, 405),
  RUNTIME_AGENT_UNKNOWN: traits("error", false, 404),
  RUNTIME_TURN_UNKNOWN: traits("error", false, 404),
  RUNTIME_CONFLICT: traits("error", false, 409),
  RUNTIME_BODY_TOO_LARGE: traits("error", false, 413),
  RUNTIME_UNSUPPORTED_MEDIA_TYPE: traits("error", false, 415),
  RUNTIME_RATE_LIMITED: traits("transient", true, 429),
  /** Of turns: the agent may use no more tokens, or no more money, until its day or month is over. */
  RUNTIME_BUDGET_EXCEEDED: traits("warning", true, 429),
  RUNTIME_DRAINING: traits("transient", true, 503),
  RUNTIME_NOT_READY: traits("transient", true, 503),
  RUNTIME_COMMAND_UNKNOWN: traits("error", false, 400),
  RUNTIME_TURN_ABORTED: traits("warning", false, 499),
  RUNTIME_TURN_TIMEOUT: traits("error", true, 504),
  RUNTIME_TURN_INTERRUPTED: traits("error", true, 500),
  RUNTIME_HOOK_TIMEOUT: traits("error", false, 500),
  RUNTIME_LEASE_LOST: traits("transient", true, 503),
  RUNTIME_ALREADY_RUNNING: traits("error", false, 409),
  RUNTIME_NOT_RUNNING: traits("error", false, 503),
  /** Of clients: the node's certificate is not the recorded one, or its time is over (contracts/certificates.ts). */
  RUNTIME_CERTIFICATE_REFUSED: traits("error", false, 502),
  /** Of clients: the node has no address, or none that may be called without TLS. */
  RUNTIME_PEER_UNREACHABLE: traits("error", false, 502),
  RUNTIME_START_FAILED: traits("fatal", false, 500),
  RUNTIME_STOP_TIMEOUT: traits("error", true, 504),
  RUNTIME_UNSAFE_LISTEN: traits("fatal", false, 500),
  /** Releases too far apart for one fleet (contracts/version-skew.ts). */
  RUNTIME_VERSION_SKEW: traits("fatal", false, 409),
  /** Of the command line: the user interrupted the command. */
  RUNTIME_INTERRUPTED: traits("warning", true, 499),
  RUNTIME_INTERNAL: traits("error", false, 500),

  PROVIDER_UNKNOWN: traits("error", false, 404),
  PROVIDER_UNAUTHORIZED: traits("error", false, 502),
  PROVIDER_RATE_LIMITED: traits("transient", true, 503),
  PROVIDER_OVERLOADED: traits("transient", true, 503),
  PROVIDER_SERVER_ERROR: traits("transient", true, 502),
  PROVIDER_TIMEOUT: traits("transient", true, 504),
  PROVIDER_UNREACHABLE: traits("transient", true, 502),
  /** Not called: calls of this model have failed repeatedly, and are suspended for a while. */
  PROVIDER_CIRCUIT_OPEN: traits("transient", true, 503),
  PROVIDER_BAD_RESPONSE: traits("transient", true, 502),
  PROVIDER_STREAM_TRUNCATED: traits("transient", true, 502),
  PROVIDER_EMPTY_ANSWER: traits("error", false, 502),
  PROVIDER_REJECTED_REQUEST: traits("error", false, 502),
  PROVIDER_CONTEXT_TOO_LONG: traits("error", false, 502),

  INFRA_TARGET_MANUAL: traits("error", false, 400),
  INFRA_PLAN_INVALID: traits("error", false, 400),
  INFRA_TOOL_MISSING: traits("error", false, 503),
  INFRA_HOST_UNREACHABLE: traits("transient", true, 502),
  INFRA_HOST_KEY_MISMATCH: traits("fatal", false, 502),
  INFRA_CONTEXT_UNKNOWN: traits("error", false, 400),
  INFRA_PORT_IN_USE: traits("error", false, 409),
  INFRA_DISK_FULL: traits("error", true, 507),
  INFRA_IMAGE_MISSING: traits("error", false, 409),
  INFRA_BUILD_FAILED: traits("error", false, 500),
  INFRA_LOCKED: traits("error", true, 409),
  INFRA_INTERRUPTED: traits("error", false, 409),
  INFRA_STATE_UNREADABLE: traits("fatal", false, 500),
  INFRA_PASSPHRASE_LOST: traits("fatal", false, 500),
  INFRA_DATA_EXISTS: traits("error", false, 409),
  INFRA_DATA_PROTECTED: traits("error", false, 409),
  INFRA_UP_REFUSED: traits("error", false, 409),
  INFRA_FAILED: traits("error", true, 500),
} as const satisfies Record<string, ErrorTraits>;

export type ErrorCode = keyof typeof ERROR_CODES;
type CodeOf<Prefix extends string> = Extract<ErrorCode, `${Prefix}_${string}`>;

/** One thing that is wrong with an input: where, and what. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export interface ErrorDetails {
  readonly cause?: unknown;
  readonly issues?: readonly Issue[];
  /** Seconds after which a retry makes sense; becomes the Retry-After header. */
  readonly retryAfterS?: number;
  /** The turn that the error belongs to, where there is one. */
  readonly turnId?: string;
  /** Overrules the table's `retryable`: the same request gets this same answer. */
  readonly retryable?: false;
  /** Of a channel: the platform has not taken what was sent, for certain. */
  readonly notTaken?: true;
  /** Of a channel: another receiver has the account's messages at the moment, which may be one that is about to end. */
  readonly overlap?: true;
  /** What the reader can do about it, as one sentence. */
  readonly hint?: string;
  /** Last lines of the program that failed, oldest first; without secrets. */
  readonly lastWords?: readonly string[];
  /** File of this machine that has all that was said; absolute. */
  readonly log?: string;
}

/** The JSON form of an error, as routes and `--json` outputs carry it. Never holds a cause or a stack. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly severity: Severity;
  readonly retryable: boolean;
  readonly issues?: readonly Issue[];
  readonly turn_id?: string;
  readonly hint?: string;
  readonly last_words?: readonly string[];
  readonly log?: string;
}

export class CairnError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }

  get severity(): Severity {
    return ERROR_CODES[this.code].severity;
  }

  get retryable(): boolean {
    return this.details.retryable ?? ERROR_CODES[this.code].retryable;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  toBody(): ErrorBody {
    const { issues, turnId, hint, lastWords, log } = this.details;
    return {
      code: this.code,
      message: this.message,
      severity: this.severity,
      retryable: this.retryable,
      ...(issues ? { issues } : {}),
      ...(turnId ? { turn_id: turnId } : {}),
      ...(hint ? { hint } : {}),
      ...(lastWords?.length ? { last_words: lastWords } : {}),
      ...(log ? { log } : {}),
    };
  }
}

/** A class for the codes of one prefix, which are all that it takes. */
function errorsOf<Prefix extends string>(prefix: Prefix) {
  return class extends CairnError {
    static readonly prefix: string = prefix;
    declare readonly code: CodeOf<Prefix>;

    constructor(code: CodeOf<Prefix>, message: string, details?: ErrorDetails) {
      super(code, message, details);
    }
  };
}

export class ChannelError extends errorsOf("CHANNEL") {}
export class MemoryError extends errorsOf("MEMORY") {}
export class ConfigError extends errorsOf("CONFIG") {}
export class ToolError extends errorsOf("TOOL") {}
export class DelegationError extends errorsOf("DELEGATION") {}
export class RuntimeError extends errorsOf("RUNTIME") {}
export class ProviderError extends errorsOf("PROVIDER") {}
export class InfraError extends errorsOf("INFRA") {}

const CLASSES = [
  ChannelError,
  MemoryError,
  ConfigError,
  ToolError,
  DelegationError,
  RuntimeError,
  ProviderError,
  InfraError,
];

/** The configuration is structurally invalid; `message` is the formatted report (specification, Errors, rule 8). */
export class ConfigValidationError extends ConfigError {
  constructor(report: string, issues: readonly Issue[], details: Omit<ErrorDetails, "issues"> = {}) {
    super("CONFIG_INVALID", report, { ...details, issues });
  }
}

/** Anything thrown, as a CairnError: a foreign error becomes RUNTIME_INTERNAL with a message that gives nothing away. */
export function toCairnError(error: unknown): CairnError {
  if (error instanceof CairnError) return error;
  return new RuntimeError("RUNTIME_INTERNAL", "An internal error occurred; the log has the details.", { cause: error });
}

/** The error that a body describes, with the class of its code; a code that is unknown to this version is an internal error. */
export function fromErrorBody(body: ErrorBody, extra: Pick<ErrorDetails, "cause" | "retryAfterS"> = {}): CairnError {
  const details: ErrorDetails = {
    ...extra,
    // From another machine: nothing else has checked it.
    ...(Array.isArray(body.issues) ? { issues: body.issues } : {}),
    ...(typeof body.turn_id === "string" ? { turnId: body.turn_id } : {}),
    ...(typeof body.hint === "string" && body.hint !== "" ? { hint: body.hint } : {}),
    ...(body.last_words ? { lastWords: body.last_words } : {}),
    ...(body.log ? { log: body.log } : {}),
    ...(body.retryable ? {} : { retryable: false }),
  };
  if (!Object.hasOwn(ERROR_CODES, body.code)) {
    return new RuntimeError("RUNTIME_INTERNAL", `${body.message} (${body.code})`, details);
  }
  const Class = CLASSES.find(({ prefix }) => body.code.startsWith(`${prefix}_`)) ?? CairnError;
  // The class was chosen by the code's own prefix, which the compiler cannot follow.
  return new Class(body.code as never, body.message, details);
}
