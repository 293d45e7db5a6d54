import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { type Cli, createCli, untilPrinted } from "../../support/cli.ts";
import { startForeignListener } from "../../support/foreign-listener.ts";

// Each test runs several processes, which take their time on a busy machine.

const PROGRAM = fileURLToPath(new URL("../../support/cairn.ts", import.meta.url));
/** util-linux's `script` gives a program a terminal. */

describe("one message", () => {
  it("prints the reply and nothing else", async () => {
    const cli = await createCli();
    await cli.node();
    expect(await cli.run(["chat", "hello"])).toEqual({ code: 0, stdout: "you said: hello\n", stderr: "" });
  });

  it("comes from standard input, whole", async () => {
    const cli = await createCli();
    await cli.node();
    const { stdout } = await cli.run(["chat"], { input: "first line\nsecond line\n" });
    expect(stdout).toBe("you said: first line\nsecond line\n\n");
  });

  it("is needed without a terminal: the flag is named, exit 2", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["chat"]);
    expect(code).toBe(2);
    expect(stderr).toContain("cairn chat 'TEXT'");
  });

  it("is no agent's name, which the flag takes: nobody is asked by mistake", async () => {
    const cli = await createCli();
    await cli.node();
    const refused = await cli.run(["chat", "main"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("`cairn chat --agent main`");
    expect(await cli.run(["chat", "--agent", "main", "hello there"])).toMatchObject({
      code: 0,
      stdout: "you said: hello there\n",
    });
  });

  it("may be a command", async () => {
    const cli = await createCli();
    await cli.node();
    expect(await cli.run(["chat", "/status"])).toMatchObject({ code: 0, stdout: "Idle.\n" });
    expect(await cli.run(["chat", "/nonsense"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("RUNTIME_COMMAND_UNKNOWN"),
    });
  });

  it("whose turn fails ends with the turn's error, naming the turn", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["chat", "fail", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "PROVIDER_OVERLOADED", retryable: true, turn_id: "t1" });
  });

  it("gets the rest of its reply when the connection breaks in the middle", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["chat", "cut"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "first half, second half\n" });
  });

  it("says that no node runs", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["chat", "hello"]);
    expect(code).toBe(1);
    expect(stderr).toContain("cairn start");
  });

  it.skipIf(lacks("other-user"))("sends the owner's token to no other user who has the node's port", async () => {
    const cli = await createCli();
    const listener = await startForeignListener();
    const env = { SERVICE_LISTEN: `127.0.0.1:${listener.port}` };
    for (const argv of [["chat", "hello"], ["test"]]) {
      const { code, stderr } = await cli.run(argv, { env });
      expect(code).toBe(1);
      expect(stderr).toContain(`another user's process listens at http://127.0.0.1:${listener.port}`);
    }
    expect(listener.received()).toBe("");
  });

  it("says that the token is wrong", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stderr } = await cli.run(["chat", "hello"], { env: { SERVICE_API_TOKEN: "another" } });
    expect(code).toBe(1);
    expect(stderr).toContain("RUNTIME_UNAUTHORIZED");
  });
});

