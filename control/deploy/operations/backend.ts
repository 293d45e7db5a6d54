/** Where the state is kept: a folder of the project, or the backend that was named once and stands in `Pulumi.yaml` since. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { UsageError } from "../../output/failure.ts";
import { readRecord } from "./record.ts";

const settings = z.object({ backend: z.object({ url: z.string() }).nullish() });
/** What `infra render` writes for the project's own folder. */
const OWN_FOLDER = "file://./state";

/**
 * URL of the backend; undefined for the project's own folder. UsageError when a stack that is deployed would get another
 * one: it would be deployed a second time.
 */
export async function givenBackend(dir: string, flag: string | undefined): Promise<string | undefined> {
  const written = await writtenBackend(dir);
  if (flag === undefined || flag === written) return written;
  const record = await readRecord(dir);
  if (record !== null) {
    throw new UsageError(
      `The stack ${record.stack} is deployed with the backend ${record.backend}.`,
      "Go on without --backend. To move it, `cairn infra destroy` first: the data are kept, and `up --adopt` takes them over.",
    );
  }
  return flag;
}

async function writtenBackend(dir: string): Promise<string | undefined> {
  const text = await readFile(join(dir, "infra", "Pulumi.yaml"), "utf8").catch(() => "");
  const url = settings.safeParse(parse(text)).data?.backend?.url;
  return url === OWN_FOLDER ? undefined : url;
}

/** Without the credentials that a URL may carry. */
export function shownBackend(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//****@");
}
