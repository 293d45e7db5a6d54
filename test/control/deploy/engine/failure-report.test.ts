import { describe, expect, it } from "vitest";
import { reportOf } from "../../../../control/deploy/engine/failure-report.ts";
import { ensureContainer } from "../../../../infra/components/proxmox/container-scripts.ts";
import { commandLine } from "../../../../infra/components/proxmox/shell.ts";

/** As the command provider writes it: the script as a string of Go. */
const ran = (script: string, output: string) =>
  `Process exited with status 1: running ${JSON.stringify(script)}:\n${output}`;
const SCRIPT = commandLine(
  ensureContainer(
    {
      vmid: 700,
      member: null,
      stack: "s",
      role: "one",
      template: "t",
      storage: "s",
      diskGiB: 8,
      unprivileged: true,
      settings: {},
      directories: [],
      stopTimeoutS: 5,
      intentFile: "/i",
      appliedFile: "/a",
    },
    { name: "s-one", configuration: "/etc/cairn", fileGroup: 1, stopTimeoutS: 5, arguments: ["image"] },
  ),
);

describe("what a provider says", () => {
  it("is the line in which a script of ours says why it failed, and nothing of the script", () => {
    const output =
      "docker: Error response from daemon: Minimum memory limit allowed is 6MB\nUnable to find image\ncairn: INFRA_FAILED: s-one cannot be started\n";
    expect(SCRIPT.length).toBeGreaterThan(2_500);
    expect(reportOf(ran(SCRIPT, output))).toEqual({
      sentence: "s-one cannot be started.",
      lastWords: ["docker: Error response from daemon: Minimum memory limit allowed is 6MB", "Unable to find image"],
      code: "INFRA_FAILED",
    });
  });

  it("is the last line of a command that gave no reason of its own, else its status", () => {
    const [first, last] = ["one", "docker: Error response from daemon: Minimum memory limit allowed is 6MB."];
    expect(reportOf(ran(SCRIPT, `${first}\n${last}\n`))).toMatchObject({ sentence: last, lastWords: [first] });
    expect(reportOf(ran(SCRIPT, ""))).toMatchObject({ sentence: "a command on the target ended with status 1." });
  });

  it("believes no code that is none of the table's", () => {
    expect(reportOf(ran("x", "cairn: INFRA_INVENTED: no\n"))).toMatchObject({ sentence: "no.", code: null });
  });

  it.each([
    [
      "sdk-v2/provider2.go:572: sdk.helper_schema: container failed to be in healthy state: provider=docker@5.0.0",
      "the container did not become healthy.",
    ],
    [
      "sdk-v2/provider2.go:572: sdk.helper_schema: container failed to be in healthy state",
      "the container did not become healthy.",
    ],
    [
      "1 error occurred:\n\t* Unable to start container: port is already allocated\n",
      "Unable to start container: port is already allocated.",
    ],
    ["rpc error: code = Unknown desc = Unable to create network", "Unable to create network."],
  ])("is without positions in its source: %s", (said, sentence) => {
    expect(reportOf(said).sentence).toBe(sentence);
  });

  it("is without stacks of the program that failed, whose own words stay", () => {
    const said = [
      "Unable to start",
      "file:///opt/cairn/dist/runtime/main.js:12",
      "        throw new Error('x');",
      "        ^",
      "",
      "Error: the certificate is not readable",
      "    at start (file:///opt/cairn/dist/runtime/main.js:12:15)",
      "    at async main (node:internal/main:1:2)",
      "    at file:///opt/cairn/dist/runtime/main.js:40:3",
      "goroutine 17 [running]:",
      "Node.js v24.1.0",
    ].join("\n");
    const { sentence, lastWords } = reportOf(said);
    expect(sentence).toBe("Unable to start.");
    expect(lastWords).toContain("Error: the certificate is not readable");
    expect(lastWords.join("\n")).not.toMatch(/ at |goroutine|\^|Node\.js v/);
  });

  it("is read from lines of any length", () => {
    const line = "a-word.of/".repeat(15_000);
    const { sentence, lastWords } = reportOf(`Unable to start\n${line}\nthe last one`);
    expect(sentence).toBe("Unable to start.");
    expect(lastWords).toEqual([`${line.slice(0, 300)}...`, "the last one"]);
  });
});
