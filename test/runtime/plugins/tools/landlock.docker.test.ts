/** The walls around agents' commands in a container, on a real kernel: as the image runs, without any capability. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import type { ShellSettings } from "../../../../runtime/plugins/tools/shell/settings.ts";
import { ROOT } from "../../../../scripts/lib/paths.js";
import { lacks } from "../../../lanes/tools.ts";
import { docker } from "../../../support/docker/containers.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../../support/docker/images.ts";

/** Asks the shell tool to run each command, and prints what it answers. */
const PROGRAM = `
  const { createShellTool } = await import("/opt/cairn/runtime/plugins/tools/shell/index.ts");
  const { SHELL_DEFAULTS } = await import("/opt/cairn/runtime/plugins/tools/shell/settings.ts");
  const { createWorkspaceGate } = await import("/opt/cairn/runtime/plugins/tools/shared/locate.ts");
  const { mkdirSync, writeFileSync } = await import("node:fs");
  const home = "/var/lib/cairn";
  const { randomUUID } = await import("node:crypto");
  const { commands, settings, owner, nextStart } = JSON.parse(process.argv[1]);
  mkdirSync("/srv/cairn/workspace");
  mkdirSync("/srv/cairn/agents");
  writeFileSync(home + "/node.key", "the node's key");
  writeFileSync("/etc/cairn/.env", "SERVICE_API_TOKEN=the owner's token");
  writeFileSync("/srv/cairn/agents/other.md", "another agent's file");
  process.env.IN_MEMORY = "a value of the service";
  const say = () => {};
  const logger = { debug: say, info: say, warn: (o, m) => console.error(m), error: say, child: () => logger };
  const tool = createShellTool({
    gate: createWorkspaceGate({ protectedPaths: [home] }),
    settings: { ...SHELL_DEFAULTS, bubblewrapPaths: [], ...settings },
    container: true,
    protectedPaths: [home, "/etc/cairn/.env"],
    stateDirectory: home,
    hostEnv: process.env,
    newId: randomUUID,
    logger,
  });
  const ann = home + "/workspaces/main/ann";
  for (const user of ["ann", "bob"]) mkdirSync(home + "/workspaces/main/" + user, { recursive: true });
  writeFileSync(home + "/workspaces/main/bob/notes.md", "another user's file");
  writeFileSync("/srv/cairn/workspace/USER.md", "the owner's file");
  writeFileSync("/tmp/owner.txt", "a temporary file of the owner's");
  const workspace = owner ? "/srv/cairn/workspace" : ann;
  const results = [];
  for (const command of commands) {
    const context = { workspace, agent: "main", owner };
    results.push(await tool.execute({ command }, undefined, context).catch((error) => ({ content: error.code })));
  }
  const { createPromptBuilder } = await import("/opt/cairn/runtime/app/turn/prompt.ts");
  const refused = [];
  const prompts = createPromptBuilder({ logger: { warn: ({ path }) => refused.push(path) } });
  const prompt = await prompts.build("main", "/srv/cairn/workspace", "2026-01-02", "owner");
  const { spawnSync } = await import("node:child_process");
  const start = ["--no-warnings", "--input-type=module", "--eval", nextStart];
  const { stderr } = nextStart === "" ? { stderr: "" } : spawnSync(process.execPath, start, { encoding: "utf8" });
  console.log(JSON.stringify({ results, prompt, refused, stderr }));
`;

let image: string;
beforeAll(async () => {
  image = (await ensureTestImages()).node;
}, IMAGES_TIMEOUT_MS);

interface Outcome {
  readonly results: readonly { readonly content: string }[];
  /** What the service itself then takes from the workspace for a prompt, and which files it refuses. */
  readonly prompt: string;
  readonly refused: readonly string[];
  /** Of the module that ran as the next start of the service. */
  readonly stderr: string;
}

interface Circumstances {
  readonly settings?: Partial<ShellSettings>;
  readonly owner?: boolean;
  /** HOME of the service; default: that of the system's user. */
  readonly home?: string;
  /** A module that is run by the service's user after the commands. */
  readonly nextStart?: string;
}

