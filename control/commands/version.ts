import process from "node:process";
import { BaseCommand } from "../base-command.ts";
import type { Mark } from "../output/terminal.ts";
import { newestMigration } from "../service/schema-version.ts";

export interface VersionResult {
  readonly name: string;
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  /** Number of the newest migration that this version brings along. */
  readonly schema: number | null;
}

export default class Version extends BaseCommand<VersionResult> {
  static override description = "Show which version this is";

  static override examples = ["<%= config.bin %> version", "<%= config.bin %> version --json"];

  protected async work(): Promise<VersionResult> {
    await this.parse(Version);
    const { bin: name, version, root } = this.config;
    const { platform, arch } = process;
    return { name, version, node: process.versions.node, platform, arch, schema: await newestMigration(root) };
  }

  protected render({ name, version, node, platform, arch }: VersionResult, mark: Mark): string {
    return `${name} ${version} ${mark.dim(`(node ${node}, ${platform}-${arch})`)}`;
  }
}
