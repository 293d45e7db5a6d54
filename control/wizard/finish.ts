/**
 * The last step of a setup on a terminal: what was written is started, or deployed, by the command that does so anyhow. Everything
 * is written by then, so that leaving here loses nothing.
 */
import process from "node:process";
import { Interrupted } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import type { OfferedService } from "../service-manager/offered.ts";
import { BACK } from "./dialog.ts";
import { asked, askOrBack } from "./prompts/going-back.ts";
import { FINISH, filled, YES_OR_NO } from "./prompts/texts.ts";
import type { InitResult } from "./setup.ts";

export type FinishStep = "service" | "start" | "deploy";
export type FinishAnswers = Readonly<Partial<Record<FinishStep, boolean>>>;

export interface FinishOptions {
  readonly result: Pick<InitResult, "dir" | "home" | "target" | "agent">;
  readonly mark: Mark;
  readonly interruption: Interruption;
  readonly say: (text: string) => Promise<void>;
}

/** Its exit code is that of the command that was run; 0 where nothing was. Interrupted for Ctrl-C at a question. */
export async function finishSetup(options: FinishOptions): Promise<number> {
  const { result, mark, interruption, say } = options;
  const { signal } = interruption;
  if (!(await canRun(result, signal))) return 0;
  const { offeredService } = await import("../service-manager/offered.ts");
  const service = result.target === "manual" ? await offeredService(result.dir, process.env, signal) : null;
  await say(`\n${mark.title(result.target === "manual" ? FINISH.start : FINISH.deploy)}`);
  const answers = await askAll(finishSteps(result.target, service), service, options);
  const argv = finishCommand(answers, service);
  if (argv === null) return 0;
  const { runOnTerminal } = await import("../service/ready/run-on-terminal.ts");
  // A node that is stopped takes as long as its configuration allows.
  const letGo = interruption.hold();
  try {
    const code = await runOnTerminal([...argv, ...(await directoryFlag(result.dir))], interruption);
    if (code === 0 && argv[0] === "service" && answers.start === true)
      await say(filled(FINISH.talk, { agent: result.agent }));
    return code;
  } finally {
    letGo();
  }
}

/** What is asked, in its order. A service that is installed already starts with the machine. */
export function finishSteps(target: InitResult["target"], service: OfferedService | null): readonly FinishStep[] {
  if (target !== "manual") return ["deploy"];
  return service !== null && !service.installed ? ["service", "start"] : ["start"];
}

/** The command that does it; null for none. */
export function finishCommand(
  { service: install, start, deploy }: FinishAnswers,
  service: OfferedService | null,
): readonly string[] | null {
  if (deploy === true) return ["infra", "up"];
  if (install === true) return ["service", "install", ...(start === true ? [] : ["--no-start"])];
  if (start !== true) return null;
  return service?.installed === true ? ["service", "install"] : ["start"];
}

/** Nothing where a command finds the directory by itself: the commands that it prints are shorter then. */
async function directoryFlag(dir: string): Promise<readonly string[]> {
  const { findDeployment } = await import("../service/deployment.ts");
  return findDeployment({}).dir === dir ? [] : ["--dir", dir];
}

/** A configuration that lacks a variable still, or a node that runs already, is nothing to start: the notes say what is to be done. */
async function canRun({ dir, home, target }: FinishOptions["result"], signal: AbortSignal): Promise<boolean> {
  const [{ inspectConfig }, { inspectNode }] = await Promise.all([
    import("../../runtime/config/index.ts"),
    import("../service/stale-node-file.ts"),
  ]);
  const readSecret = async (reference: string): Promise<string> => reference;
  const { loaded } = await inspectConfig({ dir, home, readSecret, signal, deployment: target !== "manual" });
  return loaded !== null && (await inspectNode(home)).state === "stopped";
}

async function askAll(
  steps: readonly FinishStep[],
  service: OfferedService | null,
  { interruption: { signal }, say }: FinishOptions,
): Promise<FinishAnswers> {
  const interrupted = async (): Promise<Error> => {
    await say(FINISH.interrupted);
    return new Interrupted("SIGINT");
  };
  let answers: FinishAnswers = {};
  for (let at = 0; at < steps.length; ) {
    const step = steps[at] ?? "start";
    const message = filled(FINISH.questions[step], { file: service?.file ?? "" });
    const usual = answers[step] ?? FINISH.usual[step];
    const answer = await askOrBack(
      ({ confirm }, context) => confirm({ message: asked(message, YES_OR_NO), default: usual }, context),
      { signal, interrupted },
    );
    if (answer === BACK) at = Math.max(0, at - 1);
    else {
      answers = { ...answers, [step]: answer };
      at += 1;
    }
  }
  return answers;
}