/** The service is a child of the container's first process, as in the image: the first one could not be killed anyway. */
async function commandsInContainer(
  commands: readonly string[],
  { settings = {}, owner = true, home, nextStart = "" }: Circumstances = {},
): Promise<Outcome> {
  const mount = (folder: string) => ["--volume", `${join(ROOT, folder)}:/opt/cairn/${folder}:ro`];
  const output = await docker(
    ...["run", "--rm", "--user", "1000:0", "--read-only", "--cap-drop", "ALL", "--entrypoint", "sh"],
    ...["--security-opt", "no-new-privileges", "--tmpfs", "/tmp:exec", "--network", "none"],
    ...["/etc/cairn", "/var/lib/cairn", "/srv/cairn"].flatMap((path) => [
      "--tmpfs",
      `${path}:uid=1000,gid=0,mode=0770`,
    ]),
    ...(home === undefined ? [] : ["--env", `HOME=${home}`]),
    ...[...mount("runtime"), ...mount("node_modules"), ...mount("package.json")],
    ...[image, "-c", 'node "$@"; exit $?', "service", "--no-warnings", "--input-type=module"],
    ...["--eval", PROGRAM, JSON.stringify({ commands, settings, owner, nextStart })],
  );
  return JSON.parse(output.split("\n").at(-1) ?? "");
}

it("keep commands from the service's files and processes, and let them work", { timeout: 120_000 }, async () => {
  const { results } = await commandsInContainer([
    "cat /var/lib/cairn/node.key",
    "ls /etc/cairn; cat /etc/cairn/.env",
    "cat /srv/cairn/agents/other.md",
    "cat /proc/$PPID/environ | tr '\\0' '\\n' | grep IN_MEMORY; cat /proc/1/environ | grep -c IN_MEMORY",
    "echo kept > notes.md && mkdir -p a/b && mv notes.md a/b/ && cat a/b/notes.md && rm -r a",
    "date > /tmp/x && cat /tmp/x > /dev/null && (sleep 0.01 & wait) && node -p '6*7' && id -u",
    "sh -c 'cat /var/lib/cairn/node.key' ; python3 -c 'print(1)' 2>/dev/null; ln -s /var/lib/cairn/node.key link; cat link",
  ]);
  const [key, configuration, other, memory, work, system, around] = results.map(({ content }) => content);
  for (const refused of [key, configuration, other]) expect(refused).toMatch(/Permission denied|cannot open/);
  for (const one of results) {
    expect(one.content).not.toContain("the node's key");
    expect(one.content).not.toContain("another agent's file");
    expect(one.content).not.toContain("a value of the service");
  }
  expect(memory).toContain("Permission denied");
  expect(work).toBe("exit code: 0\nkept");
  expect(system).toBe("exit code: 0\n42\n1000");
  expect(around).toContain("Permission denied");
});

it("keep the service from following links that a command has made", { timeout: 120_000 }, async () => {
  const workspace = "/srv/cairn/workspace";
  const { results, prompt, refused } = await commandsInContainer([
    "ln -s /etc/cairn/.env CORE.md && ln -s /var/lib/cairn/node.key SOUL.md && ln -sf /proc/self/environ USER.md && echo made",
    "ln -s /srv/cairn/agents/other.md TOOLS.md; mkdir notes; ln -s /srv/cairn/agents memory; mkfifo AGENTS.md; echo made",
    "echo text > a && ln a IDENTITY.md; ln -s /dev/zero WORKSPACE.md; truncate -s 10G MEMORY.md; echo made",
    "ln /etc/cairn/.env CAPABILITIES.md || ln -s /etc/cairn/.env CAPABILITIES.md",
  ]);
  for (const { content } of results.slice(0, 3)) expect(content).toContain("made");
  expect(prompt).not.toMatch(
    /the node's key|the owner's token|another agent's file|a value of the service|IN_MEMORY|<file/,
  );
  const names = "CORE SOUL IDENTITY USER AGENTS TOOLS WORKSPACE MEMORY CAPABILITIES".split(" ");
  const paths = names.map((name) => `${workspace}/${name}.md`);
  expect(refused.filter((path) => !path.includes("/memory/")).sort()).toEqual(paths.sort());
});

