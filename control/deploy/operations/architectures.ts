/** Refuses an image that is for other machines than the ones it would run on: it would not start there, and not say why. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { Finding } from "../driver.ts";
import type { ReadProject } from "./services.ts";
import type { Session } from "./session.ts";

/**
 * Of these nodes, those that get another image than they have. INFRA_IMAGE_MISSING where none of a node's machines can run it; a
 * warning where some can not. What nobody knows is let through.
 */
export async function refuseForeignImages(
  { driver, run }: Session,
  project: ReadProject,
  nodes: readonly string[],
): Promise<Finding[]> {
  const { services, signal } = run;
  const { nodes: former } = await services.release.read(run.dir);
  const findings: Finding[] = [];
  for (const { name, image } of project.plan.nodes) {
    if (image === null || !nodes.includes(name)) continue;
    const had = former[name];
    if (had !== undefined && had.id === image.id && had.digest === image.digest) continue;
    const made = await services.images.architectures(image, project, signal);
    if (made === null) continue;
    const machines = await driver.architectures(name, signal);
    const others = machines.filter((one) => !made.includes(one));
    if (others.length === 0) continue;
    const own = `The image ${image.reference} is for ${made.join(" and ")}`;
    const platforms = [...new Set([...made, ...machines])].map((one) => `--platform linux/${one}`).join(" ");
    if (others.length === machines.length) {
      throw new InfraError("INFRA_IMAGE_MISSING", `${own}, and node ${name} runs on ${machines.join(" and ")}.`, {
        hint: `Build it for that with \`cairn build --platform linux/${machines[0]}\`, or for both with \`${platforms} --push\`. Nothing was changed.`,
      });
    }
    findings.push({
      severity: "warning",
      code: "INFRA_IMAGE_MISSING",
      message: `${own}, and node ${name} may get a machine of ${others.join(" or ")}, too.`,
      hint: `Build it for all with \`cairn build ${platforms} --push\`, or name its machines: \`labels: { kubernetes.io/arch: ${made[0]} }\`.`,
    });
  }
  return findings;
}
