import { describe, expect, it } from "vitest";
import { databaseServers } from "../../../../control/deploy/drivers/docker/host/database-servers.ts";
import { secondServer } from "../../../../control/deploy/drivers/docker/host/second-server.ts";
import {
  compareContents,
  isUpgrade,
  refuseOtherMajor,
  refuseTooLarge,
} from "../../../../control/deploy/operations/postgres/upgrade-plan.ts";
import { databaseDataOf } from "../../../../infra/plan/names.ts";
import type { DockerPlan } from "../../../../infra/plan/types.ts";

const GIB = 1024 ** 3;
const hintOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as { details: { hint: string } }).details.hint;
  }
  return "nothing was refused";
};

describe("an upgrade of PostgreSQL", () => {
  it.each([
    [{ server: 18, data: 17 }, true],
    [{ server: 17, data: 17 }, false],
  ])("%j: there is something to do, %s", (majors, expected) => {
    expect(isUpgrade(majors, "image")).toBe(expected);
  });

  it.each([
    { server: 16, data: 17 },
    { server: 18, data: null },
  ])("%j is refused", (majors) => {
    expect(() => isUpgrade(majors, "image")).toThrow(expect.objectContaining({ code: "INFRA_UP_REFUSED" }));
  });

  it.each([
    [{ server: 18, data: 17 }, true, /^`cairn infra postgres upgrade` moves them/],
    [
      { server: 18, data: 17 },
      false,
      /PostgreSQL 17, run `cairn infra up`, and then `cairn infra postgres upgrade --to pg:18`/,
    ],
    [{ server: 16, data: 17 }, true, /never go back/],
    [{ server: 17, data: 17 }, true, /nothing was refused/],
    [{ server: 17, data: null }, true, /nothing was refused/],
  ])("a server on the data of another major: %j, deployed %s", (majors, deployed, hint) => {
    expect(hintOf(() => refuseOtherMajor(majors, "pg:18", deployed))).toMatch(hint);
  });

  it.each([
    [{ used: 10 * GIB, free: 15 * GIB }, false],
    [{ used: 10 * GIB, free: 15 * GIB - 1 }, true],
    [{ used: 0, free: GIB - 1 }, true],
  ])("%j bytes: too little room, %s", (room, refused) => {
    const check = expect(() => refuseTooLarge(room));
    if (refused) check.toThrow(expect.objectContaining({ code: "INFRA_DISK_FULL" }));
    else check.not.toThrow();
  });

  it("on Docker reads the image that was applied last, and names data by their major", async () => {
    const type = "docker:index/remoteImage:RemoteImage";
    const of = (name: string, image: string) => ({
      urn: `urn:pulumi:lab::cairn::${type}::${name}`,
      type,
      name: image,
      id: null,
      protected: false,
      inputs: { name: image },
    });
    const { signal } = new AbortController();
    const servers = databaseServers({ stack: "lab", host: "local" } as DockerPlan, null);
    const recorded = [of("lab-one-image", "x"), of("lab-postgres-image", "pg:17")];
    expect(await servers.image(recorded, signal)).toBe("pg:17");
    expect(await servers.image([], signal)).toBeNull();
    const data = databaseDataOf("lab", 18);
    expect(servers.setting(data)).toEqual({
      path: ["deployment", "docker", "database_volume"],
      value: "lab-postgres-18-data",
    });
  });

  it("counts what both have, and names what one of them has not", () => {
    const own = ["extension vector", "relation public.a r", "rows public.a|3|17", "rows public.b|2|5"];
    expect(compareContents(own, [...own].reverse())).toEqual({ tables: 2, rows: 5 });
    expect(() => compareContents(own, own.slice(0, 3))).toThrow("rows public.b|2|5");
    expect(() => compareContents(own.slice(0, 3), own)).toThrow("rows public.b|2|5");
    expect(() => compareContents(own, [...own, "rows public.a|3|17"])).toThrow("a line is there twice");
    expect(() => compareContents(["rows public.a|3|17"], ["rows public.a|3|17"])).toThrow("extension vector");
  });
});

describe("the second server on Docker", () => {
  const wanted = { name: "two", image: "pg:18", mounts: ["--mount", "the data"], labels: ["cairn.stack=lab"] };
  const inspection = (limits: object) =>
    JSON.stringify([
      {
        Config: {
          Env: ["PATH=/x", "PGDATA=/d", "POSTGRES_USER=cairn"],
          Entrypoint: ["/bin/sh", "/s"],
          User: "999:999",
        },
        HostConfig: { ShmSize: 64, GroupAdd: ["0"], Tmpfs: { "/tmp": "rw" }, ...limits },
      },
    ]);

  it("has the limits and the variables of the first, and none of its network", () => {
    const { create } = secondServer(inspection({ Memory: 5, CpuPeriod: 100, CpuQuota: 50, PidsLimit: 9 }), wanted);
    const text = create.join(" ");
    expect(text).toContain("--network none");
    expect(text).toContain("--memory 5 --memory-swap 5 --cpu-period 100 --cpu-quota 50 --pids-limit 9");
    expect(text).toContain("--env PGDATA=/d --env POSTGRES_USER=cairn --tmpfs /tmp:rw");
    expect(text).toContain("--label cairn.stack=lab");
    expect(text).toContain("--mount the data");
    expect(text).not.toContain("PATH");
    expect(create.slice(-3)).toEqual(["/bin/sh", "pg:18", "/s"]);
  });

  it("has no limit where the first has none", () => {
    const { create } = secondServer(inspection({ Memory: 0, CpuQuota: 0, PidsLimit: null }), wanted);
    expect(create.join(" ")).not.toMatch(/--(memory|cpu|pids)/);
  });

  it("is not made from a description that is not understood", () => {
    expect(() => secondServer("[]", wanted)).toThrow(expect.objectContaining({ code: "INFRA_FAILED" }));
  });
});