it("keep the next start of the service from modules that a command has left", { timeout: 120_000 }, async () => {
  const dockerfile = await readFile(join(ROOT, "templates/image/Dockerfile"), "utf8");
  const home = /^ +HOME=(\S+)/m.exec(dockerfile)?.[1] ?? "";
  // Of the packages that the service loads, pg asks for one that is not installed.
  const plant = (at: string) =>
    `mkdir -p ${at}/.node_modules/pg-native && echo 'console.error("planted")' > ${at}/.node_modules/pg-native/index.js`;
  const places = ["$HOME", "/tmp", home, "/opt", "/"];
  const { results, stderr } = await commandsInContainer(
    [...places.map(plant), "echo $HOME > $HOME/kept; cat /tmp/kept"],
    {
      home,
      nextStart: 'await import("/opt/cairn/runtime/plugins/memory/postgres/index.ts");',
    },
  );
  expect(stderr).toBe("");
  const codes = results.map(({ content }) => content.split("\n")[0]);
  expect(codes).toEqual([0, 0, 1, 1, 1, 0].map((code) => `exit code: ${code}`));
  expect(results.at(-1)?.content).toBe("exit code: 0\n/tmp");
});

it("keep another user's commands in that user's workspace", { timeout: 120_000 }, async () => {
  const commands = [
    'echo mine > notes.md && cat notes.md && pwd && mktemp && echo "$HOME"',
    "cat ../bob/notes.md",
    "ls ..",
    "cat /var/lib/cairn/node.key",
    "cat /srv/cairn/workspace/USER.md",
    "echo planted >> /srv/cairn/workspace/AGENTS.md",
    "cat /tmp/owner.txt",
    "echo planted > /tmp/planted",
    "ln -s ../bob/notes.md link; cat link",
  ];
  const { results } = await commandsInContainer(commands, { owner: false });
  const [pwd, ...refused] = results;
  const ann = "/var/lib/cairn/workspaces/main/ann";
  expect(pwd?.content).toMatch(new RegExp(`^exit code: 0\\nmine\\n${ann}\\n${ann}/tmp\\.\\w+\\n${ann}$`));
  for (const one of refused) expect(one.content).toMatch(/^exit code: [1-9][\s\S]*(Permission denied|cannot open)/);
});

/** `$PPID` is the service, `1` what started it. */
const SIGNALS = [
  "for signal in 0 TERM KILL; do kill -$signal $PPID; kill -$signal 1; done",
  "for task in /proc/$PPID/task/* /proc/1/task/*; do kill -9 ${task##*/}; done",
  "kill -9 -- -1; kill -9 -- -$PPID; kill -9 -- -$(cut -d' ' -f5 /proc/$PPID/stat)",
  // tkill, tgkill, rt_sigqueueinfo and pidfd_open by their numbers.
  "perl -e '$p = getppid; for ([200, $p, 9], [234, $p, $p, 9], [129, $p, 9, 0], [434, $p, 0]) { print syscall($$_[0], map { $_ + 0 } @$_[1..$#$_]), qq(\\n) }'",
  // A directory of /proc as the descriptor of a process, and the signal that its owner gets when a pipe can be read.
  "perl -e '$p = getppid; opendir(D, \"/proc/$p\"); print syscall(424, fileno(D), 9, 0, 0)'",
  "perl -MFcntl -e 'pipe(R, W); fcntl(R, 8, getppid); fcntl(R, 10, 9); fcntl(R, F_SETFL, 020000); syswrite(W, 1); sleep 1'",
  "prlimit --pid $PPID --cpu=1:1; prlimit --pid $PPID --nofile=1:1; prlimit --pid 1 --nofile=1:1",
  "renice 19 -p $PPID; renice 19 -u 1000; taskset -p 1 $PPID; chrt -i -p 0 $PPID",
];
/** Landlock's scopes and the filter of system calls both do it; kernels before 6.12 have the filter alone. */
const GUARDS: [string, Partial<ShellSettings>][] = [
  ["Landlock's scopes and the filter", {}],
  ["the filter alone", { perlPaths: [] }],
];

