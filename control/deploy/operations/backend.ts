/** Where the state is kept: a folder of the project, or the backend that was named once and is kept in `Pulumi.yaml`. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { InfraError } from "../../../runtime/contracts/errors.ts";
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
  const path = join(dir, "infra", "Pulumi.yaml");
  const text = await readFile(path, "utf8").catch(() => "");
  const url = settings.safeParse(parsed(text, path)).data?.backend?.url;
  return url === OWN_FOLDER ? undefined : url;
}

/** Taken for empty, it would send a stack that is kept elsewhere to the folder, and deploy it twice. */
function parsed(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new InfraError("INFRA_STATE_UNREADABLE", `${path} is no YAML.`, {
      hint: "Restore it from the repository's history, or remove it: it is written anew, and --backend names a backend that is not the folder.",
      cause,
    });
  }
}

/** Without the credentials that a URL may carry. */
export function shownBackend(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//****@");
}
