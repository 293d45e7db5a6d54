/** `agents`: their names, the provider of each, and what they may use. */
import { isCron } from "../../domain/schedule.ts";
import { TOOLS_OF_OTHERS } from "../../domain/tool-selection.ts";
import {
  choice,
  decimal,
  dnsLabel,
  flag,
  identifier,
  integer,
  list,
  mapping,
  modelReference,
  name,
  path,
  section,
  text,
  timezone,
} from "./scalars.ts";

const CRON = "a cron expression, such as `0 8 * * 1-5`";
export const THINKING_LEVELS = ["off", "low", "medium", "high"] as const;

const schedule = section({
  name: name("a schedule's name")
    .optional()
    .describe("For `cairn schedule`, the log and the key of its state; its position in the list, from 1, when absent."),
  cron: text(CRON).refine(isCron, { error: CRON }).describe("When, in the time zone below."),
  prompt: text().describe("The message to the agent, as one of the owner."),
  timezone: timezone().optional().describe("runtime.timezone when absent."),
  channel: text()
    .optional()
    .describe(
      "Channel whose conversation it speaks in, and that the reply is sent to. When absent: its own, and stored only.",
    ),
  conversation: identifier()
    .optional()
    .describe(
      "Conversation on that channel, such as the number of a chat; on Telegram the owner's private one when absent.",
    ),
  enabled: flag().prefault(true).describe("Off: it starts nothing, and makes up for nothing when it is on again."),
});

const budget = section({
  daily_tokens: integer({ min: 0 }).optional().describe("Tokens a day, in and out."),
  monthly_tokens: integer({ min: 0 }).optional().describe("Tokens a calendar month."),
  daily_usd: decimal({ min: 0 }).optional().describe("US dollars a day, by providers.<id>.prices."),
  monthly_usd: decimal({ min: 0 }).optional().describe("US dollars a calendar month, by providers.<id>.prices."),
  on_limit: choice(["stop", "warn"])
    .default("stop")
    .describe("Refuse further calls of models, or only say so, once a period."),
});

const agent = section({
  description: text()
    .optional()
    .describe(
      "What the agent is for, in one sentence; shown by `cairn agent list`, and to agents that may hand it tasks.",
    ),
  provider: text().meta({ derived: true }).describe("Provider id; the only provider when absent."),
  model: text().optional().describe("The provider's own model when absent."),
  default_thinking: choice(THINKING_LEVELS).default("off").describe("Thinking level of new sessions."),
  fallbacks: list(modelReference())
    .default([])
    .describe("Tried in order when the provider fails: `<provider>:<model>`."),
  node: dnsLabel("a node's name").optional().describe("The node that hosts the agent; any when absent."),
  workspace: path().optional().describe("A workspace of its own; runtime.workspace when absent."),
  tools: section({
    include: list(text()).optional().describe("Only these tools; all when absent."),
    exclude: list(text()).default([]).describe("Not these tools."),
    others: section({
      include: list(text())
        .optional()
        .describe(
          `Only these of the above in turns that are not the owner's; \`${TOOLS_OF_OTHERS.join("` and `")}\` when absent.`,
        ),
      exclude: list(text()).default([]).describe("Not these tools in turns that are not the owner's."),
    }).prefault({}),
  })
    .prefault({})
    .describe("Which tools the agent is offered."),
  checks: list(text())
    .optional()
    .describe("Commands by which the coding pipeline checks its changes; found in the project when absent."),
  schedules: list(schedule).default([]).describe("Turns that start by the clock (schedules.md)."),
  budget: budget
    .optional()
    .describe("What the agent may use in a day and a month of runtime.timezone; no limit when absent."),
});

export const agentsSection = mapping(name("an agent's name"), agent).prefault({}).describe("Agents, by name.");
