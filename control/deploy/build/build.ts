/**
 * `cairn build`: from the compiled program and the operator's plugins to an image in this machine's engine or in a registry,
 * outside of any Pulumi program.
 */

import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import type { SecretValues } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { duration } from "../../output/words.ts";
import { CANCEL_GRACE_MS, dockerMissing } from "../images/docker-cli.ts";
import { type InspectedImage, inspectImage, repositoryOf } from "../images/inspect.ts";
import { withRegistryLogin } from "../images/registry-login.ts";
import { recordBuilt } from "../images/release-file.ts";
import type { Report } from "../inspection.ts";
import { attestationsOf, type BuildInput, buildArguments } from "./arguments.ts";
import { pinBaseImage } from "./base-image.ts";
import { findBuilder } from "./builder.ts";
import { assembleContext, contentHash, FIXED_TIME_S } from "./context.ts";
import { buildFailure, shorten } from "./failure.ts";
import { BuildProgress } from "./progress.ts";
import { checkAgainstBuilder, checkRequest } from "./request.ts";
import { prepareSource, type Source } from "./source.ts";
import { type BuildRequest, type BuildResult, identityOfResult } from "./types.ts";

/** What a deployment directory adds to a build. */
export interface BuildDeployment {
  /** Null: nothing is recorded. */
  readonly directory: string | null;
  readonly pluginDirs: readonly string[];
  readonly skillDirs: readonly string[];
  readonly registry: SecretValues["registry"];
}

export interface BuildWork {
  /** Directory of the program's package.json. */
  readonly root: string;
  readonly signal: AbortSignal;
  /** The current step, in a few words, repeatedly. */
  readonly report: Report;
  /** Every line of the builder. */
  readonly line?: (text: string) => void;
  /** What the operator should know and what stops nothing. */
  readonly warn: (text: string) => void;
  /** Seconds since 1970 that count as the time of the build, for builds that must be alike. */
  readonly sourceDateEpoch?: number | null;
}

/** Milliseconds between two reports of a step without output. */
const REPORT_EVERY_MS = 1_000;

/**
 * INFRA_TOOL_MISSING, INFRA_HOST_UNREACHABLE, INFRA_BUILD_FAILED with the last lines of the step that failed,
 * INFRA_DISK_FULL, INFRA_PLAN_INVALID for a plugin directory that is not there; a UsageError for flags that do not go
 * together. Leaves no file behind, also when it is interrupted.
 */
