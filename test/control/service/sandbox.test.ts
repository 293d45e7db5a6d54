import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { missingSandbox } from "../../../control/service/sandbox.ts";
import { loadConfig } from "../../../runtime/config/index.ts";
import { deploymentDirectory, MINIMAL } from "../../support/deployment.ts";

const signal = new AbortController().signal;
const missing = async () => "bubblewrap (bwrap) is not installed";

describe("the sandbox of agents' commands", () => {
  it("is missed where an agent has the shell, with the line that installs it", async () => {
    const found = await missingSandbox(await configured(""), signal, missing);
    expect(found).toMatchObject({ problem: "bubblewrap (bwrap) is not installed" });
    if (process.platform === "linux") expect(found?.fix).toContain("apt install bubblewrap");
    expect(await missingSandbox(await configured(""), signal, async () => null)).toBeNull();
  });

  it.each(["tools: { shell: { sandbox: none } }\n", "tools: { shell: { enabled: false } }\n"])(
    "is not asked for with %j",
    async (yaml) => {
      const never = async () => {
        throw new Error("asked");
      };
      expect(await missingSandbox(await configured(yaml), signal, never)).toBeNull();
    },
  );
});

async function configured(more: string) {
  const dir = await deploymentDirectory({ yaml: MINIMAL + more });
  const { config } = await loadConfig({ dir, home: join(dir, "home"), env: { HOME: dir }, cwd: dir });
  return config;
}
