import { join } from "node:path";
import { Flags } from "@oclif/core";
import { type AuditVerification, verifyAudit } from "../../audit/verify-audit.ts";
import { BaseCommand } from "../../base-command.ts";
import { EXIT, UsageError } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class AuditVerify extends BaseCommand<AuditVerification> {
  static override summary = "Check that the audit log is as it was written";

  static override description =
    "Each line of the audit log has a hash over all lines before it. Every change, and every line that is missing between two others, " +
    "is reported, and the exit code is 1. Reads the files of this machine's home, also while the node writes.\n\n" +
    "What was cut off at the end, or written anew by somebody with the rights of the service, no hash can show alone: keep the last " +
    "hash elsewhere, and give it with --includes.";

  static override examples = [
    "<%= config.bin %> audit verify",
    "<%= config.bin %> audit verify --json | jq -r .head",
    "<%= config.bin %> exec --node nova-2 -- cairn audit verify",
  ];

  static override flags = {
    includes: Flags.string({
      helpValue: "HASH",
      description: "A hash that was the last one earlier: it must be there",
    }),
  };

  protected async work({ signal }: Interruption): Promise<AuditVerification> {
    const { flags } = await this.parse(AuditVerify);
    const includes = flags.includes?.toLowerCase();
    if (includes !== undefined && !/^[0-9a-f]{64}$/.test(includes)) {
      throw new UsageError(
        "--includes is no hash.",
        "It is the `head` of an earlier `audit verify`: 64 hexadecimal digits.",
      );
    }
    return verifyAudit(join(findDeployment(flags).home, "logs", "audit"), { includes, signal });
  }

  protected override exitCodeOf({ problems }: AuditVerification): number {
    return problems.length === 0 ? EXIT.done : EXIT.failed;
  }

  protected render(result: AuditVerification, mark: Mark): string {
    const { directory, files, verified, without_hash, begins_later, head, problems } = result;
    if (files === 0) return `There is no audit log in ${directory} yet.`;
    const lines = problems.map(({ file, line, reason }) =>
      mark.error(visible(`${file}${line === null ? "" : `, line ${line}`}: ${reason}`)),
    );
    const counted = `${verified} ${verified === 1 ? "line" : "lines"} in ${files} ${files === 1 ? "file" : "files"}`;
    lines.push(problems.length === 0 ? `${mark.good("Unchanged:")} ${counted}` : `${counted} are unchanged.`);
    if (without_hash > 0) {
      lines.push(`Without a hash of their own: ${without_hash}, from before the chain or cut off by a crash.`);
    }
    if (begins_later)
      lines.push("Older files are gone: runtime.safety.audit_retention decides how long they are kept.");
    if (head !== null) lines.push(`Last hash: ${head}`);
    return lines.join("\n");
  }
}
