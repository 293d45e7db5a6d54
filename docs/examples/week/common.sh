# What the weeks of this folder share: each command is printed as it is typed, with what it prints, and a script stops at the
# first one that does not end as it should. Sourced. CAIRN: the command.

set -euo pipefail
CAIRN=${CAIRN:-cairn}

day() { printf '\n# %s\n' "$*"; }

# The first word is how the command has to end: 0, or another exit code.
expect() {
  local code=0 wanted=$1
  shift
  printf '\n$ %s\n' "$*"
  "$@" </dev/null || code=$?
  [ "$code" = "$wanted" ] || { printf 'ended with %s instead of %s\n' "$code" "$wanted"; exit 1; }
}
cairn() { command $CAIRN "$@"; }
do_() { expect 0 "$@"; }

set_() { # set_ KEY VALUE: what an editor would do to one line of cairn.yaml
  printf '\n$ sed -i "s/%s: .*/%s: %s/" cairn.yaml\n' "$1" "$1" "$2"
  sed -i "s|\b$1: .*|$1: $2|" cairn.yaml
}

# Every fact that was told so far is still found, whichever node answers.
told=()
tell() {
  told+=("$1")
  do_ cairn chat "Remember: $1" >/dev/null
  printf '\n$ cairn chat "Remember: %s"\n' "$1"
}
all_there() {
  local fact found
  for fact in "${told[@]}"; do
    found=$(cairn memory search "$fact" --json) || { printf 'not answered: %s\n' "$found"; exit 1; }
    grep -qF "$fact" <<<"$found" || { printf 'lost: %s\n' "$fact"; exit 1; }
  done
  printf '\n(all %s facts are there)\n' "${#told[@]}"
}

# Two nodes with PostgreSQL; `deployment` is what each script says of its target.
write_configuration() { # write_configuration DEPLOYMENT
  cat >cairn.yaml <<YAML
version: 1
agents:
  main: {}
providers:
  offline: {}
runtime:
  max_tool_iterations: 50
memory:
  postgres: {}
deployment:
  name: week
$1
YAML
  umask 077
  printf 'SERVICE_API_TOKEN=cairn_%s\n' "$(head -c 40 /dev/urandom | base64 -w 0 | tr -d '+/=')" >.env
}

# What every week ends with.
lose_the_passphrase() {
  day Saturday: back up, and lose the passphrase
  do_ cairn memory backup saturday.backup
  do_ mv infra/.passphrase passphrase.lost
  expect 1 cairn infra up --yes
  do_ cairn infra recover --confirm week
  do_ cairn infra status
  all_there
}
destroy_and_return() {
  day Sunday: away with it, and back
  do_ cairn infra destroy --yes
  do_ cairn infra up --yes
  all_there
  do_ cairn infra destroy --delete-data --confirm week
  do_ cairn infra up --yes
  do_ cairn memory restore "$(ls -t backups/week-*.backup | head -n 1)"
  all_there
  do_ cairn doctor
  do_ cairn infra destroy --delete-data --confirm week
}
