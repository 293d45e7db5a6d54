/** The doctor: runs all checks in parallel, and with `--fix` repairs what can be repaired and checks again. */

import type { Redactor } from "../../runtime/config/redact.ts";
import type { Environment } from "../../runtime/config/references.ts";
import { deployedRecord } from "../service/deployed-stack.ts";
import type { Check } from "./checks/check.ts";
import { CHECKS } from "./checks/index.ts";
import { type DeploymentProbe, localProbe } from "./context/deployment-probe.ts";
import { type Machine, thisMachine } from "./context/machine.ts";
import { findPaths } from "./context/paths.ts";
import { createProbeContext, type ProbeContext } from "./context/probe-context.ts";
import { applyRepairs } from "./repair/apply.ts";
import { type DiffLine, describeRepair } from "./repair/diff.ts";
import type { Planned } from "./repair/repair.ts";
import { type CheckReport, type Report, summarize } from "./report.ts";
import { runChecks } from "./run.ts";
import { type Selection, selectChecks } from "./select.ts";

/** Default deadline of a check, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 2_500;
/** The same where a stack is deployed: the way to its nodes may be a login on another machine. */
export const DEPLOYED_TIMEOUT_MS = 15_000;
/** On a busy machine the default is as many times longer as processes wait for each processor, at most this many times. */
const MOST_PATIENT = 12;
/** Share of a check's deadline that one probe gets: the rest is for reporting the reason. */
const PROBE_SHARE = 0.8;

export interface DoctorInput extends Selection {
  readonly flags: { readonly dir?: string | undefined };
  readonly env: Environment;
  readonly cwd: string;
  /** Root of this program's package, and its version. */
  readonly root: string;
  readonly version: string;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  /** Tests pass other machines and other checks. */
  readonly machine?: Machine;
  readonly probe?: DeploymentProbe;
  readonly checks?: readonly Check[];
}

export interface Examination {
  readonly report: Report;
  /** What `--fix` would do. */
  readonly repairs: readonly Planned[];
  /** See Results.late. */
  readonly late: boolean;
  readonly redact: Redactor;
}

/** UsageError for names that are no check. Whatever is wrong with the deployment is in the report, never thrown. */
export async function examine(input: DoctorInput): Promise<Examination> {
  const { signal, machine = thisMachine() } = input;
  const checks = selectChecks(input.checks ?? CHECKS, input);
  const paths = findPaths(input.flags, input.env, input.cwd);
  const isDeployed = (await deployedRecord(paths)) !== null;
  const patience = Math.min(MOST_PATIENT, Math.max(1, Math.ceil(machine.load())));
  const timeoutMs = input.timeoutMs ?? (isDeployed ? DEPLOYED_TIMEOUT_MS : DEFAULT_TIMEOUT_MS * patience);
  const ended = new AbortController();
  const context = createProbeContext({
    paths,
    machine,
    probe:
      input.probe ??
      localProbe({ hostname: machine.hostname, userHome: paths.userHome, configHome: input.env["XDG_CONFIG_HOME"] }),
    processEnv: input.env,
    root: input.root,
    version: input.version,
    requested: new Set(input.only),
    probeMs: timeoutMs * PROBE_SHARE,
    signal: AbortSignal.any([signal, ended.signal]),
  });
  try {
    // Loading the schema keeps the processor busy for a while: no check should pay for that with its time.
    await import("../../runtime/config/validate.ts");
    const results = await runChecks(checks, context, { timeoutMs, signal });
    const { redact, node } = await withinProbe(context, machine.hostname);
    const said = results.checks.map((check) => redacted(check, redact));
    return {
      report: { schema: 1, version: input.version, node, ...summarize(said), checks: said },
      repairs: results.repairs,
      late: results.late,
      redact,
    };
  } finally {
    ended.abort();
  }
}

export interface FixOptions {
  /** Shows what would be changed, and asks for confirmation; called only when there are changes. */
  readonly confirm: (diff: readonly DiffLine[], count: number) => Promise<boolean>;
}

/** Examines, repairs what may be repaired, and examines again. */
export async function examineAndFix(input: DoctorInput, { confirm }: FixOptions): Promise<Examination> {
  const before = await examine(input);
  const planned = distinct(before.repairs);
  const unchanged = { ...before, report: { ...before.report, repairs: [] } };
  if (planned.length === 0) return unchanged;
  const diff = planned.flatMap(({ repair }) => describeRepair(repair));
  const shown = diff.map(({ kind, text }) => ({ kind, text: before.redact(text) }));
  if (!(await confirm(shown, planned.length))) return unchanged;
  const repairs = await applyRepairs(planned, { signal: input.signal });
  const after = await examine(input);
  return {
    ...after,
    late: before.late || after.late,
    report: { ...after.report, repairs: repairs.map((repair) => ({ ...repair, path: after.redact(repair.path) })) },
  };
}

/** Two checks may want the same: it is done once. */
function distinct(planned: readonly Planned[]): readonly Planned[] {
  const seen = new Set<string>();
  return planned.filter(({ repair }) => {
    const key = `${repair.kind} ${repair.path}`;
    return !seen.has(key) && seen.add(key);
  });
}

function redacted(check: CheckReport, redact: Redactor): CheckReport {
  const { detail, fix } = check;
  return {
    ...check,
    message: redact(check.message),
    ...(detail === undefined ? {} : { detail: redact(detail) }),
    ...(fix === undefined ? {} : { fix: redact(fix) }),
  };
}

/** The configuration has been read by now, or hangs: it is not waited for again. */
async function withinProbe(context: ProbeContext, hostname: string): Promise<{ redact: Redactor; node: string }> {
  const [{ createContextRedactor }, { nodeNameOf }] = await Promise.all([
    import("./context/redactor.ts"),
    import("../../runtime/config/derive.ts"),
  ]);
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, context.probeMs, null);
  try {
    const snapshot = await Promise.race([context.configuration(), late]);
    const file = await Promise.race([context.secretsFile(), late]);
    const nothing = { path: "", exists: false, mode: 0, owners: [], values: {}, problem: null };
    return {
      redact: createContextRedactor(context.processEnv, file ?? nothing, snapshot ?? { state: "missing" }),
      node: snapshot?.state === "valid" ? snapshot.config.mesh.name : nodeNameOf(hostname),
    };
  } finally {
    clearTimeout(timer);
  }
}
