import { describe, expect, it } from "vitest";
import { buildFailure } from "../../../../control/deploy/build/failure.ts";
import { BuildProgress } from "../../../../control/deploy/build/progress.ts";

function read(...lines: string[]): BuildProgress {
  const progress = new BuildProgress(() => 0);
  for (const line of lines) progress.line(line);
  return progress;
}

const START = [
  '#0 building with "default" instance using docker driver',
  "#1 [internal] load build definition from Dockerfile",
  "#1 DONE 0.0s",
  "#5 [dependencies 1/5] FROM node",
];

describe("BuildProgress", () => {
  it("names the step that has been at work longest", () => {
    const progress = read(...START, "#6 [node 2/9] RUN apt", "#7 [dependencies 5/5] RUN npm ci");
    expect(progress.current()?.name).toBe("[dependencies 1/5] FROM node");
    progress.line("#5 CACHED");
    expect(progress.current()?.name).toBe("[node 2/9] RUN apt");
    progress.line("#6 DONE 12.3s");
    progress.line("#7 ...");
    progress.line("#7 [dependencies 5/5] RUN npm ci");
    expect(progress.current()?.name).toBe("[dependencies 5/5] RUN npm ci");
    progress.line("#7 DONE 1.0s");
    expect(progress.current()).toBeNull();
  });

  it("keeps the last 30 lines of the step that failed, and none of the others", () => {
    const progress = read("#6 [node 2/9] RUN apt", "#7 [dependencies 5/5] RUN npm ci");
    for (let i = 0; i < 100; i++) {
      progress.line(`#7 ${i}.25 npm says ${i}`);
      progress.line(`#6 ${i}.25 apt says ${i}`);
    }
    progress.line("#6 CANCELED");
    progress.line('#7 ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1');
    const failure = progress.failure();
    expect(failure.step).toBe("[dependencies 5/5] RUN npm ci");
    expect(failure.reason).toMatch(/exit code: 1$/);
    expect(failure.output).toHaveLength(30);
    expect(failure.output[0]).toBe("npm says 70");
    expect(failure.output.at(-1)).toBe("npm says 99");
  });

  it("takes the step that failed, not those that were cancelled for it", () => {
    const progress = read(
      "#6 [node 2/9] RUN apt",
      "#7 [dependencies 5/5] RUN npm ci",
      "#6 ERROR: rpc error: code = Canceled desc = context canceled",
      "#7 ERROR: exit code: 1",
    );
    expect(progress.failure().step).toBe("[dependencies 5/5] RUN npm ci");
  });

  it("has BuildKit's own words when no step failed", () => {
    const progress = read("#0 building with default", "ERROR: failed to solve: something else");
    expect(progress.failure()).toMatchObject({ step: null, reason: "failed to solve: something else" });
  });
});

describe("buildFailure", () => {
  const base = { step: "[dependencies 5/5] RUN npm ci", reason: "exit code: 1", output: ["first", "second"] };

  it("shows the step and its words", () => {
    const error = buildFailure(base);
    expect(error.code).toBe("INFRA_BUILD_FAILED");
    expect(error.message).toContain("npm ci");
    expect(error.message).toContain("second");
  });

  it("keeps a long command out of the headline", () => {
    const error = buildFailure({ ...base, step: `[node 2/9] RUN ${"x".repeat(900)}` });
    expect(error.message.split("\n")[0]?.length).toBeLessThan(200);
  });

  it.each([
    ["INFRA_DISK_FULL", { ...base, output: ["npm error code ENOSPC", "npm error nospc"] }],
    ["INFRA_DISK_FULL", { ...base, reason: "write /var/lib/docker/x: no space left on device" }],
    [
      "INFRA_HOST_UNREACHABLE",
      {
        step: null,
        reason: "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
        output: [],
      },
    ],
    ["INFRA_BUILD_FAILED", { ...base, output: ["Cannot connect to the Docker daemon"] }],
  ] as const)("is %s", (code, failure) => {
    expect(buildFailure(failure).code).toBe(code);
  });

  it.each([
    [
      "--base-image",
      { ...base, step: "[internal] load metadata for docker.io/library/node:24-trixie-slim", reason: "not found" },
    ],
    ["docker login", { ...base, step: "pushing registry.example.org/x", reason: "denied: requested access" }],
    ["--npmrc", { ...base, output: ["npm error code ENOTFOUND"] }],
  ])("hints at %s", (hint, failure) => {
    expect(buildFailure(failure).details.hint).toContain(hint);
  });
});
