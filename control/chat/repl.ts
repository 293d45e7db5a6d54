/** The conversation on a terminal: messages in their order, slash commands at once, Ctrl-C for the turn before the chat. */

import type { StreamEvent } from "../../runtime/contracts/stream.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { wrap } from "../output/wrap.ts";
import type { ChatView } from "./chat-view.ts";
import { greeting, waitingText } from "./greeting.ts";
import { trackReachability, unconfirmedWords } from "./reachability.ts";
import { openScreen, type Screen } from "./screen.ts";
import { type ChatNode, type Conversation, isUnreachableError, streamTurn, type TurnStart } from "./turn-stream.ts";

export interface ReplOptions {
  readonly conversation: Conversation;
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly mark: Mark;
  readonly view: ChatView;
  readonly newId: () => string;
  readonly signal: AbortSignal;
}

/** How the user left: by saying so, or by Ctrl-C. */
export type Farewell = "done" | "interrupted";

const LOCAL_HELP = `/help shows this. /exit leaves, and so does Ctrl-D; a backslash at the end of a line continues it. Pasted lines are one message; Enter sends it.
Ctrl-C stops the turn; a second one leaves. The agent's own commands:
/stop  /interrupt TEXT  /steer TEXT  /answer TEXT  /new  /status  /model [NAME | PROVIDER:NAME | default]  /think [LEVEL]  /reasoning [on|off]`;

const TICK_MS = 250;
/** Ticks without a word before anything is shown of the wait. */
const QUIET_TICKS = 3;

/** A line that is a command and no message: a slash and a word. */
export function isCommand(text: string): boolean {
  return /^\/[a-z]+(\s|$)/i.test(text.trim());
}

