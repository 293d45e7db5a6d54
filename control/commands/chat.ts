import { randomUUID } from "node:crypto";
import process from "node:process";
import { text as readAll } from "node:stream/consumers";
import { Args, Flags } from "@oclif/core";
import type { CommandReply } from "../../runtime/contracts/channel.ts";
import type { TurnResult } from "../../runtime/contracts/stream.ts";
import { type ChatView, createChatView } from "../chat/chat-view.ts";
import { sendOnce } from "../chat/once.ts";
import { isCommand, runRepl } from "../chat/repl.ts";
import type { ChatNode, Conversation } from "../chat/turn-stream.ts";
import { NodeCommand } from "../node-command.ts";
import { Interrupted, needsTerminal, UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { visible } from "../output/visible.ts";
import { wrap } from "../output/wrap.ts";
import { defaultAgent, openConnection } from "../service/connect.ts";
import { type Deployment, findDeployment, inspectWithoutSecrets } from "../service/deployment.ts";

/** A turn's result, a command's reply, or nothing: a conversation on the terminal has shown everything already. */
export type ChatResult = (TurnResult & { readonly agent: string }) | CommandReply | null;

export default class Chat extends NodeCommand<ChatResult> {
  static override description =
    "Talk to an agent\n\n" +
    "On a terminal this is a conversation; lines that begin with a slash are commands, such as /stop, also while the agent " +
    "is at work; text that is pasted is one message. With a message, or with text on standard input, it sends that one message " +
    "and prints the reply; the exit code is 0 when the turn has ended well.";

  static override examples = [
    "<%= config.bin %> chat",
    "<%= config.bin %> chat --agent researcher --session paper",
    "<%= config.bin %> chat 'What did we decide yesterday?' --json",
    "git diff | <%= config.bin %> chat --session review",
  ];

  static override args = {
    message: Args.string({ ignoreStdin: true, description: "Send this, print the reply and end" }),
  };

  static override flags = {
    session: Flags.string({
      char: "s",
      default: "terminal",
      description: "Name of the conversation; the same name takes it up again",
    }),
    agent: Flags.string({
      char: "a",
      helpValue: "NAME",
      description: "Name of the agent (default: the configured default agent)",
    }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<ChatResult> {
    const { args, flags } = await this.parse(Chat);
    const message = args.message ?? (this.terminal.inIsTerminal ? undefined : await this.#piped());
    if (message === undefined) this.#requireTerminal();
    const deployment = findDeployment(flags);
    const { client: node, close } = await openConnection(deployment, signal, flags);
    try {
      if (args.message !== undefined) await refuseAgentAsMessage(deployment, args.message);
      const conversation = { agent: flags.agent ?? (await defaultAgent(deployment, node)), session: flags.session };
      return await (message === undefined
        ? this.#converse(node, conversation, signal)
        : this.#once(node, conversation, message, signal));
    } finally {
      await close();
    }
  }

  protected render(result: ChatResult): string {
    if (result === null || this.terminal.outIsTerminal) return "";
    return result.text;
  }

  async #once(node: ChatNode, conversation: Conversation, text: string, signal: AbortSignal): Promise<ChatResult> {
    const live = this.terminal.outIsTerminal && !this.jsonEnabled();
    if (isCommand(text)) {
      const { agent, session } = conversation;
      const reply = await node.command(agent, { session, line: text.trim() }, { signal });
      if (live) await this.terminal.out(`${wrap(visible(reply.text), 0, process.stdout.columns).join("\n")}\n`);
      return reply;
    }
    const view = this.#view();
    const result = await sendOnce(node, conversation, { text, key: randomUUID() }, signal, (event) => {
      if (live) void this.terminal.out(view.show(event));
    });
    if (!live && result.notice) await this.note(this.terminal.errMark.warn(`! ${visible(result.notice)}`));
    return { ...result, agent: conversation.agent };
  }

  async #converse(node: ChatNode, conversation: Conversation, signal: AbortSignal): Promise<ChatResult> {
    const { mark } = this.terminal;
    const farewell = await runRepl(node, {
      conversation,
      input: process.stdin,
      output: process.stdout,
      mark,
      view: this.#view(),
      newId: randomUUID,
      signal,
    });
    if (farewell === "interrupted") throw new Interrupted("SIGINT");
    return null;
  }

  #view(): ChatView {
    return createChatView(this.terminal.mark, {
      typed: (words) => this.typed(words),
      columns: () => process.stdout.columns,
    });
  }

  async #piped(): Promise<string> {
    const text = await readAll(process.stdin);
    if (text.trim() === "") {
      throw new UsageError(
        "There is no message: standard input is empty.",
        "Pass a message: `cairn chat 'TEXT'`, or run it on a terminal.",
      );
    }
    return text;
  }

  #requireTerminal(): void {
    if (this.jsonEnabled()) throw new UsageError("--json needs one message.", "Pass it: `cairn chat 'TEXT' --json`.");
    if (!this.terminal.outIsTerminal) throw needsTerminal("What to say", "a message: `cairn chat 'TEXT'`");
  }
}

/** The agent is named by a flag: its name alone is no message, but a mistyped command that would go to another agent. */
async function refuseAgentAsMessage(deployment: Deployment, message: string): Promise<void> {
  if (/\s/.test(message)) return;
  const inspection = await inspectWithoutSecrets(deployment).catch(() => null);
  if (!Object.hasOwn(inspection?.loaded?.config.agents ?? {}, message)) return;
  throw new UsageError(
    `${message} is an agent, and what follows \`chat\` is a message.`,
    `Talk to it with \`cairn chat --agent ${message}\`.`,
  );
}