describe.skipIf(lacks("script"))("a conversation on a terminal", () => {
  it("streams the reply, shows tools, and ends with /exit", async () => {
    const chat = await openChat();
    await chat.type("hello\r");
    await chat.until("you said: hello");
    expect(chat.screen()).toContain('· shell {"command":"ls"}');
    expect(chat.screen()).toContain("✓ shell: a b");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
  });

  it("begins with the agent, its model, the session and what was said last", async () => {
    const chat = await openChat();
    expect(chat.screen()).toMatch(/main \(scripted:one\), session terminal\. \/help lists the commands\.\r\n/);
    expect(chat.screen()).toMatch(/Last, 2030-01-31 12:00, you: what was said\r\n/);
    await chat.type("/help\r");
    await chat.until("/exit leaves");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
  });

  it("shows that it waits until something comes, and makes room for the first key", async () => {
    const chat = await openChat();
    await chat.type("silent\r");
    await chat.until(" 1 s");
    await chat.type("h");
    await chat.until("\u001b[2K\u001b[1G\u001b[0Jmain > ");
    await chat.type("\u0003");
    await chat.until("Stopped by you.");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
  });

  it("recalls a message of several lines whole", async () => {
    const chat = await openChat();
    await chat.until("\u001b[?2004h");
    await chat.type("\u001b[200~line one\rline two\u001b[201~\r");
    await chat.until("you said: line one\r\nline two");
    await chat.type("begun\\\rended\r");
    await chat.until("you said: begun\r\nended");
    await chat.type("\u001b[A");
    await chat.until("main > begun\r\n| ended");
    await chat.type(" once more\r");
    await chat.until("you said: begun\r\nended once more");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
    expect(chat.screen().match(/you said/g)).toHaveLength(3);
  });

  it("gives commands at once, also in the middle of a turn, and shows why the turn ended", async () => {
    const chat = await openChat();
    await chat.type("long\r");
    await chat.until("working");
    await chat.type("/stop\r");
    await chat.until("Stopped by you.");
    await chat.type("\u0004");
    expect(await chat.code()).toBe(0);
    // Once: the command's own reply would say it again.
    expect(chat.screen()).not.toMatch(/^Stopped\.\s*$/m);
  });

  it("stops the turn with Ctrl-C and goes on", async () => {
    const chat = await openChat();
    await chat.type("long\r");
    await chat.until("working");
    await chat.type("\u0003");
    await chat.until("Stopped by you.");
    await chat.type("again\r");
    await chat.until("you said: again");
    await chat.type("/quit\r");
    expect(await chat.code()).toBe(0);
  });

  it("takes a paste of several lines as one message, sent with Enter", async () => {
    const chat = await openChat();
    await chat.until("\u001b[?2004h");
    await chat.type("see: \u001b[200~line one\r\tline two\rline three\r\u001b[201~");
    await chat.until("line three");
    await chat.type(" the end\r");
    await chat.until("you said: see: line one\r\n\tline two\r\nline three\r\n the end");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
    expect(chat.screen().match(/you said/g)).toHaveLength(1);
    expect(chat.screen()).toContain("\u001b[?2004l");
  });

  it("drops what was pasted with Ctrl-C", async () => {
    const chat = await openChat();
    await chat.type("\u001b[200~line one\rline two\r\u001b[201~");
    await chat.until("line two");
    await chat.type("\u0003");
    await chat.type("another\r");
    await chat.until("you said: another");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
    expect(chat.screen()).not.toContain("you said: line");
  });

  it("drops the rest of a paste, too, that Ctrl-C interrupts", async () => {
    const chat = await openChat();
    await chat.until("\u001b[?2004h");
    await chat.type("\u001b[200~line one\r\u0003line two\rline three\rrest\u001b[201~");
    await chat.type("another\r");
    await chat.until("you said: another");
    // A paste whose end never comes.
    await chat.type("\u001b[200~line four\r\u0003\u0003");
    await chat.type("still here\r");
    await chat.until("you said: still here");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
    expect(chat.screen()).not.toContain("you said: line");
    expect(chat.screen().match(/you said/g)).toHaveLength(2);
  });

  it("is left with a second Ctrl-C, exit 130", async () => {
    const chat = await openChat();
    await chat.type("\u0003");
    await chat.until("Ctrl-C again leaves");
    await chat.type("\u0003");
    expect(await chat.code()).toBe(130);
  });

  it("survives what the node refuses", async () => {
    const chat = await openChat();
    await chat.type("/nonsense\r");
    await chat.until("RUNTIME_COMMAND_UNKNOWN");
    await chat.type("fail\r");
    await chat.until("The provider is busy.");
    await chat.type("still here\r");
    await chat.until("you said: still here");
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
  });

  it("holds the agent's words back while somebody types", async () => {
    const chat = await openChat();
    await chat.type("long\r");
    await chat.until("working");
    await chat.type("half");
    await chat.until("main > \u001b[8Gh");
    // Somebody else stops the turn: its notice comes while the line is unfinished.
    expect((await chat.cli.run(["chat", "/stop"])).stdout).toContain("Stopped.");
    await chat.type(" a line\r");
    await chat.until("you said: half a line");
    const screen = chat.screen();
    expect(screen.indexOf("Stopped by you.")).toBeGreaterThan(screen.indexOf(" a line"));
    await chat.type("/exit\r");
    expect(await chat.code()).toBe(0);
  });
});

interface OpenChat {
  readonly cli: Cli;
  type(keys: string): Promise<void>;
  until(text: string): Promise<void>;
  /** Everything that was printed, without its colours. */
  screen(): string;
  code(): Promise<number | null>;
}

async function openChat(): Promise<OpenChat> {
  const cli: Cli = await createCli();
  await cli.node();
  const command = `${process.execPath} ${PROGRAM} chat`;
  const child: ChildProcess = spawn("script", ["-qfec", command, "/dev/null"], {
    env: { ...cli.env, TERM: "xterm", NO_COLOR: "1" },
    cwd: cli.home,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  child.stdout?.on("data", (piece: Buffer) => {
    printed += piece.toString("utf8");
  });
  const closed = once(child, "close");
  await untilPrinted(child, "main >");
  return {
    cli,
    async type(keys) {
      child.stdin?.write(keys);
    },
    async until(text) {
      while (!printed.includes(text)) {
        if (child.exitCode !== null) throw new Error(`the chat ended: ${printed}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    screen: () => printed,
    async code() {
      await closed;
      return child.exitCode;
    },
  };
}
