#!/usr/bin/env bash
# Builds the image and runs it on a machine without a container engine: with buildah and its chroot isolation, on a base
# image made from Debian packages. Needs Debian and root. Shows the health check, a game over the network, a match
# between programs that `spielleiter lend` provides, and SIGTERM.
#
# The container shares the network of this machine, so the port below, 13061 and 13062 must be free.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
port=13050
base=localhost/spielleiter-base
image=localhost/spielleiter
work=$(mktemp -d)
container=
server=
lenders=()
password=chosen-for-this-trial

clean_up() {
    for process in $server "${lenders[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
    [[ -z $container ]] || buildah rm "$container" >/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

say() { printf '\n== %s\n' "$*"; }

in_container() { buildah run --user "$user" "$container" -- "$@"; }

say "tools"
apt-get install -y -qq --no-install-recommends buildah debootstrap >/dev/null
buildah --version

if [[ -z $(buildah images --quiet "$base" 2>/dev/null) ]]; then
    say "base, from Debian packages"
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates bookworm "$work/root" \
        >"$work/debootstrap.log" || { tail "$work/debootstrap.log"; exit 1; }
    # the build may need the certificates that this machine trusts
    cp /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/certs/"
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$work/root" / >/dev/null
    buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    buildah commit --quiet "$container" "$base" >/dev/null
    buildah rm "$container" >/dev/null
    container=
fi

say "image, from docker/Dockerfile"
buildah bud --format docker --build-arg PYTHON_IMAGE="$base" --file docker/Dockerfile --tag "$image" . >"$work/build.log" 2>&1 ||
    { tail -40 "$work/build.log"; exit 1; }
buildah images "$image"

container=$(buildah from "$image")
# Prints one value of the image's configuration, one word on each line.
configured() {
    buildah inspect --type image "$image" | python3 -c '
import functools, json, sys
value = functools.reduce(dict.__getitem__, sys.argv[1:], json.load(sys.stdin)["Docker"]["config"])
print(*[value] if isinstance(value, str) else value, sep="\n")' "$@"
}
user=$(configured User)
mapfile -t command < <(configured Entrypoint; configured Cmd)
mapfile -t check < <(configured Healthcheck Test | tail -n +2)
say "command: ${command[*]} (as user $user)"

say "user, and the folders that it can write to"
in_container sh -c 'id; touch /replays/x && rm /replays/x && echo "/replays: yes"; touch /srv/x 2>/dev/null || echo "/srv: no"'

say "the server"
buildah run --user "$user" --env SPIELLEITER_SAVE_REPLAY=/replays --env SPIELLEITER_PASSWORD="$password" "$container" -- \
    "${command[@]}" >"$work/log" 2>&1 &
run=$!
until grep -q server_started "$work/log"; do
    kill -0 "$run" 2>/dev/null || { cat "$work/log"; exit 1; }
    sleep 0.1
done
server=$(pgrep -n -u "${user%%:*}" -f 'spielleiter serve')
head -2 "$work/log"

say "the health check"
in_container "${check[@]}" && echo healthy

say "a game between two further commands in the container"
in_container spielleiter play --strategy greedy --port "$port" &
in_container spielleiter play --strategy random --port "$port"
wait $!

say "a match between two programs provided by spielleiter lend, as in docker/match.compose.yaml"
for number in 1 2; do
    in_container spielleiter lend --port "1306$number" "builtin:$([[ $number == 1 ]] && echo greedy || echo random)" \
        >"$work/lender$number" 2>&1 &
    until grep -qs '^offering ' "$work/lender$number"; do sleep 0.1; done
    lenders+=("$(pgrep -n -u "${user%%:*}" -f "spielleiter lend --port 1306$number")")
done
placeholders='-h {host} -p {port} -r {reservation} --seed {seed} --game {game}'
buildah run --user "$user" --env SPIELLEITER_PASSWORD="$password" --workingdir /replays "$container" -- \
    spielleiter match --server "127.0.0.1:$port" --games 4 --concurrency 2 --name1 greedy --name2 random \
    --player1 "spielleiter borrow 127.0.0.1:13061 $placeholders" \
    --player2 "spielleiter borrow 127.0.0.1:13062 $placeholders" &&
    echo "exit code 0"
in_container sh -c 'cat /replays/match-*/summary.md | head -9; ls /replays/match-*'
kill "${lenders[@]}"
lenders=()
count_joined() { grep -c player_joined "$work/log"; }
joined=$(count_joined)

say "SIGTERM while a game waits for its second player"
in_container spielleiter play --strategy first --port "$port" >"$work/waiting" 2>&1 &
waiting=$!
until [[ $(count_joined) -gt $joined ]]; do sleep 0.1; done
kill -TERM "$server"
status=0
wait "$run" || status=$?
server=
wait "$waiting" || true
cat "$work/waiting"
tail -2 "$work/log"
echo "exit code $status"
in_container ls -l /replays
in_container "${check[@]}" 2>/dev/null && { echo "healthy although no server runs"; exit 1; }
echo "unhealthy, as expected without a server"
exit "$status"
