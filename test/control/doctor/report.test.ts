import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { CHECKS } from "../../../control/doctor/checks/index.ts";
import { examine, examineAndFix } from "../../../control/doctor/doctor.ts";
import { CATEGORIES, reportSchema } from "../../../control/doctor/report.ts";
import { runChecks } from "../../../control/doctor/run.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { NO_TOOLS, type ProbeContextSpec, probeContextWith, ROOT, VERSION } from "./probe-context.ts";
import { SCHEMA_FILE, schemaText } from "./published-schema.ts";

const FIXTURES = join(ROOT, "test", "fixtures", "doctor");

describe("the published schema", () => {
  it("is that of the program (`node test/control/doctor/write-schema.ts` writes it anew)", async () => {
    // The formatter breaks its lines otherwise: what it says is what counts.
    expect(JSON.parse(await readFile(SCHEMA_FILE, "utf8"))).toEqual(JSON.parse(schemaText()));
  });

  it("still takes what an earlier version said", async () => {
    const earlier = await json("report-0.1.0.json");
    expect(await problems(SCHEMA_FILE, earlier)).toEqual([]);
    expect(() => reportSchema.parse(earlier)).not.toThrow();
  });

  it("lets no reader of an earlier version down: all of its fields and values are still there", async () => {
    const schema = join(FIXTURES, "schema-0.1.0.json");
    for (const yaml of [undefined, null, "agents: [", "version: 99\n", "version: 1\nruntime: { listen: x }\n"]) {
      const { report } = await examine(await deployment(yaml === undefined ? {} : { yaml }));
      expect(await problems(schema, report)).toEqual([]);
      expect(await problems(SCHEMA_FILE, report)).toEqual([]);
    }
    const { report } = await examineAndFix(await deployment({ env: "", mode: 0o644 }), { confirm: async () => true });
    expect(report.repairs).not.toEqual([]);
    expect(await problems(schema, report)).toEqual([]);
  });

  it("keeps every id", async () => {
    const ids = CHECKS.map(({ id }) => id);
    for (const id of await json("ids-0.1.0.json")) expect(ids).toContain(id);
  });
});

describe("a report", () => {
  it("has every check of every category exactly once, whatever is broken", async () => {
    for (const yaml of [undefined, null, "agents: ["]) {
      const { report } = await examine(await deployment(yaml === undefined ? {} : { yaml }));
      expect(report.checks.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
      expect(new Set(report.checks.map(({ category }) => category))).toEqual(new Set(CATEGORIES));
      const { pass, warn, fail, skip } = report.summary;
      expect(pass + warn + fail + skip).toBe(CHECKS.length);
      expect(report.status).toBe(fail > 0 ? "fail" : warn > 0 ? "warn" : "pass");
      for (const { status, fix } of report.checks)
        expect(fix !== undefined).toBe(status === "warn" || status === "fail");
    }
  });

  it("skips what is about the database when the configuration is broken, and says why", async () => {
    const { report } = await examine(await deployment({ yaml: "version: 1\nagents: [\n" }));
    const database = report.checks.filter(({ category }) => category === "database");
    expect(database.map(({ status }) => status)).toEqual(database.map(() => "skip"));
    expect(database[0]?.message).toBe("The configuration is no YAML (see config.syntax).");
  });

  it("is made although pipes stand where files should be", async () => {
    const input = await deployment({ yaml: null });
    execFileSync("mkfifo", [join(input.cwd, "cairn.yaml"), join(input.cwd, ".env")]);
    const { report, late } = await examine(input);
    expect(late).toBe(false);
    const failed = report.checks.filter(({ status }) => status === "fail").map(({ id }) => id);
    expect(failed).toEqual(["config.present", "secrets.file"]);
  });

  it("never holds a secret, wherever it stands", async () => {
    const secrets = ["in-the-file-itself", "in-the-environment", "in-dot-env-only", "in-the-url"];
    const yaml = `version: 1
agents: { main: { provider: openai } }
providers:
  openai: { model: m, base_url: "http://127.0.0.1:1/\${PATH_TOKEN}", api_key: in-the-file-itself }
memory: { postgres: { connection_string: "postgresql://u:in-the-url@127.0.0.1:1/db" } }
`;
    const spec: ProbeContextSpec = {
      yaml,
      env: "SERVICE_API_TOKEN=in-dot-env-only\n",
      variables: { PATH_TOKEN: "in-the-environment" },
    };
    for (const text of [yaml, yaml.replace("agents:", "agents: ["), `${yaml}runtime: { in-the-file-itself: 1 }\n`]) {
      const { report } = await examine(await deployment({ ...spec, yaml: text }));
      const said = JSON.stringify(report);
      for (const secret of secrets) expect(said).not.toContain(secret);
    }
  });

  it("is made without a home directory: what needs one is skipped, and says so", async () => {
    const context = await probeContextWith({ home: false });
    expect(context.paths.home).toBeNull();
    const { checks } = await runChecks(CHECKS, context, {
      timeoutMs: EVENTUALLY_MS,
      signal: new AbortController().signal,
    });
    const failed = checks.filter(({ status }) => status === "fail").map(({ id }) => id);
    expect(failed).toEqual(["system.home", "workspace.exists"]);
    expect(checks.find(({ id }) => id === "system.disk")).toMatchObject({
      status: "skip",
      message: expect.stringContaining("system.home"),
    });
  });
});

async function deployment(spec: ProbeContextSpec) {
  const { paths, processEnv } = await probeContextWith(spec);
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  return {
    flags: { dir: paths.dir },
    env: processEnv,
    cwd: paths.dir,
    root: ROOT,
    version: VERSION,
    timeoutMs: EVENTUALLY_MS,
    probe: NO_TOOLS,
    signal: ended.signal,
  };
}

async function json(name: string): Promise<readonly string[]> {
  return JSON.parse(await readFile(join(FIXTURES, name), "utf8"));
}

async function problems(schemaFile: string, value: unknown): Promise<unknown> {
  const validate = new Ajv2020({ strict: false }).compile(JSON.parse(await readFile(schemaFile, "utf8")));
  return validate(JSON.parse(JSON.stringify(value))) ? [] : validate.errors;
}
