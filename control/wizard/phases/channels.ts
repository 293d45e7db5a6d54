/**
 * Phase 4 of a setup: the channels, whose they are, and who answers there. What each one asks for is in its manifest. Pure.
 */
import type { Answers } from "../answers.ts";
import { OFFERED_CHANNELS, offeredChannel, TOKEN } from "../channel-catalogue.ts";
import type { PhaseInput, Question } from "./question.ts";

export function channelQuestions({ answers }: PhaseInput): Question[] {
  const { channels, agents } = answers;
  const choices = OFFERED_CHANNELS.map(({ id, about }) => ({ value: id, name: id, description: about }));
  return [
    { kind: "several", path: ["channels"], choices, default: channels.map(({ id }) => id) },
    ...channels.flatMap((channel) => questionsOf(channel, agents.length > 1)),
  ];
}

function questionsOf(channel: Answers["channels"][number], severalAgents: boolean): Question[] {
  const { id, token_variable, owner_id, bindings, settings = {} } = channel;
  const offered = offeredChannel(id);
  if (offered === undefined) return [];
  const { setup, owner } = offered;
  const questions: Question[] = [];
  for (const field of setup.fields) {
    const { key, label, variable, usual, like, empty, where, unasked, pattern, allowed } = field;
    if (unasked) continue;
    const isToken = key === TOKEN;
    questions.push({
      kind: "input",
      path: isToken ? ["channels", id, "token_variable"] : ["channels", id, "settings", key],
      about: {
        channel: id,
        label: variable === undefined ? label : `Variable that holds the ${lowered(label)}`,
        where: where ?? "",
      },
      default:
        (isToken ? token_variable : settings[key]) ??
        (like === undefined ? undefined : settings[like]) ??
        variable ??
        usual,
      required: empty === undefined,
      ...(where === undefined || variable !== undefined ? {} : { note: "where" }),
      ...(empty === undefined ? {} : { empty }),
      ...(pattern === undefined ? {} : { pattern }),
      ...(allowed === undefined ? {} : { allowed }),
    });
  }
  if (setup.owner !== undefined) {
    const { where } = setup.owner;
    questions.push({
      kind: "input",
      path: ["channels", id, "owner_id"],
      about: { channel: id, where: where ?? "" },
      default: owner_id,
      required: true,
      ...(where === undefined ? {} : { note: "where" }),
      ...owner,
    });
  }
  if (setup.binds && (severalAgents || bindings !== undefined))
    questions.push({
      kind: "pairs",
      path: ["channels", id, "bindings"],
      about: { channel: id },
      default: bindings ?? {},
    });
  return questions;
}

function lowered(label: string): string {
  return label.charAt(0).toLowerCase() + label.slice(1);
}
