import { Flags } from "@oclif/core";
import type { SessionRecord } from "../../runtime/client/index.ts";
import { renderSessions } from "../memory/render-sessions.ts";
import { NodeCommand } from "../node-command.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { withNode } from "../service/connect.ts";
import { findDeployment } from "../service/deployment.ts";

export interface SessionsResult {
  readonly sessions: readonly SessionRecord[];
}

export default class Sessions extends NodeCommand<SessionsResult> {
  static override description =
    "List the sessions of the agents, the latest first\n\n" +
    "`cairn chat --session NAME` goes on with one, `cairn memory browse --session NAME` reads it. Those of `cairn test` are left out; " +
    "`cairn memory sessions` has them, and what was captured of coding assistants.";

  static override examples = [
    "<%= config.bin %> sessions",
    "<%= config.bin %> sessions --agent researcher --limit 10 --json",
  ];

  static override flags = {
    agent: Flags.string({ char: "a", helpValue: "NAME", description: "Only sessions of this agent" }),
    limit: Flags.integer({ char: "n", min: 1, max: 1_000, default: 50, description: "Number of sessions" }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<SessionsResult> {
    const { flags } = await this.parse(Sessions);
    const { agent, limit, node } = flags;
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => ({ sessions: await client.sessions({ of: "session", agent, limit }, { signal }) }),
      { node },
    );
  }

  protected render({ sessions }: SessionsResult, mark: Mark): string {
    return sessions.length === 0 ? "There are no sessions yet." : renderSessions(sessions, mark);
  }
}