it.skipIf(lacks("x64")).each(GUARDS)(
  "keep signals from the service with %s",
  { timeout: 120_000 },
  async (_, settings) => {
    const state =
      "cut -d' ' -f18,19,41 /proc/$PPID/stat; grep -hE 'cpu time|open files' /proc/$PPID/limits /proc/1/limits";
    const { results: all } = await commandsInContainer(
      [
        state,
        ...SIGNALS,
        "sleep 30 & kill $!; wait $!; echo $?; timeout 1 sleep 30; echo $?; setsid sleep 30 & sleep 0.2; kill -- -$!; echo $?",
        state,
      ],
      { settings },
    );
    const [before, ...results] = all;
    // That there is an answer says that the service went on.
    expect(results).toHaveLength(SIGNALS.length + 2);
    for (const { content } of results.slice(0, 3)) expect(content).not.toMatch(/^exit code: 0/);
    expect(results[3]?.content).toBe("exit code: 0\n-1\n-1\n-1\n-1");
    expect(results[4]?.content).toBe("exit code: 0\n-1");
    const [own, service] = results.slice(SIGNALS.length).map(({ content }) => content);
    expect(own).toBe("exit code: 0\n143\n124\n0");
    // Niceness, scheduling and limits are what they were.
    expect(service).toBe(before?.content);
    expect(service).toMatch(/Max open files/);
  },
);

it("keep the network from commands of others, and leave it to those of the owner", { timeout: 120_000 }, async () => {
  const commands = [
    'node -e \'require("net").connect(9, "127.0.0.1").on("error", (error) => console.log(error.code))\'',
    "perl -e 'use Socket; for (AF_INET, AF_INET6) { print socket(S, $_, SOCK_DGRAM, 0) ? 1 : 0 }'",
    'node -e \'require("net").createServer().listen("s", function () { console.log("local"); this.close() })\'',
  ];
  const answers = async (circumstances: Circumstances) =>
    (await commandsInContainer(commands, circumstances)).results.map(({ content }) =>
      content.replace("exit code: 0\n", ""),
    );
  expect(await answers({})).toEqual(["ECONNREFUSED", "11", "local"]);
  const [connected, internet, local] = await answers({ owner: false });
  expect([connected, internet]).toEqual(["EAFNOSUPPORT", "00"]);
  // Others share the machine with the owner's commands, so that a socket with a name would be where they meet.
  expect(local).toContain("EAFNOSUPPORT");
  expect(local).not.toMatch(/^local$/m);
  expect(await answers({ settings: { network: false } })).toEqual(["EAFNOSUPPORT", "00", "local"]);
  expect(await answers({ owner: false, settings: { setprivPaths: [] } })).toEqual(
    commands.map(() => "TOOL_SANDBOX_MISSING"),
  );
});

it("bound processes and memory, and leave no set-uid file and no namespace", { timeout: 120_000 }, async () => {
  const fork = `const { spawn } = require("node:child_process"); let started = 0; const next = () => {
    const child = spawn("sleep", ["300"], { stdio: "ignore" }).once("error", () => { console.log("started", started); process.exit() });
    if (child.pid && (started += 1) < 1500) setImmediate(next); else if (child.pid) { console.log("started", started); process.exit() }
  }; next()`;
  const [processes, memory, mode, namespace, score] = (
    await commandsInContainer(
      [
        `node -e '${fork}'`,
        "node -e 'const all = []; for (let i = 0; i < 70; i += 1) all.push(Buffer.alloc(20e6, 1)); console.log(\"took\")'",
        "cp /bin/true x; chmod 6755 x; perl -e 'use Fcntl; sysopen(F, \"y\", O_CREAT | O_WRONLY, 04755)'; find . -perm /6000; echo end",
        "unshare --user true; unshare --net true",
        "cat /proc/self/oom_score_adj",
      ],
      { settings: { maxProcesses: 1_000, maxMemoryBytes: 1024 ** 3 } },
    )
  ).results.map(({ content }) => content);
  expect(Number(/started (\d+)/.exec(processes ?? "")?.[1])).toBeLessThan(1_000);
  expect(memory).not.toContain("took");
  expect(mode).toMatch(/not permitted\nend$/);
  expect(namespace?.match(/not permitted/g)?.length).toBe(2);
  expect(score).toBe("exit code: 0\n1000");
});

