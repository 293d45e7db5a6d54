/** The real services behind the operations. What loads much is loaded when it is first needed. */

import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { UsageError } from "../../output/failure.ts";
import type { Deployment } from "../../service/deployment.ts";
import { createNodeAccess } from "../node-access.ts";
import { ownIdentity } from "../state/operator-lock.ts";
import type { Prompts, ReadProject, Services } from "./services.ts";

export interface ServiceOptions {
  readonly deployment: Deployment;
  /** Directory of the program's package.json: what an image is built from. */
  readonly root: string;
  readonly prompts: Prompts | null;
}

export function defaultServices({ deployment, root, prompts }: ServiceOptions): Services {
  const { home } = deployment;
  return {
    nodes: createNodeAccess(deployment),
    configuration: {
      async removeNode(name) {
        const [{ editConfiguration }, { removeNodeSettings }, { readProject }] = await Promise.all([
          import("../../configuration/edit.ts"),
          import("../node-settings.ts"),
          import("../../../infra/project.ts"),
        ]);
        const { plan } = await readProject({ dir: deployment.dir, home });
        await editConfiguration(deployment, (document) => removeNodeSettings(document, plan, name));
      },
      async renameNode(from, to) {
        const [{ editConfiguration }, { renameNodeSettings }] = await Promise.all([
          import("../../configuration/edit.ts"),
          import("../node-settings.ts"),
        ]);
        await editConfiguration(deployment, (document) => renameNodeSettings(document, from, to));
      },
      async setDatabase(to) {
        const [{ editConfiguration }, { databaseSettings }] = await Promise.all([
          import("../../configuration/edit.ts"),
          import("../node-settings.ts"),
        ]);
        await editConfiguration(deployment, (document) => databaseSettings(document, to));
      },
    },
    prompts,
    now: () => new Date(),
    sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
    identity: ownIdentity,
    async readProject(dir, signal) {
      const { readProject } = await import("../../../infra/project.ts");
      return readProject({ dir, home, signal });
    },
    async createDriver({ plan, secrets }) {
      const { createDriver } = await import("../drivers/index.ts");
      return createDriver(plan, secrets);
    },
    async createProgram(project, options) {
      const { createProgram } = await import("../../../infra/program.ts");
      return createProgram(project, options);
    },
    async openEngine({ files, stack, target, backend, secrets, report, log, killSignal }) {
      const [{ createPulumiEngine }, { findPulumi }] = await Promise.all([
        import("../engine/pulumi-engine.ts"),
        import("../engine/pulumi-cli.ts"),
      ]);
      let found: ReturnType<typeof findPulumi> | null = null;
      const cli = (): ReturnType<typeof findPulumi> => {
        found ??= findPulumi({ env: process.env, installRoot: join(home, "pulumi"), killSignal, report });
        return found;
      };
      return createPulumiEngine({ cli, files, stack, target, backend, secrets, log });
    },
    release: {
      async read(dir) {
        return (await import("../../../infra/release.ts")).readRelease(dir);
      },
      async write(dir, release) {
        await (await import("../../../infra/release.ts")).writeRelease(dir, release);
      },
    },
    images: {
      async provide(project, report, signal) {
        return (await import("../provide-image.ts")).provideImage({ deployment, root, project, report, signal });
      },
      async resolve(reference, project, signal) {
        return (await import("../provide-image.ts")).resolveImage(reference, project, signal);
      },
      async architectures(image, { secrets }, signal) {
        return (await import("../images/architecture.ts")).imageArchitectures(image, secrets.registry, signal);
      },
    },
    async render(dir, request) {
      const { renderProject } = await import("../../../infra/render.ts");
      const { backend, ...rest } = request;
      return renderProject({ dir, ...rest, ...(backend === undefined ? {} : { backend }) });
    },
    async backup(dir, project, driver, signal) {
      const { backupDeployed, backupsFolder } = await import("../backup-deployed.ts");
      const name = `${project.plan.stack}-${new Date().toISOString().replaceAll(/[:.]/g, "-")}.backup`;
      const folder = await backupsFolder(dir);
      return backupDeployed({ file: join(folder, name), node: firstNode(project), deployment, driver, signal });
    },
  };
}

function firstNode({ plan }: ReadProject): string {
  const [first] = plan.nodes;
  if (first) return first.name;
  throw new UsageError("The deployment has no node.");
}
