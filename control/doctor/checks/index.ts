/** All checks, in the order of the report. Ids are stable: a test keeps the list. */

import { channelsAudio } from "./channels/audio.ts";
import { channelsConnected } from "./channels/connected.ts";
import { channelsTokens } from "./channels/tokens.ts";
import type { Check } from "./check.ts";
import { configApplied } from "./config/applied.ts";
import { configDirectories } from "./config/directories.ts";
import { configKeys } from "./config/keys.ts";
import { configPlugins } from "./config/plugins.ts";
import { configPresent } from "./config/present.ts";
import { configSyntax } from "./config/syntax.ts";
import { configValid } from "./config/valid.ts";
import { configVersion } from "./config/version.ts";
import { configWarnings } from "./config/warnings.ts";
import { databaseDirect } from "./database/direct.ts";
import { databaseExtensions } from "./database/extensions.ts";
import { databaseLock } from "./database/lock.ts";
import { databaseMigrations } from "./database/migrations.ts";
import { databasePool } from "./database/pool.ts";
import { databaseReachable } from "./database/reachable.ts";
import { databaseTls } from "./database/tls.ts";
import { databaseVersion } from "./database/version.ts";
import { deploymentDocker } from "./deployment/docker.ts";
import { deploymentLock } from "./deployment/lock.ts";
import { deploymentNode } from "./deployment/node.ts";
import { deploymentService } from "./deployment/service.ts";
import { deploymentTools } from "./deployment/tools.ts";
import { memoryBackup } from "./memory/backup.ts";
import { memoryEmbedding } from "./memory/embedding.ts";
import { memoryFormer } from "./memory/former.ts";
import { memorySpool } from "./memory/spool.ts";
import { memorySummaries } from "./memory/summaries.ts";
import { memorySynthesis } from "./memory/synthesis.ts";
import { memoryWiki } from "./memory/wiki.ts";
import { memoryWrites } from "./memory/writes.ts";
import { meshPeers } from "./mesh/peers.ts";
import { meshRegistry } from "./mesh/registry.ts";
import { providersAvailable } from "./providers/available.ts";
import { providersBudgets } from "./providers/budgets.ts";
import { providersKeys } from "./providers/keys.ts";
import { providersLogins } from "./providers/logins.ts";
import { providersMcp } from "./providers/mcp.ts";
import { providersModels } from "./providers/models.ts";
import { providersReachable } from "./providers/reachable.ts";
import { providersSessions } from "./providers/sessions.ts";
import { queuesApprovals } from "./queues/approvals.ts";
import { queuesBacklog } from "./queues/backlog.ts";
import { queuesFailed } from "./queues/failed.ts";
import { queuesSchedules } from "./queues/schedules.ts";
import { secretsFile } from "./secrets/file.ts";
import { secretsHardcoded } from "./secrets/hardcoded.ts";
import { secretsIgnored } from "./secrets/ignored.ts";
import { secretsPrivate } from "./secrets/private.ts";
import { secretsReferences } from "./secrets/references.ts";
import { secretsToken } from "./secrets/token.ts";
import { secretsTokens } from "./secrets/tokens.ts";
import { secretsWorkspace } from "./secrets/workspace.ts";
import { systemClock } from "./system/clock.ts";
import { systemDisk } from "./system/disk.ts";
import { systemFiles } from "./system/files.ts";
import { systemGuards } from "./system/guards.ts";
import { systemHome } from "./system/home.ts";
import { systemListen } from "./system/listen.ts";
import { systemMemory } from "./system/memory.ts";
import { systemNetwork } from "./system/network.ts";
import { systemNode } from "./system/node.ts";
import { systemPlatform } from "./system/platform.ts";
import { systemSandbox } from "./system/sandbox.ts";
import { systemTimezone } from "./system/timezone.ts";
import { systemUser } from "./system/user.ts";
import { updatesAvailable } from "./updates/available.ts";
import { updatesImages } from "./updates/images.ts";
import { updatesRunning } from "./updates/running.ts";
import { updatesSource } from "./updates/source.ts";
import { workspaceExists } from "./workspace/exists.ts";
import { workspaceFiles } from "./workspace/files.ts";
import { workspaceSkills } from "./workspace/skills.ts";
import { workspaceWritable } from "./workspace/writable.ts";

export const CHECKS: readonly Check[] = [
  systemNode,
  systemPlatform,
  systemHome,
  systemDisk,
  systemMemory,
  systemFiles,
  systemClock,
  systemTimezone,
  systemUser,
  systemListen,
  systemSandbox,
  systemNetwork,
  systemGuards,
  configPresent,
  configSyntax,
  configVersion,
  configValid,
  configKeys,
  configWarnings,
  configDirectories,
  configPlugins,
  configApplied,
  secretsFile,
  secretsToken,
  secretsTokens,
  secretsHardcoded,
  secretsReferences,
  secretsIgnored,
  secretsPrivate,
  secretsWorkspace,
  workspaceExists,
  workspaceWritable,
  workspaceFiles,
  workspaceSkills,
  databaseReachable,
  databaseVersion,
  databaseExtensions,
  databaseMigrations,
  databasePool,
  databaseDirect,
  databaseTls,
  databaseLock,
  memoryWrites,
  memoryBackup,
  memoryFormer,
  memoryEmbedding,
  memorySummaries,
  memorySynthesis,
  memoryWiki,
  memorySpool,
  queuesFailed,
  queuesBacklog,
  queuesSchedules,
  queuesApprovals,
  providersKeys,
  providersLogins,
  providersReachable,
  providersModels,
  providersSessions,
  providersAvailable,
  providersBudgets,
  providersMcp,
  channelsTokens,
  channelsConnected,
  channelsAudio,
  deploymentNode,
  deploymentService,
  deploymentTools,
  deploymentDocker,
  deploymentLock,
  meshRegistry,
  meshPeers,
  updatesRunning,
  updatesSource,
  updatesImages,
  updatesAvailable,
];
