import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { detectFacts, listenAgain, TOOLS } from "../../../control/wizard/detect/facts.ts";
import { chooseKey, fingerprintOf, readHostKey } from "../../../control/wizard/detect/host-key.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { createFakeTools } from "../../support/fake-tools.ts";
import { HOST_FINGERPRINT, HOST_KEY } from "../../support/terminal/setup-session.ts";

async function machine(answers: Readonly<Record<string, string>>) {
  const tools = await createFakeTools();
  onTestFinished(() => tools.remove());
  for (const [name, answer] of Object.entries(answers)) await tools.add(name, answer);
  return { tools, env: { PATH: tools.directory, HOME: await temporaryDirectory() } };
}

const detect = (env: Record<string, string>, toolTimeoutMs = EVENTUALLY_MS) =>
  detectFacts({ env, tools: TOOLS, localServers: [], toolTimeoutMs, timezone: "UTC" });

describe("what a machine has", () => {
  /** Of this machine, and not where a server on loopback listens: in place of the address of Docker's network. */
  const address = "127.0.0.2";

  test("is asked again where model servers listen, who may have been moved meanwhile", async () => {
    const { env } = await machine({ docker: `case "$1" in network) echo ${address};; *) echo 28.1.0;; esac` });
    const server = createServer((socket) => socket.destroy());
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const found = server.address();
    const port = found !== null && typeof found === "object" ? found.port : 0;
    const options = { env, tools: TOOLS, localServers: [], timezone: "UTC" };
    const before = await detectFacts(options);
    const servers = [{ ...before.provider, id: "ollama", baseUrl: `http://127.0.0.1:${port}/v1` }];
    const deaf = await listenAgain({ ...before, servers }, options);
    expect(deaf.own).toMatchObject({ docker: address, listening: [] });
    server.close();
    server.listen(port, "0.0.0.0");
    await once(server, "listening");
    expect((await listenAgain(deaf, options)).own.listening).toContain(`${address}:${port}`);
  });

  test("is told by its tools", async () => {
    const contexts = { "current-context": "a", contexts: [{ name: "a" }, { name: "b" }] };
    const { env } = await machine({
      docker: "echo 28.1.0",
      pulumi: "echo v3.206.0",
      kubectl: `echo '${JSON.stringify(contexts)}'`,
      ssh: "echo OpenSSH >&2",
      "ssh-add": "echo '256 SHA256:x me (ED25519)'; echo '256 SHA256:y me (ED25519)'",
    });
    await mkdir(join(env.HOME, ".ssh"));
    await writeFile(join(env.HOME, ".ssh", "id_ed25519.pub"), "");
    expect(await detect({ ...env, SSH_AUTH_SOCK: "/nowhere", XAI_API_KEY: "k" })).toMatchObject({
      docker: { version: "28.1.0" },
      pulumi: { version: "3.206.0" },
      kubernetes: { current: "a", contexts: ["a", "b"] },
      ssh: { agentKeys: 2, keyFiles: 1 },
      provider: { id: "xai" },
    });
  });

  test("is nothing where there are no tools", async () => {
    const { env } = await machine({});
    const nothing = { docker: null, pulumi: null, kubernetes: null, ssh: null, provider: { id: "offline" } };
    expect(await detect(env)).toMatchObject(nothing);
  });

  test.each([
    ["fail", "echo no >&2; exit 1"],
    ["say something else", "echo '<html>'"],
    ["say nothing", "exit 0"],
    ["never answer", "exec /bin/sleep 60"],
    ["are ended by a signal", "kill -9 $$"],
  ])("is found out, whatever the tools do: they %s", async (_what, answer) => {
    const { env } = await machine(Object.fromEntries([...TOOLS, "ssh-add"].map((name) => [name, answer])));
    const facts = await detect({ ...env, SSH_AUTH_SOCK: "/nowhere" }, answer.includes("sleep") ? 300 : EVENTUALLY_MS);
    expect(facts.docker?.version ?? null).toBeNull();
    expect(facts).toMatchObject({ pulumi: null, kubernetes: null, provider: { id: "offline" } });
  });

  test("asks no tool that is not wanted", async () => {
    const { tools, env } = await machine({ docker: "echo 1.0.0", kubectl: "echo {}" });
    await detectFacts({ env, tools: ["docker"], localServers: [] });
    expect((await tools.calls()).map(([name]) => name)).toEqual(["docker"]);
  });
});

describe("the key of a host", () => {
  const line = (kind: string, key = "AAAAB3Nza"): string => `pve.example.org ${kind} ${key}`;

  test("is the best one that it shows, and has the fingerprint that ssh-keygen tells", () => {
    expect(chooseKey(["# pve:22 SSH", line("ssh-rsa"), `pve ${HOST_KEY}`].join("\n"))).toBe(HOST_KEY);
    expect(chooseKey(line("ssh-rsa"))).toBe("ssh-rsa AAAAB3Nza");
    expect(chooseKey(line("ssh-dss"))).toBeNull();
    expect(chooseKey("")).toBeNull();
    expect(fingerprintOf(HOST_KEY)).toBe(HOST_FINGERPRINT);
  });

  test("is known where known_hosts has the same one, and not where it has another", async () => {
    const scan = `echo 'pve ${HOST_KEY}'`;
    const same = await machine({
      "ssh-keyscan": scan,
      "ssh-keygen": `echo '# Host pve found'; echo 'pve ${HOST_KEY}'`,
    });
    expect(await readHostKey("pve", 22, { env: same.env })).toMatchObject({ key: HOST_KEY, trusted: true });
    const other = await machine({ "ssh-keyscan": scan, "ssh-keygen": `echo '${line("ssh-ed25519", "AAAAother")}'` });
    expect(await readHostKey("pve", 2222, { env: other.env })).toMatchObject({ trusted: false });
    expect(await other.tools.calls()).toEqual(
      expect.arrayContaining([
        ["ssh-keyscan", "-T", "5", "-p", "2222", "pve"],
        ["ssh-keygen", "-F", "[pve]:2222"],
      ]),
    );
  });

  test("is none, with the reason, where the host shows none, or there is no ssh", async () => {
    const withoutAnswer = await machine({ "ssh-keyscan": "exit 1" });
    expect(await readHostKey("pve", 22, { env: withoutAnswer.env })).toBe("no SSH server answers at pve, port 22");
    const without = await machine({});
    expect(await readHostKey("pve", 22, { env: without.env })).toContain("`ssh-keyscan` is not there");
  });
});
