/** Input and result of a setup. */
import type { Directories, Environment } from "../../runtime/config/index.ts";
import type { AnswerTree } from "./answer-tree.ts";
import type { Answers } from "./answers.ts";
import type { LocalServer } from "./catalogue.ts";
import type { ProviderChoice } from "./detect.ts";
import type { Dialog } from "./dialog.ts";

export interface InitOptions {
  readonly directories: Pick<Directories, "dir" | "home" | "file">;
  /** The environment of the process. */
  readonly env: Environment;
  /** Answers of a file; what is not answered is decided here. */
  readonly answers?: AnswerTree;
  /** Answers of flags, by their names; they overrule a file's. */
  readonly flags?: Readonly<Record<string, unknown>>;
  /** `create` refuses an existing configuration without a terminal; `change` wants one. */
  readonly purpose?: "create" | "change";
  /** Replace an existing cairn.yaml; a copy of it is kept. */
  readonly force?: boolean;
  /** False drops the answers of an interrupted setup, true continues with them; a question when absent. */
  readonly resume?: boolean;
  /** Answers the questions; when absent, defaults are taken. */
  readonly dialog?: Dialog;
  readonly localServers?: readonly LocalServer[];
  readonly detectTimeoutMs?: number;
  /** The machine's time zone; default: the system's. */
  readonly timezone?: string;
  readonly random?: (size: number) => Buffer;
  /** Called after each file; tests end the process there. */
  readonly onWritten?: (path: string) => void;
  readonly signal?: AbortSignal;
}

export interface FileOutcome {
  /** Relative to the deployment directory. */
  readonly path: string;
  readonly action: "created" | "kept" | "extended" | "replaced" | "updated";
}

export interface InitResult {
  readonly dir: string;
  readonly home: string;
  readonly file: string;
  readonly target: Answers["deployment"]["target"];
  /** The default one. */
  readonly agent: string;
  readonly agents: readonly string[];
  readonly channels: readonly string[];
  readonly listen: string;
  /** Where a node of this machine then answers: `https` where the configuration has it serve TLS. */
  readonly url: string;
  readonly memory: "embedded" | "postgres" | "datahub";
  readonly provider: ProviderChoice;
  /** Where the owner's token comes from; its value is in .env (or the environment) and never in a result. */
  readonly token: "generated" | "file" | "environment";
  readonly files: readonly FileOutcome[];
  /** What changed in a configuration that was there, as a unified diff without secrets; null for a new one. */
  readonly diff: string | null;
  /** What is still to be done, as sentences. */
  readonly notes: readonly string[];
  /** Commands that come next. */
  readonly next: readonly string[];
}
