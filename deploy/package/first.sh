#!/bin/sh
# From a machine that has nothing of Earshot to the first tool that fires, with a clock beside it:
#   sh deploy/package/first.sh dist/earshot_1.2.3_linux_amd64.tar.gz   # the release binary, as anybody
#   sh deploy/package/first.sh dist/earshot_1.2.3_amd64.deb            # the package with its Redis and NATS, as root
# It registers a tool, says something that calls for it, and waits until the event is delivered.
# It ends with 0 and the seconds that it took, or with 1 after two minutes. It needs curl. What it
# has started it stops; what a package has installed stays.
set -eu

artefact=${1:?name a release archive (.tar.gz) or a package (.deb)}
limit=120
began=$(date +%s)
work=$(mktemp -d)
pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null || true; done; wait; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

say() { echo "$(($(date +%s) - began)) s: $*"; }

# until_ok WHAT COMMAND…: tries a command until it succeeds.
until_ok() {
  what=$1
  shift
  until "$@" >"$work/out" 2>&1; do
    if [ $(($(date +%s) - began)) -ge $limit ]; then
      echo "not within $limit seconds: $what" >&2
      cat "$work/out" "$work"/*.log >&2 2>/dev/null || true
      exit 1
    fi
    sleep 0.2
  done
  say "$what"
}

# call METHOD PATH BODY
call() {
  curl -fsS -X "$1" "$url$2" -H "Authorization: Bearer ${EARSHOT_ADMIN_KEY:-none}" -H 'Content-Type: application/json' ${3:+-d "$3"}
}

fired() { call GET "/v1/apps/first/triggers?state=delivered" | grep -q '"name":"ring"'; }

case $artefact in
*.tar.gz)
  tar -xzf "$artefact" -C "$work"
  earshot=$(find "$work" -name earshot -type f -perm -u+x | head -n 1)
  : "${earshot:?$artefact holds no program called earshot}"
  say "unpacked"
  url=http://127.0.0.1:${EARSHOT_PORT:-8080}
  (cd "$work" && exec "$earshot" dev --addr "${url#http://}" --nats-port 0) >"$work/earshot.log" 2>&1 &
  pids="$pids $!"
  ;;
*.deb)
  case $artefact in /*) ;; *) artefact=./$artefact ;; esac
  apt-get update -q >"$work/apt.log" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y curl redis-server nats-server "$artefact" >>"$work/apt.log" 2>&1 || {
    cat "$work/apt.log" >&2
    exit 1
  }
  say "installed"
  set -a
  . /etc/earshot/earshot.env
  . /etc/earshot/secrets.env
  set +a
  url=http://$EARSHOT_ADDR
  if [ -d /run/systemd/system ]; then
    # Debian's NATS has its JetStream off.
    grep -q jetstream /etc/nats-server.conf || echo 'jetstream {store_dir: /var/lib/nats}' >>/etc/nats-server.conf
    install -d -o nats -g nats /var/lib/nats
    systemctl restart nats-server redis-server
  else # a container: nothing is started by itself
    mkdir "$work/redis" "$work/nats"
    redis-server /usr/share/doc/earshot/examples/redis.conf --dir "$work/redis" >"$work/redis.log" 2>&1 &
    pids="$pids $!"
    nats-server -a 127.0.0.1 -js -sd "$work/nats" >"$work/nats.log" 2>&1 &
    pids="$pids $!"
    setpriv --reuid earshot --regid earshot --clear-groups --no-new-privs earshot serve >"$work/earshot.log" 2>&1 &
    pids="$pids $!"
  fi
  ;;
*)
  echo "$artefact is neither a .tar.gz nor a .deb" >&2
  exit 1
  ;;
esac

until_ok "ready" curl -fsS "$url/readyz"
call PUT /v1/apps/first '{"name":"First"}' >/dev/null
call PUT /v1/apps/first/repositories/desk '{"tools":[{"name":"ring","description":"Ring the bell at the desk"}]}' >/dev/null
call POST /v1/apps/first/sessions/s1/messages '{"actor":"user","text":"Ring the bell at the desk"}' >/dev/null
until_ok "the first tool has fired, and its event is delivered" fired
call DELETE /v1/apps/first >/dev/null