export async function buildImage(
  asked: Omit<BuildRequest, "tags"> & { readonly tags: (version: string) => readonly string[] },
  deployment: BuildDeployment,
  work: BuildWork,
): Promise<BuildResult> {
  const startedAt = performance.now();
  const { root, signal, report } = work;
  checkRequest({ ...asked, tags: asked.tags("0.0.0") });
  const builder = await findBuilder(signal);
  checkAgainstBuilder({ ...asked, tags: [] }, builder);
  report("Compiling");
  const source = await prepareSource(root, signal, (line) => work.line?.(line));
  const request: BuildRequest = { ...asked, tags: asked.tags(source.version) };
  checkRequest(request);
  const epoch = work.sourceDateEpoch ?? null;
  const directory = await mkdtemp(join(tmpdir(), "cairn-build-"));
  try {
    const assembled = join(directory, "context");
    const metadataFile = join(directory, "metadata.json");
    report("Putting the context together");
    await mkdir(assembled);
    const { pluginDirs, skillDirs } = deployment;
    const leftOut = await assembleContext(assembled, { source, pluginDirs, skillDirs, timeS: epoch ?? FIXED_TIME_S });
    // BuildKit keeps what it was sent from a directory of the same name, and takes a file of the same size and time for unchanged.
    const context = join(directory, `cairn-${await contentHash(assembled)}`);
    await rename(assembled, context);
    for (const path of leftOut) work.warn(`${path} may hold a secret: it is not in the image.`);
    const { version, revision, url } = source;
    const base = await pinBaseImage(request.baseImage, builder, signal);
    if (base.digest === null) {
      work.warn(`The base image ${request.baseImage} is known by its name alone: no registry could say its digest.`);
    }
    const input = {
      request,
      base,
      builder,
      version,
      revision,
      sourceDateEpoch: epoch,
      sourceUrl: url,
      context,
      metadataFile,
    };
    await withRegistryLogin(request.push ? deployment.registry : null, (environment) =>
      runBuilder(input, environment, work),
    );
    const made = await describe(input, source, signal);
    const result: BuildResult = {
      ...made,
      plugins: pluginDirs.length,
      skills: skillDirs.length,
      recorded: null,
      duration_ms: Math.round(performance.now() - startedAt),
    };
    if (deployment.directory === null) return result;
    return { ...result, recorded: await recordBuilt(deployment.directory, identityOfResult(result)) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runBuilder(
  input: BuildInput,
  environment: Readonly<Record<string, string>>,
  { signal, report, line }: BuildWork,
): Promise<void> {
  const progress = new BuildProgress();
  const showProgress = (): void => {
    const step = progress.current();
    if (step !== null) report(`${shorten(step.name)} (${duration(performance.now() - step.startedAtMs)})`);
  };
  const timer = setInterval(showProgress, REPORT_EVERY_MS);
  try {
    const child = execa("docker", buildArguments(input, process.env), {
      reject: false,
      stdin: "ignore",
      stdout: "ignore",
      env: environment,
      buffer: false,
      cancelSignal: signal,
      forceKillAfterDelay: CANCEL_GRACE_MS,
    });
    for await (const text of child.iterable({ from: "stderr" })) {
      progress.line(text);
      line?.(text);
      showProgress();
    }
    const result = await child;
    signal.throwIfAborted();
    if (result.code === "ENOENT") throw dockerMissing();
    if (result.failed) throw buildFailure(progress.failure());
  } finally {
    clearInterval(timer);
  }
}

async function describe(
  { request, base, builder, metadataFile }: BuildInput,
  { version, revision }: Source,
  signal: AbortSignal,
): Promise<Omit<BuildResult, "plugins" | "skills" | "recorded" | "duration_ms">> {
  const [reference = ""] = request.tags;
  const metadata = await readMetadata(metadataFile);
  // With a registry alone, this machine's engine has never seen the image.
  const image = request.load ? await inspectImage(reference, "local", signal) : null;
  if (request.load && image === null) {
    throw new InfraError("INFRA_BUILD_FAILED", `The image was built, and the engine does not have ${reference}.`, {
      hint: "Another build may have taken the name at the same time: build again.",
    });
  }
  return {
    schema: 1,
    id: image?.id ?? null,
    digest: request.push ? digestOf(reference, metadata, image) : null,
    reference,
    tags: request.tags,
    version,
    revision,
    base_image: request.baseImage,
    base_digest: base.digest,
    platforms: request.platforms.length > 0 ? request.platforms : image ? [image.platform] : [],
    size_bytes: image?.sizeBytes ?? null,
    pushed: request.push,
    loaded: request.load,
    attestations: attestationsOf(request, builder),
  };
}

/** Its reference in the registry: from the engine after a push of its own, else from the builder's metadata. */
function digestOf(reference: string, metadata: Metadata, image: InspectedImage | null): string | null {
  const repository = repositoryOf(reference);
  const digest = image?.digests.find((digest) => digest.startsWith(`${repository}@`));
  const said = metadata["containerimage.digest"];
  return digest ?? (typeof said === "string" ? `${repository}@${said}` : null);
}

type Metadata = Readonly<Record<string, unknown>>;

async function readMetadata(file: string): Promise<Metadata> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
    // An object of unknown fields; each is checked before it is used.
    return typeof parsed === "object" && parsed !== null ? (parsed as Metadata) : {};
  } catch {
    return {};
  }
}
