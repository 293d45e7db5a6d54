/**
 * The stages of a pipeline: plan, then rounds of edit, checks and review. Each stage of a model is a sub-agent, for which the turn waits:
 * the call is then executed again from its beginning. So everything that it decides by comes from the sub-agents' replies, or from notes
 * that are made once.
 */

import type { CommandRunner } from "../../../contracts/command-runner.ts";
import { DelegationError, ToolError } from "../../../contracts/errors.ts";
import type { Clock, NewId } from "../../../contracts/ports.ts";
import type { ToolContext, ToolResult } from "../../../contracts/tool.ts";
import {
  type CheckEnd,
  type CodingReport,
  checkFindings,
  editPrompt,
  hasPassed,
  isAccepted,
  planPrompt,
  READING_TOOLS,
  renderReport,
  reviewPrompt,
  WRITING_TOOLS,
} from "../../../domain/coding-stages.ts";
import type { WorkspaceGate } from "../shared/locate.ts";
import { openRepository, type Repository } from "./repository.ts";
import type { CodingSettings } from "./settings.ts";

export interface CodingPipelineDeps {
  readonly settings: CodingSettings;
  readonly gate: WorkspaceGate;
  readonly runCommand: CommandRunner;
  readonly clock: Pick<Clock, "now">;
  readonly newId: NewId;
}

export interface CodingRequest {
  readonly task: string;
  readonly path: string;
  readonly rounds: number;
  readonly allowDirty: boolean;
}

/** What holds for all rounds, found before the first edit: what an edit writes is no word on how it is checked. */
interface Beginning {
  readonly tree: string;
  readonly checks: readonly string[];
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  readonly rounds: number;
}

interface Changes {
  /** Of git; why it cannot say where it has failed. */
  readonly files: string;
  readonly diff: string;
  readonly failed: boolean;
}

interface Round extends Changes {
  readonly checks: readonly CheckEnd[];
}

const LEAST_STAGE_MS = 1_000;
const MAX_STAGE_MS = 86_400_000;
const TREE_REMAINS = "The working tree is left as it is.";
const NOTHING_CHANGED = "Nothing was changed.";

export async function runPipeline(
  deps: CodingPipelineDeps,
  request: CodingRequest,
  turn: ToolContext,
  signal?: AbortSignal,
): Promise<ToolResult> {
  const { settings, clock, newId } = deps;
  const { workspace } = turn;
  assertAllowed(turn);
  const repository = await openRepository({ ...deps, workspace, path: request.path, signal });
  const { tree, checks, endsAt, rounds } = await once<Beginning>(turn, () => begin(deps, request, turn, repository));
  const coding = { task: request.task, path: repository.display, checks };

  async function stage(message: string, tools: readonly string[]): Promise<string> {
    const deadlineMs = Math.min(Math.max(endsAt - clock.now().getTime(), LEAST_STAGE_MS), MAX_STAGE_MS);
    const own = tools.filter((name) => turn.tools.includes(name));
    return (await turn.spawn({ message, deadlineMs, tools: own, maxTokens: settings.maxTokens })).text;
  }

  let round = 0;
  let last: Round = { checks: [], files: "", diff: "", failed: false };
  let findings: string | null = null;
  const report = (outcome: string, more: Partial<CodingReport> = {}): string =>
    renderReport({ outcome, rounds: round, changed: last.files, checks: last.checks, findings: "", ...more }, newId());

  try {
    const plan = await stage(planPrompt(coding), READING_TOOLS);
    while (round < rounds) {
      round++;
      await stage(editPrompt(coding, plan, findings, newId()), [...READING_TOOLS, ...WRITING_TOOLS]);
      last = await once<Round>(turn, () => check(deps, turn, repository, { tree, checks, endsAt, round }));
      if (last.failed) {
        const outcome = `The pipeline has failed: git cannot say what has changed. ${TREE_REMAINS}`;
        return { content: report(outcome, { findings: findings ?? "" }), isError: true };
      }
      if (!last.checks.every(hasPassed)) {
        findings = checkFindings(last.checks.filter((end) => !hasPassed(end)));
        continue;
      }
      if (last.files === "") {
        findings = NOTHING_CHANGED;
        continue;
      }
      const review = await stage(reviewPrompt(coding, last.diff, newId()), READING_TOOLS);
      if (isAccepted(review))
        return { content: report("The change is made: its checks pass, and the review accepts it.") };
      findings = `The review:\n${review}`;
    }
  } catch (error) {
    if (!(error instanceof DelegationError)) throw error;
    const { files } = await once(turn, () => changes(repository, tree));
    const outcome = `The pipeline has failed: ${error.message} ${TREE_REMAINS}`;
    return { content: report(outcome, { changed: files, findings: findings ?? "" }), isError: true };
  }
  const outcome = `The pipeline has failed: no round has brought a change that passes and is accepted. ${TREE_REMAINS}`;
  return { content: report(outcome, { findings: findings ?? "" }), isError: true };
}

