/**
 * Words that are no names here, each with the field's own term. docs/glossary.md says what the terms mean; a word that is right
 * in its plain English sense stands in ALLOWED with the reason.
 */

const CACHE = "cache, cached, fromCache, fromDatabase";
const NEIGHBOURS = "neighbours, adjacent";
const SNAPSHOT = "read, snapshot; for a probe: context";
const VALIDATE = "validate, validation, check, classify";

/** Refused as a part of any name: word -> what to write instead. */
export const REFUSED: Readonly<Record<string, string>> = {
  known: `${CACHE}, or what it is: existing, names, candidate`,
  remember: CACHE,
  remembered: CACHE,
  remembers: CACHE,
  afresh: CACHE,
  told: "what was reported, included or mentioned",
  untold: "what was not reported",
  tell: "report, notify",
  tells: "report, notify",
  telling: "report, notify",
  tellable: "public error",
  sign: "heartbeat",
  silent: "stalled, stale",
  claimant: "owner",
  left: "remaining, pending, interrupted, unacknowledged",
  doorbell: "trigger",
  bell: "trigger",
  ring: "schedule, enqueue, notify",
  rings: "schedule, enqueue, notify",
  look: SNAPSHOT,
  looks: SNAPSHOT,
  looked: SNAPSHOT,
  looking: SNAPSHOT,
  scene: SNAPSHOT,
  scenes: SNAPSHOT,
  away: "unavailable, unreachable, offline",
  likeness: "similarity",
  alike: "similar",
  beside: NEIGHBOURS,
  besides: NEIGHBOURS,
  company: NEIGHBOURS,
  sitting: "segment, session proximity",
  sittings: "segments",
  alone: "withLock; or single, only",
  calm: "withoutAbort",
  insist: "kill",
  insistence: "kill signal",
  judge: VALIDATE,
  judged: VALIDATE,
  judgement: VALIDATE,
  odd: "finding; in tests: unusual",
  oddity: "finding",
  oddities: "findings",
  outage: "circuit breaker",
  hush: "stop, abort",
  employ: "register",
  settle: "reconcile; of promises: idle, ended",
  settled: "reconciled; of promises: idle, ended",
  way: "the noun itself: layout, method, advice, state",
  ways: "the noun itself",
};

/** Refused as the whole name of a type: too general to say what it is. */
export const REFUSED_TYPES: ReadonlySet<string> = new Set(["Line", "Look", "Place", "Places", "Run", "Scene", "Way"]);

export interface Allowed {
  /** The whole name. */
  readonly name: RegExp;
  /** Where; everywhere without it. */
  readonly file?: RegExp;
  readonly reason: string;
}

export const ALLOWED: readonly Allowed[] = [
  {
    name: /^(?:tokens_)?left_?out$|^leftOut(?:Before)?$|^LEFT_OUT$/i,
    reason: "what was left out; a field of published results",
  },
  { name: /^LEFT_OVER$/, reason: "files that a crash left over" },
  { name: /^left$/, file: /^control\/deploy\/words\.ts$/, reason: "an outcome of the published result" },
  {
    name: /^left$/,
    file: /^(?:control\/doctor\/checks\/updates\/available|control\/wizard\/answer-flags|runtime\/domain\/summaries\/identifiers)\.ts$/,
    reason: "the left side of two",
  },
  {
    name: /^known$|^hostKeyKnown$/,
    file: /(?:host-key|facts|texts)[.\w-]*\.ts$/,
    reason: "whether known_hosts has the key",
  },
  { name: /^known(?:Hosts|HostsLine|Name)$/, reason: "OpenSSH's known_hosts" },
  { name: /^known-ids$/, reason: "ids that this version brings along" },
  {
    name: /^(?:KNOWN_PROVIDERS|KnownProvider|knownProviders?|knownChannelKind)$/,
    reason: "ids that this version brings along",
  },
  { name: /^looks[A-Z]/, reason: "a guess from the form: looksLikeSecret" },
  { name: /^look(?:Up|ed_until|edUntil)$/, reason: "to look something up; the position of a page" },
  { name: /^(?:inTheWay|onTheWay)$/, reason: "files that are in the way" },
  { name: /^settled$/, file: /^control\/wizard\/draft\.ts$/, reason: "a key of the stored draft" },
  { name: /^told$/, file: /archive\/archives\.db\.test\.ts$/, reason: "a column of turns" },
];
