import { Flags } from "@oclif/core";
import { renderConversations } from "../../memory/render-sessions.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";
import type { SessionsResult } from "../sessions.ts";

export default class MemorySessions extends NodeCommand<SessionsResult> {
  static override description =
    "List every conversation of the memory, the latest first\n\n" +
    "Those of agents, each part of a session by itself, and those that were captured, appended and imported. " +
    "`cairn memory browse --conversation ID` reads one.";

  static override examples = [
    "<%= config.bin %> memory sessions",
    "<%= config.bin %> memory sessions --agent claude-code --limit 200 --json",
  ];

  static override flags = {
    agent: Flags.string({ char: "a", helpValue: "NAME", description: "Only conversations of this agent" }),
    limit: Flags.integer({ char: "n", min: 1, max: 1_000, default: 50, description: "Number of conversations" }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<SessionsResult> {
    const { flags } = await this.parse(MemorySessions);
    const { agent, limit, node } = flags;
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => ({ sessions: await client.sessions({ of: "conversation", agent, limit }, { signal }) }),
      { node },
    );
  }

  protected render({ sessions }: SessionsResult, mark: Mark): string {
    return sessions.length === 0 ? "The memory is empty." : renderConversations(sessions, mark);
  }
}
