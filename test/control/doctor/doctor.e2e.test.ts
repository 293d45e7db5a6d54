import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Report, reportSchema } from "../../../control/doctor/report.ts";
import { CAIRN, environmentOf } from "../../support/commands.ts";
import { createPostgresCopy } from "../../support/databases.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode, TOKEN } from "../../support/node-process.ts";

const cluster = process.env.CAIRN_TEST_PG_URL ?? "";
const OFFLINE = {
  agents: { main: { provider: "offline" } },
  providers: { offline: {} },
  runtime: { listen: "127.0.0.1:0" },
};

describe.each(["embedded", "postgres"] as const)("doctor beside a living node (%s)", (backend) => {
  let deployment: Deployment;
  let node: NodeProcess;
  let remove = async (): Promise<void> => undefined;

  beforeAll(async () => {
    const database = backend === "postgres" ? await createPostgresCopy(cluster) : null;
    remove = async () => database?.remove();
    deployment = await createDeployment(
      database === null
        ? { config: OFFLINE }
        : { config: { ...OFFLINE, memory: { postgres: {} } }, env: { SERVICE_PG_URL: database.url } },
    );
    for (const name of ["CORE.md", "USER.md", "WORKSPACE.md", "MEMORY.md"])
      await writeFile(join(deployment.workspace, name), "");
    node = await startNode(deployment);
  });

  afterAll(async () => {
    node?.signal("SIGTERM");
    await node?.exited;
    await deployment?.remove();
    await remove();
  });

  it("finds nothing wrong, and asks the node what only the node knows", async () => {
    await node.call("/api/agents/main/messages", { session: "s", text: "hello" });
    const { report, code, stdout } = await doctor(deployment);
    expect(report.checks.filter(({ status }) => status === "fail" || status === "warn")).toEqual([]);
    expect(code).toBe(0);
    expect(stdout).not.toContain(TOKEN);
    const passed = report.checks.filter(({ status }) => status === "pass").map(({ id }) => id);
    expect(passed).toEqual(
      expect.arrayContaining([
        "deployment.node",
        "database.reachable",
        "database.migrations",
        "memory.writes",
        "queues.failed",
        "queues.backlog",
        "queues.schedules",
        "queues.approvals",
        "providers.available",
        "channels.connected",
        "updates.running",
        ...(backend === "postgres" ? ["system.clock", "database.pool", "database.extensions"] : ["database.lock"]),
      ]),
    );
  });

  it("says that the node has died once it was killed", async () => {
    node.signal("SIGKILL");
    await node.exited;
    const { report, code } = await doctor(deployment);
    expect(code).toBe(1);
    const problems = report.checks.filter(({ status }) => status === "warn" || status === "fail");
    expect(problems).toMatchObject([
      { id: "deployment.node", status: "fail", message: expect.stringContaining("has died") },
    ]);
    expect(report.checks.find(({ id }) => id === "memory.writes")).toMatchObject({
      status: "skip",
      follows_from: "deployment.node",
    });
    expect(report.checks.find(({ id }) => id === "database.reachable")).toMatchObject({ status: "pass" });
  });
});

/** A source tree that is being worked on, the user of the tests and whether this machine has bubblewrap are not what is tested. */
const MACHINE = "updates.source,system.user,system.sandbox";

/** The built command. */
async function doctor({ dir, home }: Deployment): Promise<{ report: Report; code: number; stdout: string }> {
  const argv = [CAIRN, "doctor", "--json", "--dir", dir, "--skip", MACHINE, "--timeout", "30"];
  const { stdout, code } = await promisify(execFile)(process.execPath, argv, {
    env: environmentOf({ dir, home }),
  }).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    (error: { code: number; stdout: string }) => error,
  );
  return { report: reportSchema.parse(JSON.parse(stdout)), code, stdout };
}