/** What was edited is run by the checks, as the owner's commands are: TOOL_REFUSED for others, and without tools to edit. */
function assertAllowed({ owner, tools }: ToolContext): void {
  if (!owner) throw new ToolError("TOOL_REFUSED", "The coding pipeline runs in the owner's turns alone.");
  const missing = ["file_read", "file_edit"].filter((name) => !tools.includes(name));
  if (missing.length > 0) throw new ToolError("TOOL_REFUSED", `The coding pipeline needs ${missing.join(" and ")}.`);
}

async function begin(
  { settings, clock }: CodingPipelineDeps,
  { rounds, allowDirty }: CodingRequest,
  { agent, tools }: ToolContext,
  repository: Repository,
): Promise<Beginning> {
  const own = settings.checks.get(agent);
  // An agent that was not given the shell must not get it by writing into a script. Before anything is run.
  if (own === undefined && !tools.includes("shell")) {
    throw new ToolError(
      "TOOL_REFUSED",
      "Checks that are found in a project are run for agents that have the tool shell.",
      {
        hint: `The owner can name checks: agents.${agent}.checks.`,
      },
    );
  }
  const checks = own ?? (await repository.findChecks());
  if (checks.length === 0) {
    throw new ToolError("TOOL_REFUSED", `No checks were found in ${repository.display}.`, {
      hint: `The owner can name them: agents.${agent}.checks.`,
    });
  }
  const { tree, uncommitted } = await repository.snapshot();
  if (uncommitted !== "" && !allowDirty) {
    throw new ToolError("TOOL_REFUSED", `Something is uncommitted in ${repository.display}:\n${uncommitted}\n`, {
      hint: "Commit it, or call again with allow_dirty.",
    });
  }
  return { tree, checks, rounds, endsAt: clock.now().getTime() + settings.timeoutMs };
}

async function check(
  { settings, clock }: CodingPipelineDeps,
  turn: ToolContext,
  repository: Repository,
  { tree, checks, endsAt, round }: Pick<Beginning, "tree" | "checks" | "endsAt"> & { readonly round: number },
): Promise<Round> {
  turn.progress(`round ${round}: ${checks.join("; ")}`);
  const timeoutMs = Math.min(settings.checkTimeoutMs, endsAt - clock.now().getTime());
  const ends = await repository.check(checks, timeoutMs);
  const { files, diff, failed } = await changes(repository, tree);
  return { checks: ends, files, diff: ends.every(hasPassed) ? diff : "", failed };
}

/** Once something may have been edited a failure of git is a part of the report: the agent has to read what state things are in. */
async function changes(repository: Repository, tree: string): Promise<Changes> {
  try {
    return { ...(await repository.changesSince(tree)), failed: false };
  } catch (error) {
    if (!(error instanceof ToolError) || error.code === "TOOL_ABORTED") throw error;
    return { files: error.message, diff: "", failed: true };
  }
}

async function once<T>(turn: ToolContext, work: () => Promise<T>): Promise<T> {
  // What is read is what this very file has written.
  return JSON.parse(await turn.once(async () => JSON.stringify(await work()))) as T;
}
