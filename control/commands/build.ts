import { resolve } from "node:path";
import process from "node:process";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import { buildImage } from "../deploy/build/build.ts";
import { configuredBuild } from "../deploy/build/deployment.ts";
import { type BuildResult, DEFAULT_BASE_IMAGE } from "../deploy/build/types.ts";
import { renderBuilt, sourceDateEpoch } from "../deploy/build/words.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";

export default class Build extends BaseCommand<BuildResult> {
  static override description =
    "Build the container image of a node\n\n" +
    "Holds the service and the deployment's plugins and skills, nothing else. In a deployment directory the image is " +
    "noted in infra/release.json, and `infra up` gives it to nodes that have none yet.";

  static override examples = [
    "<%= config.bin %> build",
    "<%= config.bin %> build --base-image registry.example.org/node:24-trixie-slim --package git",
    "<%= config.bin %> build --push --tag registry.example.org/team/cairn:1.2.3 --platform linux/amd64 --platform linux/arm64",
  ];

  static override flags = {
    "base-image": Flags.string({
      default: DEFAULT_BASE_IMAGE,
      helpValue: "IMAGE",
      description: "A Debian with Node 24",
    }),
    tag: Flags.string({
      multiple: true,
      helpValue: "REFERENCE",
      description: "Name of the image (default: what deployment.image says, else cairn:VERSION)",
    }),
    push: Flags.boolean({ default: false, description: "Send it to its registry" }),
    load: Flags.boolean({
      allowNo: true,
      description: "Put it into this machine's engine (default, except for several platforms)",
    }),
    platform: Flags.string({
      multiple: true,
      helpValue: "OS/ARCH",
      description: "Build for another platform, or with --push for several",
    }),
    package: Flags.string({
      multiple: true,
      helpValue: "NAME",
      description: "Debian package for the agents' commands, such as git",
    }),
    "no-cache": Flags.boolean({ default: false, description: "Do every step again" }),
    network: Flags.string({ helpValue: "NAME", description: "Network of the steps that fetch packages, such as host" }),
    npmrc: Flags.string({
      helpValue: "FILE",
      parse: async (path) => resolve(path),
      description: "npm's configuration for the time of the build: registry, token",
    }),
    progress: Flags.string({
      options: ["auto", "plain"],
      default: "auto",
      description: "plain: every line of the builder",
    }),
  };

  protected async work({ signal }: Interruption): Promise<BuildResult> {
    const { flags } = await this.parse(Build);
    const platforms = flags.platform ?? [];
    const { deployment, reference } = await configuredBuild(findDeployment(flags), flags.push, signal);
    const progress = startProgress(this.terminal);
    const plain = flags.progress === "plain";
    const warnings: string[] = [];
    try {
      return await buildImage(
        {
          baseImage: flags["base-image"],
          tags: (version) => flags.tag ?? [reference(version)],
          push: flags.push,
          load: flags.load ?? platforms.length < 2,
          platforms,
          noCache: flags["no-cache"],
          network: flags.network ?? null,
          npmrc: flags.npmrc ?? null,
          packages: flags.package ?? [],
        },
        deployment,
        {
          root: this.config.root,
          signal,
          sourceDateEpoch: sourceDateEpoch(process.env),
          report: plain ? () => undefined : (text) => progress.update(text),
          warn: (text) => warnings.push(text),
          ...(plain ? { line: (text: string) => void this.note(text) } : {}),
        },
      );
    } finally {
      await progress.end();
      for (const text of warnings) await this.note(text);
    }
  }

  protected render(result: BuildResult, mark: Mark): string {
    return renderBuilt(result, mark);
  }
}
