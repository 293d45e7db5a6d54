import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { type CheckReport, type Report, reportSchema, summarize } from "../../../control/doctor/report.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { ROOT } from "./probe-context.ts";

const EXAMPLES = join(ROOT, "docs", "examples", "monitoring");
const UNUSUAL = 'He said "no" | 5\\n %s $(id) `id`';

describe("the Nagios-style plugin", () => {
  it.each([
    [[], 0, "OK", "all checks passed"],
    [["warn"], 1, "WARNING", "It is odd."],
    [["warn", "fail"], 2, "CRITICAL", "It is broken."],
  ] as const)("for %j exits with %i", async (statuses, code, word, first) => {
    const found = statuses.map((status) => check(status, status === "fail" ? "It is broken." : "It is odd."));
    const { stdout, status } = await plugin(report([...found, check("pass", "Fine."), check("skip", "Not here.")]));
    expect(status).toBe(code);
    const [line, ...rest] = stdout.trimEnd().split("\n");
    const count = (wanted: string): number => statuses.filter((one) => one === wanted).length;
    expect(line).toBe(`CAIRN ${word} - ${first} | pass=1 warn=${count("warn")} fail=${count("fail")} skip=1`);
    expect(rest).toHaveLength(statuses.length);
  });

  it("shows odd texts as they are, but for the bar, and runs nothing of them", async () => {
    const { stdout, status } = await plugin(report([check("fail", UNUSUAL)]));
    expect(status).toBe(2);
    const [line = ""] = stdout.split("\n");
    expect(line.split("|")).toHaveLength(2);
    expect(line).toContain('He said "no" / 5');
    expect(line).toContain("%s $(id) `id`");
  });

  it.each([
    [
      "an error document",
      JSON.stringify({ ok: false, error: { code: "X", message: "It cannot run." } }, null, 2),
      "It cannot run.",
    ],
    ["nothing", "", "could not be run"],
    ["something else", "Segmentation fault", "could not be run"],
  ])("is UNKNOWN when doctor prints %s", async (_what, text, reason) => {
    const { stdout, status } = await plugin(text);
    expect(status).toBe(3);
    expect(stdout).toMatch(/^CAIRN UNKNOWN - /);
    expect(stdout).toContain(reason);
  });

  it("is UNKNOWN without the command, and hands its arguments on", async () => {
    expect(run("check_cairn", [], { CAIRN: "/no/such/cairn" })).toMatchObject({ status: 3 });
    const directory = await temporaryDirectory();
    const program = await fake(directory, JSON.stringify(report([]), null, 2));
    run("check_cairn", ["--dir", "/a b"], { CAIRN: program });
    expect(await readFile(join(directory, "arguments"), "utf8")).toBe("doctor\n--json\n--dir\n/a b\n");
  });
});

describe("the Prometheus textfile wrapper", () => {
  it("writes one metric for each check that applies, and replaces the file in one step", async () => {
    const directory = await temporaryDirectory();
    const program = await fake(
      directory,
      JSON.stringify(report([check("fail", UNUSUAL), check("warn", "w"), check("skip", "s")]), null, 2),
      1,
    );
    const folder = join(directory, "collector");
    await mkdir(folder);
    await writeFile(join(folder, "cairn.prom"), "old\n");
    const { status, stderr } = run("cairn-textfile.sh", [join(folder, "cairn.prom"), "--", "--dir", "/x"], {
      CAIRN: program,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(await readdir(folder)).toEqual(["cairn.prom"]);
    const metrics = parse(await readFile(join(folder, "cairn.prom"), "utf8"));
    expect(metrics.get("cairn_doctor_exit_code")).toBe(1);
    expect(metrics.get('cairn_doctor_info{version="1.2.3",node="box"}')).toBe(1);
    expect(metrics.get('cairn_doctor_checks{status="skip"}')).toBe(1);
    expect(metrics.get('cairn_doctor_check_status{id="system.fail",category="system"}')).toBe(2);
    expect(metrics.get('cairn_doctor_check_status{id="system.warn",category="system"}')).toBe(1);
    expect(metrics.has('cairn_doctor_check_status{id="system.skip",category="system"}')).toBe(false);
    expect(metrics.get('cairn_doctor_check_duration_seconds{id="system.warn",category="system"}')).toBe(0.0015);
    expect(Math.abs((metrics.get("cairn_doctor_run_timestamp_seconds") ?? 0) - Date.now() / 1_000)).toBeLessThan(600);
    expect(await readFile(join(directory, "arguments"), "utf8")).toContain("--dir\n/x\n");
  });

  it("tells that doctor could not run, by its exit code alone", async () => {
    const { stdout } = run("cairn-textfile.sh", [], { CAIRN: "/no/such/cairn" });
    const metrics = parse(stdout);
    expect(metrics.get("cairn_doctor_exit_code")).toBe(2);
    expect([...metrics.keys()].some((name) => name.startsWith("cairn_doctor_check"))).toBe(false);
  });

  it("leaves the old file where the new one cannot be written", async () => {
    const directory = await temporaryDirectory();
    const program = await fake(directory, JSON.stringify(report([]), null, 2));
    const { status } = run("cairn-textfile.sh", [join(directory, "missing", "cairn.prom")], { CAIRN: program });
    expect(status).not.toBe(0);
  });
});

it("the examples need no more than a POSIX shell", () => {
  for (const name of ["check_cairn", "cairn-textfile.sh"]) {
    expect(spawnSync("sh", ["-n", join(EXAMPLES, name)]).status).toBe(0);
  }
});

async function plugin(said: Report | string) {
  const directory = await temporaryDirectory();
  const text = typeof said === "string" ? said : JSON.stringify(reportSchema.parse(said), null, 2);
  return run("check_cairn", [], { CAIRN: await fake(directory, text) });
}

/** A command that keeps its arguments, prints a text and exits. */
async function fake(directory: string, text: string, code = 0): Promise<string> {
  const program = join(directory, "cairn");
  await writeFile(join(directory, "text"), text);
  await writeFile(
    program,
    `#!/bin/sh\nprintf '%s\\n' "$@" > '${directory}/arguments'\ncat '${directory}/text'\nexit ${code}\n`,
  );
  await chmod(program, 0o755);
  return program;
}

function run(name: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  return spawnSync(join(EXAMPLES, name), args, { encoding: "utf8", env: { PATH: process.env.PATH, ...env } });
}

/** Name and labels to value; every line that is no comment must be one. */
function parse(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const match = /^([a-z_]+(?:\{(?:[a-z]+="[^"\n]*",?)+\})?) (-?[0-9.]+)$/.exec(line);
      expect(match, line).not.toBeNull();
      return [match?.[1] ?? "", Number(match?.[2])];
    }),
  );
}

/** In the order in which the report has its members. */
function check(status: CheckReport["status"], message: string): CheckReport {
  const fix = status === "warn" || status === "fail" ? { fix: "Mend it." } : {};
  return { id: `system.${status}`, category: "system", status, message, ...fix, duration_ms: 1.5 };
}

function report(checks: readonly CheckReport[]): Report {
  return { schema: 1, version: "1.2.3", node: "box", ...summarize(checks), checks: [...checks] };
}
