/** What each slow suite proves, in one sentence for an operator. docs/proofs.md has a row for each. */
export const PROVED: Readonly<Record<string, string>> = {
  "test/bin/older-nodes.nightly.test.ts":
    "With a real Node 18, 20 or 22 a source tree works, and an installation says how to get a newer one.",
  "test/bin/package.nightly.test.ts":
    "Installed by npm, the package takes less than 200 MB, remembers, and plans a deployment on Docker.",
  "test/control/deploy/build.docker.test.ts": "`cairn build` makes an image that runs locked down and holds no secret.",
  "test/control/deploy/crash.engine.test.ts":
    "A command that is killed or doubled is finished once, by the same command.",
  "test/control/deploy/drift-matrix.nightly.test.ts":
    "Each part of a stack on Docker that is broken by hand, and two at once, is seen and healed by `up`, no row lost.",
  "test/control/deploy/drift.docker.test.ts":
    "`status` and `preview` see what was changed by hand on Docker, `up` heals it.",
  "test/control/deploy/drift.kubernetes.test.ts":
    "`preview` sees what was changed by hand on Kubernetes, `up` heals it.",
  "test/control/deploy/drift.ssh.test.ts": "`preview` sees what was changed by hand on Proxmox, `up` heals it.",
  "test/control/deploy/drivers/docker/host/ssh.ssh.test.ts":
    "A Docker host is reached over SSH only with the key that is known, and tunnels end with the command.",
  "test/control/deploy/drivers/kubernetes/driver.kubernetes.test.ts":
    "What a cluster lacks or refuses is said before anything is changed on it.",
  "test/control/deploy/drivers/proxmox/driver.ssh.test.ts":
    "What a Proxmox host lacks or refuses is said before anything is changed; an interrupted copy leaves nothing.",
  "test/control/deploy/images/transport.docker.test.ts":
    "Images reach another Docker engine, and one behind a registry's password, whole.",
  "test/control/deploy/full-disk.engine.test.ts":
    "A full disk of the operator at `node remove`, `node rename` and `postgres upgrade` is said, and the same command finishes with room.",
  "test/control/deploy/nodes.engine.test.ts": "A node is removed or renamed while the others are not touched.",
  "test/control/deploy/nodes.ssh.test.ts":
    "On Proxmox a node is renamed or removed with its data copied, archived or deleted, while the others run.",
  "test/control/deploy/roll-in-fleet.engine.test.ts":
    "A rollout through the database that nodes share is fenced, drains, goes back, and is resumed by the image of its journal.",
  "test/control/deploy/roll.engine.test.ts":
    "`up --roll` changes one node after the other, and a node that fails gets back what it had.",
  "test/control/deploy/ssh/ssh.ssh.test.ts": "SSH refuses a wrong host key and gives up a host that is silent.",
  "test/control/deploy/state.engine.test.ts":
    "A damaged or lost state, a lost passphrase, a lock and a full disk are said, with what helps.",
  "test/control/deploy/up.engine.test.ts": "A stack is deployed, changed, removed and deployed again over its data.",
  "test/control/first-hour.nightly.test.ts":
    "On a terminal the way from an empty home to a found memory is what it was, with no model, Ollama and a key, from the tree and installed.",
  "test/control/first-start.nightly.test.ts": "Messages move between two machines as JSON lines, none twice.",
  "test/control/rollout/simulation.nightly.test.ts":
    "10,000 simulated rollouts of fleets, in which command lines, nodes and networks fail, end as promised, no turn dropped.",
  "test/control/update/prebuilt.nightly.test.ts":
    "`update --prebuilt` replaces the program of a machine, or leaves it.",
  "test/control/update/update-tree.nightly.test.ts":
    "`update` of a source tree is whole, refused with nothing changed, or taken back.",
  "test/control/wizard/host-key.ssh.test.ts": "The setup shows the key that an SSH server really has.",
  "test/control/wizard/terminal.nightly.test.ts": "The setup works on a terminal, with every key that is typed.",
  "test/control/deploy/stalled-kubernetes.nightly.test.ts":
    "A Kubernetes cluster that accepts and is silent, before `up` or `destroy` or in its middle, is named in bounded time.",
  "test/e2e/backup-docker.nightly.test.ts":
    "A stack on Docker that is lost with its data comes back from `backup`, also after kills and with a node or the database down.",
  "test/e2e/channel-bursts.nightly.test.ts":
    "5,000 messages at once on 50 conversations of Telegram, Discord and Slack are answered once and in order by a node with 192 MB for its objects.",
  "test/e2e/channel-kills.nightly.test.ts":
    "A node killed at every step between a message of Telegram, Discord or Slack and its acknowledged reply answers it after its restart: taken once, nothing lost, and marked where it may be there twice.",
  "test/e2e/conversations.nightly.test.ts":
    "A long conversation over each channel, through outages, limits and kills of the node: the transcript is what was said and what the chat shows, once each.",
  "test/e2e/crash.nightly.test.ts":
    "A node killed at every step of a turn answers once after its restart, on both databases.",
  "test/e2e/deployment.docker.test.ts":
    "From nothing to an agent on Docker that remembers, through a change, a lost passphrase and `destroy`.",
  "test/e2e/deployment.nightly.test.ts": "From nothing to an agent on Kubernetes that remembers.",
  "test/e2e/docker-disk-full.nightly.test.ts":
    "A full disk of the operator, before `up` and in the middle of a change, is named; with room the change is finished.",
  "test/e2e/docker-host-full-removal.nightly.test.ts":
    "With a full disk of the Docker host `node remove` and `destroy` end, or name it and end with room; the archive and the backup are whole.",
  "test/e2e/docker-host-full.nightly.test.ts":
    "A full disk of the Docker host, before `up`, in its middle and in that of a rollout, is named; with room the same command finishes.",
  "test/e2e/docker-host-lost.nightly.test.ts":
    "A Docker host that goes down in the middle of `up`, `up --roll` and `destroy` is named; after its start the same command finishes, no row is lost.",
  "test/e2e/docker-kills.nightly.test.ts":
    "`kill -9` at each kind of event of `up` and `destroy` on Docker: the same command finishes, no row is lost, nothing is left over.",
  "test/e2e/docker-operators.nightly.test.ts":
    "A second operator, a second directory with the stack's name and a port in use are refused, the stack untouched.",
  "test/e2e/docker-roll-kills.nightly.test.ts":
    "`kill -9` at each kind of event of `up --roll` and `node remove` on Docker: the same command finishes, no row is lost, nothing is left over.",
  "test/infra/by-hand.engine.test.ts": "`pulumi` by hand runs the built program with the project's own SDK.",
  "test/e2e/docker-stalled-nodes.nightly.test.ts":
    "A Docker host over SSH that is silent, or falls silent in the middle, is named in bounded time by every command that goes to a node, a log or a command in it.",
  "test/e2e/docker-stalled-host.nightly.test.ts":
    "A Docker host over SSH that accepts and is silent, or falls silent in the middle, is named by every `infra` command in bounded time.",
  "test/e2e/docker-upgrade-kills.nightly.test.ts":
    "`kill -9` at each kind of event of `infra postgres upgrade` on Docker: the same command finishes, no row is lost, nothing is left over.",
  "test/infra/by-hand.nightly.test.ts": "`pulumi` by hand in the rendered project does what `cairn infra` does.",
  "test/infra/postgres/start.docker.test.ts":
    "PostgreSQL starts locked down, after any kill, and with data of earlier versions.",
  "test/infra/targets/docker-live.nightly.test.ts":
    "On Docker what is applied runs, applying it again changes nothing, and data outlive `destroy`.",
  "test/infra/targets/docker-recovery.nightly.test.ts":
    "On Docker a lost state is taken over, and an engine that was killed leaves nothing twice.",
  "test/infra/targets/docker-renewal.docker.test.ts":
    "A renewed certificate of PostgreSQL interrupts no client and touches no node.",
  "test/infra/targets/kubernetes-live.kubernetes.test.ts":
    "On a cluster that runs pods what is applied runs, and data outlive `destroy`.",
  "test/infra/targets/kubernetes-live.nightly.test.ts":
    "On a cluster an image that is nowhere and a lost state are recovered from.",
  "test/infra/targets/kubernetes.kubernetes.test.ts":
    "Every kind of plan gives manifests that Kubernetes itself accepts.",
  "test/infra/targets/proxmox.nightly.test.ts":
    "Kills in the middle of `up` on Proxmox are finished by the same command.",
  "test/infra/targets/proxmox.ssh.test.ts": "On Proxmox what is applied runs, and applying it again changes nothing.",
  "test/runtime/app/recall/plans.nightly.test.ts": "Searches keep their query plans at 200,000 messages.",
  "test/runtime/plugins/tools/landlock.docker.test.ts":
    "Commands of agents in a container reach neither the service's files nor other users'.",
  "test/e2e/login.docker.test.ts":
    "On Docker each node of a fleet has a login of its own over refreshes, a restart and a rollout, and no token is beside its volume.",
  "test/e2e/rolling-upgrade.nightly.test.ts":
    "The rolling upgrade of the documents goes as it is printed: forward, back from an image that does not start, and on after a kill.",
  "test/e2e/update-manual.nightly.test.ts":
    "`update --mesh` of three nodes that were set up by hand, behind a real sshd and a `systemctl` that is played, under load: no message is lost, a build that does not start goes back, another machine resumes, a wrong host key and an older command are refused.",
  "test/e2e/update-mesh-kubernetes.nightly.test.ts":
    "`update --mesh` of three pods of a group under load changes one after the other, takes a failing image back, and goes on after a kill; no message is lost or answered twice.",
  "test/e2e/update-mesh-proxmox.nightly.test.ts":
    "`update --mesh` of two CTs under load loses no message and answers none twice, and an image that fails goes back.",
  "test/e2e/update-mesh.nightly.test.ts":
    "`update --mesh` of three containers under load: no message is lost or answered twice, and two nodes always serve.",
  "test/e2e/tag-to-tag.nightly.test.ts":
    "Three nodes of the release before are upgraded one by one under load, and one goes back: each turn is answered once; the release's own suites pass on the newer schema.",
  "test/e2e/week.nightly.test.ts":
    "An operator's week on Docker: deploy, break each part, change, roll, scale, upgrade PostgreSQL, lose the passphrase, recover, destroy, deploy again; every fact is still there.",
  "test/e2e/week-kubernetes.nightly.test.ts":
    "An operator's week on Kubernetes: deploy, break each part, change, roll, scale, lose the passphrase, recover, destroy, deploy again; every fact is still there.",
  "test/e2e/week-proxmox.nightly.test.ts":
    "An operator's week on Proxmox: deploy, break each part, change, roll, scale, upgrade PostgreSQL, lose the passphrase, recover, destroy, deploy again; every fact is still there.",
  "test/control/deploy/stalled-copies-kubernetes.nightly.test.ts":
    "A Kubernetes cluster that falls silent while a node's data are archived is named in bounded time, and the same command archives 300 MB.",
  "test/control/deploy/proxmox-full.nightly.test.ts":
    "A full disk of a Proxmox host, in the middle of `up` and of an upgrade of PostgreSQL, is named, and with room the same command finishes, no row lost.",
  "test/control/deploy/proxmox-faults.nightly.test.ts":
    "A Proxmox host that is rebooted or silent in the middle of a command is said in a sentence and in bounded time, and the same command finishes, no row lost.",
  "test/control/deploy/own-certificates.engine.test.ts":
    "What nodes show that make their certificates themselves is learned in their containers by each run, before a gate.",
  "test/control/deploy/postgres-recovery-proxmox.nightly.test.ts":
    "On Proxmox `recover` ends an upgrade of PostgreSQL that was cut off, the passphrase lost as well, with the data that count.",
  "test/control/deploy/postgres-upgrade.nightly.test.ts":
    "On Docker a stack's PostgreSQL goes from 17 to 18, also after kills, and nothing is left to apply.",
  "test/control/deploy/postgres-upgrade-proxmox.nightly.test.ts":
    "On Proxmox a stack's PostgreSQL goes from 17 to 18, stays where a step fails, and is finished where the switch was cut off.",
  "test/control/deploy/postgres-upgrade-kubernetes.nightly.test.ts":
    "On a cluster that runs pods a stack's PostgreSQL goes from 17 to 18, stays where a step fails, and is finished where the switch was cut off.",
  "test/control/deploy/nodes-kubernetes.nightly.test.ts":
    "On a cluster that runs pods a node is renamed with its data copied, goes back where that fails, and is removed with its data archived.",
  "test/control/deploy/postgres-upgrade.engine.test.ts":
    "An upgrade of PostgreSQL goes in order, goes back where it fails, and is taken up after it was cut off.",
  "test/control/deploy/failing-start.engine.test.ts":
    "A node that does not start is said at its second end, and what it had before comes back.",
  "test/control/deploy/failing-start.docker.test.ts":
    "On Docker a node that crashes or is never ready is said with its last words, and what it had serves again.",
  "test/control/deploy/drivers/docker/host/database-servers.nightly.test.ts":
    "PostgreSQL 17 is copied into 18 beside it while nodes are kept out, and every table has the same contents.",
};