export async function runRepl(node: ChatNode, options: ReplOptions): Promise<Farewell> {
  const { conversation, mark, view } = options;
  const { agent, session } = conversation;
  const { promise: closed, resolve: close } = Promise.withResolvers<Farewell>();
  const leaving = new AbortController();
  const signal = AbortSignal.any([options.signal, leaving.signal]);

  let active = 0;
  /** Ctrl-C was pressed since the last line: the next one leaves. */
  let warned = false;
  let unfinished = "";
  let order: Promise<void> = Promise.resolve();
  /** Settles once the message before has been handed over, or not: messages that wait for the node keep their order. */
  let handedOver: Promise<void> = Promise.resolve();
  const reachability = trackReachability((words) => screen.write(view.showNote(words)));
  const followed = new Set<string>();

  const screen: Screen = openScreen(
    options.input,
    options.output,
    `${mark.name(conversation.agent)} ${mark.dim(">")} `,
    {
      onLine,
      onInterrupt,
      onEnd: () => close("done"),
    },
  );

  function onLine(line: string): void {
    warned = false;
    if (line.endsWith("\\")) {
      unfinished += `${line.slice(0, -1)}\n`;
      screen.prompt();
      return;
    }
    const text = `${unfinished}${line}`.trim();
    unfinished = "";
    if (text !== "") screen.recallAs(text);
    if (text === "/exit" || text === "/quit") close("done");
    else if (text === "/help") say(wrapped(LOCAL_HELP));
    else if (text === "") showPromptWhenIdle();
    else if (isCommand(text)) void command(text);
    else void turn({ text, key: options.newId() });
  }

  function onInterrupt(lineWasEmpty: boolean): void {
    unfinished = "";
    if (warned && (active > 0 || lineWasEmpty)) close("interrupted");
    else if (active > 0) {
      warned = true;
      void command("/stop");
    } else if (!lineWasEmpty) screen.prompt();
    else {
      warned = true;
      say(mark.dim("Ctrl-C again leaves; so does /exit."));
    }
  }

  function wrapped(text: string): string {
    return wrap(text, 0, options.output.columns).join("\n");
  }

  function say(text: string): void {
    screen.line(text);
    showPromptWhenIdle();
  }

  /** The prompt comes back when nothing is being said. */
  function showPromptWhenIdle(): void {
    if (active === 0 && !signal.aborted) screen.prompt();
  }

  async function command(line: string): Promise<void> {
    const wasActive = active > 0;
    try {
      const { text, data } = await node.command(agent, { session, line }, { signal });
      const turnId = data?.["turn_id"];
      // The text of /interrupt is a message of its own, whose turn is to be seen.
      if (/^\/interrupt\s/i.test(line) && typeof turnId === "string") void turn({ turnId });
      // The turn that was stopped says so itself, where it ends.
      if (wasActive && /^\/stop\b/i.test(line) && data?.["stopped"] === true) return;
      say(mark.dim(wrapped(visible(text))));
    } catch (error) {
      if (signal.aborted) return;
      if (reachability.isUnreachable() && isUnreachableError(error))
        note(`(The node does not answer: ${line} was not given.)`);
      else screen.write(view.showError(error));
      showPromptWhenIdle();
    }
  }

  function note(words: string): void {
    screen.write(view.showNote(words));
  }

  /** Sent at once; shown after what was asked before. */
  async function turn(start: TurnStart): Promise<void> {
    if ("turnId" in start && followed.has(start.turnId)) return;
    active++;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const watch = "key" in start ? reachability.ofMessage(start.key, start.text) : reachability.ofTurn();
    const events = streamTurn(node, conversation, start, signal, {
      ...watch,
      onConnection(state) {
        end();
        watch.onConnection?.(state);
      },
    });
    const before = "key" in start ? handedOver : Promise.resolve();
    const first = before.then(() => events.next());
    first.then(() => end()).catch(() => end());
    if ("key" in start) handedOver = ended;
    order = order.then(() => showTurn(events, first, start));
    await order;
  }

  async function showTurn(
    events: AsyncGenerator<StreamEvent>,
    first: Promise<IteratorResult<StreamEvent>>,
    start: TurnStart,
  ): Promise<void> {
    const progress = showWaiting();
    try {
      for (let step = await first; !step.done; step = await events.next()) {
        if ("turn_id" in step.value) followed.add(step.value.turn_id);
        const text = view.show(step.value);
        if (text !== "") progress.restart();
        screen.write(text);
      }
    } catch (error) {
      if (!signal.aborted) {
        screen.write(view.showError(error));
        if ("key" in start && reachability.giveUp(start.key))
          note(`${unconfirmedWords(start.text)} The Up key brings it back.`);
      }
    } finally {
      progress.end();
      active--;
      showPromptWhenIdle();
    }
  }

  /** Moves while nothing comes: a model on this machine takes its time until the first word. */
  function showWaiting(): { restart(): void; end(): void } {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
      if (ticks >= QUIET_TICKS) screen.wait(mark.dim(waitingText(ticks)));
    }, TICK_MS);
    return {
      restart: () => {
        ticks = 0;
      },
      end: () => clearInterval(timer),
    };
  }

  /** A turn of this session that was left earlier is taken up again. */
  async function greetAndTakeUp(): Promise<void> {
    const { data } = await node.command(agent, { session, line: "/status" }, { signal });
    for (const line of greeting(conversation, data)) screen.line(mark.dim(wrapped(line)));
    const running = data?.["turn_id"];
    if (typeof running !== "string") return;
    screen.line(mark.dim("(a turn is still running)"));
    void turn({ turnId: running });
  }

  const onAbort = (): void => close("interrupted");
  options.signal.addEventListener("abort", onAbort, { once: true });
  try {
    await greetAndTakeUp();
    showPromptWhenIdle();
    const farewell = await closed;
    const unconfirmed = reachability.unconfirmed();
    for (const text of unconfirmed) note(unconfirmedWords(text));
    if (active > unconfirmed.length) screen.line(mark.dim("The turn goes on; come back to see its reply."));
    return farewell;
  } finally {
    options.signal.removeEventListener("abort", onAbort);
    leaving.abort();
    screen.close();
  }
}