/** By number on x86-64: what Landlock does not look at, because nothing is opened. Each must answer -1 with EPERM. */
const BY_PATH = `
  my $key = "/var/lib/cairn/node.key"; my $there = -100; my $name = "user.x";
  for ([90, $key, 0], [268, $there, $key, 0], [452, $there, $key, 0, 0], [92, $key, 1000, 0], [94, $key, 1000, 0],
       [260, $there, $key, 1000, 0, 0], [132, $key, 0], [235, $key, 0], [261, $there, $key, 0], [280, $there, $key, 0, 0],
       [188, $key, $name, $name, 1, 0], [189, $key, $name, $name, 1, 0], [197, $key, $name], [198, $key, $name],
       [254, 0, $key, 0xfff], [301, 0, 0, 0, 0, $key]) {
    print "$$_[0] allowed\n" unless syscall($$_[0], @$_[1..$#$_]) == -1 && $! == 1;
  }
  print "tried\n"
`;
const SHARED_BY_NUMBER = `
  for ([29, 4242, 65536, 01666], [30, 0, 0, 0], [31, 0, 0, 0], [64, 4242, 1, 01666], [65, 0, 0, 0], [66, 0, 0, 0, 0], [68, 4242, 01666],
       [69, 0, 0, 0, 2048], [70, 0, 0, 0, 0, 2048], [71, 0, 0, 0], [220, 0, 0, 0, 0], [240, "q", 66, 0666, 0], [241, "q"]) {
    print "$$_[0] allowed\n" unless syscall($$_[0], @$_[1..$#$_]) == -1 && $! == 1;
  }
  use Socket;
  for my $type (SOCK_STREAM, SOCK_DGRAM) { print "a local socket\n" if socket(S, AF_UNIX, $type, 0) }
  for my $type (SOCK_DGRAM, SOCK_RAW) { print "a pair that sends to names\n" if socketpair(A, B, AF_UNIX, $type, 0) }
  print "tried\n"
`;

it.skipIf(lacks("x64"))(
  "keep another user's command from modes, times and attributes of the service's files, and from where commands meet",
  { timeout: 120_000 },
  async () => {
    const files = "/var/lib/cairn /var/lib/cairn/node.key /etc/cairn/.env /srv/cairn/workspace";
    const state = `stat -c '%a %Y %n' ${files}`;
    const { results } = await commandsInContainer(
      [
        state,
        `chmod 000 ${files}; chmod 0777 /var/lib/cairn; touch -d 2001-01-01 ${files}; ${state}`,
        `perl -e '${BY_PATH}'`,
        `perl -e '${SHARED_BY_NUMBER}'`,
      ],
      { owner: false },
    );
    const [before, after, byPath, shared] = results.map(({ content }) => content);
    // The service itself writes to its own directory for each command: of its time only the year is sure.
    const lines = (content = "") =>
      content
        .split("\n")
        .filter((line) => /^\d+ \d+ \//.test(line))
        .map((line) => line.replace(/ 1\d{9} (?=\/var\/lib\/cairn$)/, " lately "));
    expect(lines(before)).toHaveLength(4);
    expect.soft(lines(after)).toEqual(lines(before));
    expect.soft(byPath).toBe("exit code: 0\ntried");
    expect.soft(shared).toBe("exit code: 0\ntried");
  },
);

it("leave another user's command what programs need", { timeout: 120_000 }, async () => {
  const { results } = await commandsInContainer(
    [
      'node -e \'require("child_process").exec("echo 42", (_, out) => process.stdout.write(out))\'',
      // A mode and times are set by a descriptor of a file that could be opened.
      "echo x > a && cp -p a b && touch a && touch -d 2001-01-01 b && stat -c %Y b && perl -e 'open F, q(b); chmod(0700, *F) == 1 or die' && stat -c %a b",
      "perl -e 'use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; syswrite(A, qq(through)); sysread(B, $x, 7); print $x'",
    ],
    { owner: false },
  );
  const content = results.map((result) => result.content.replace("exit code: 0\n", ""));
  expect(content).toEqual(["42", "978307200\n700", "through"]);
});

it("leave the owner's command modes, times and local sockets", { timeout: 120_000 }, async () => {
  const { results } = await commandsInContainer([
    "echo x > a && chmod 700 a && touch -d 2001-01-01 a && stat -c '%a %Y' a",
    'node -e \'require("net").createServer().listen("s", function () { console.log("local"); this.close() })\'',
  ]);
  expect(results.map(({ content }) => content)).toEqual(["exit code: 0\n700 978307200", "exit code: 0\nlocal"]);
});
