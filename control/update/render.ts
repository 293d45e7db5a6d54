/** An update in words. */

import { lastWordLines } from "../output/failure.ts";
import type { Mark } from "../output/terminal.ts";
import type { UpdateHistory, UpdatePlan, UpdateResult } from "./result.ts";

export function updateText(result: UpdateResult, mark: Mark): string {
  const { outcome, from, to, reason, next, restarted, last_words: words = [], log = null } = result;
  const same = from === to;
  const change = same ? `to another build of ${to}` : `from ${from} to ${to}`;
  const former = same ? "the former one" : from;
  const lines = {
    updated: mark.good(`Updated ${change}; the gate was passed.`),
    unchanged: `Nothing to do: this is ${to}.`,
    pending: `${mark.good(`Updated ${change}.`)} The next \`cairn start\` or \`cairn restart\` runs it.`,
    rolled_back: mark.warn(`The update ${change} failed; ${former} ${restarted ? "runs" : "is installed"} again.`),
    paused: mark.warn(`The update ${change} stopped: nodes that passed have it, the others do not.`),
    operator: mark.error(`The update ${change} needs you.`),
  };
  return [
    lines[outcome],
    ...(reason === null ? [] : [reason]),
    ...(next === null ? [] : [mark.dim(next)]),
    ...lastWordLines(words, log, mark),
  ].join("\n");
}

export function planText({ target, to, nodes, problems }: UpdatePlan, mark: Mark): string {
  const built = `${target === "manual" ? "An archive of the program" : "An image"} would be made, and then:`;
  const header = to === null ? built : `To ${to}:`;
  const lines = nodes.flatMap(({ name, version, image, ready, steps }, index) => [
    `${index + 1}. ${name}, now ${version ?? image ?? "nothing"}${ready ? "" : " (does not serve)"}`,
    ...(steps.length > 0 ? steps : ["has it already"]).map((step) => mark.dim(`     ${step}`)),
  ]);
  const bad = problems.map((problem) => mark.warn(problem));
  return [header, ...lines, ...bad, mark.dim("Nothing was changed.")].join("\n");
}

export function historyText({ rollouts }: UpdateHistory, mark: Mark): string {
  if (rollouts.length === 0) return "There was no rollout of this fleet yet.";
  const lines = rollouts.flatMap(({ started_at: at, to, by, outcome, done, failed, reason, steps }) => [
    `${at} ${outcome} to ${to}, by ${by}`,
    mark.dim(
      `  ${done.length > 0 ? done.join(", ") : "no node"} changed${failed === null ? "" : `, ${failed} failed`}`,
    ),
    ...(reason === null ? [] : [mark.dim(`  ${reason}`)]),
    // What had been done when it was cut off is what one looks for.
    ...(outcome === "interrupted" ? steps.map((step) => mark.dim(`  ${step.at} ${step.name}: ${step.state}`)) : []),
  ]);
  return lines.join("\n");
}
