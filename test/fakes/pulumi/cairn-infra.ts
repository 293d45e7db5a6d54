/**
 * A command of `cairn infra` over the stub plugins, as a process of its own: `cairn-infra.ts <folder> <command> [flags]`. The
 * real command runs; its driver alone is the stub's, and every image is there.
 */

import process from "node:process";
import { fileURLToPath } from "node:url";
import InfraDestroy from "../../../control/commands/infra/destroy.ts";
import InfraUnlock from "../../../control/commands/infra/unlock.ts";
import InfraUp from "../../../control/commands/infra/up.ts";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import type { Services } from "../../../control/deploy/operations/services.ts";
import type { Deployment } from "../../../control/service/deployment.ts";
import { stubDriver } from "./stub-driver.ts";
import { makeStubPlugins } from "./stub-plugins.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const [folder = "", command = "", ...argv] = process.argv.slice(2);
const plugins = makeStubPlugins(folder);

function services(deployment: Deployment): Services {
  return {
    ...defaultServices({ deployment, root: ROOT, prompts: null }),
    createDriver: async ({ plan }) => stubDriver(plan, { plugins }),
    // No node answers on the stub's target.
    nodes: {
      call: () => Promise.reject(new Error("no node is called here")),
      gate: async () => undefined,
      pause: async () => undefined,
      resume: async () => undefined,
    },
  };
}

class Up extends InfraUp {
  static override id = "infra:up";
  protected override services = services;
}
class Destroy extends InfraDestroy {
  static override id = "infra:destroy";
  protected override services = services;
}
class Unlock extends InfraUnlock {
  static override id = "infra:unlock";
  protected override services = services;
}

const options = { root: ROOT };
if (command === "up") await Up.run(argv, options);
else if (command === "destroy") await Destroy.run(argv, options);
else await Unlock.run(argv, options);
