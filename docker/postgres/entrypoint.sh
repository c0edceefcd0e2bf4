#!/usr/bin/env bash
# Starts PostgreSQL, and creates the cluster on the first start. Arguments go to the server (`-c name=value`), unless the
# first is a command, which is then run instead.
#   POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE   the superuser's password; needed on the first start only, and there is no default
#   POSTGRES_SHARED_BUFFERS (256MB)  POSTGRES_EFFECTIVE_CACHE_SIZE (768MB)  POSTGRES_WORK_MEM (16MB)
#   POSTGRES_MAINTENANCE_WORK_MEM (256MB)  POSTGRES_MAX_WAL_SIZE (2GB)  POSTGRES_MAX_CONNECTIONS (100)
# The settings are read at every start; ALTER SYSTEM and arguments override them.
set -euo pipefail

fail() { echo "entrypoint: $*" >&2; exit 1; }

if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then exec "$@"; fi

data=${PGDATA:?PGDATA names the data folder}
staged=$data.new
[ "$(id -u)" != 0 ] || fail 'do not run as root; the image runs as the user postgres'

superuser_password() {
  local password=${POSTGRES_PASSWORD:-}
  if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
    [ -z "$password" ] || fail 'POSTGRES_PASSWORD and POSTGRES_PASSWORD_FILE are both set; set one'
    [ -r "$POSTGRES_PASSWORD_FILE" ] || fail "POSTGRES_PASSWORD_FILE: cannot read $POSTGRES_PASSWORD_FILE"
    password=$(<"$POSTGRES_PASSWORD_FILE")
  fi
  [ -n "$password" ] || fail 'POSTGRES_PASSWORD is empty. The first start needs it (or POSTGRES_PASSWORD_FILE): the password of the superuser, for example what "openssl rand -hex 24" prints'
  case $password in *$'\n'*) fail 'the password has more than one line' ;; esac
  printf '%s\n' "$password"
}

# The folder becomes the cluster only when it is complete, so an interrupted first start begins again.
make_cluster() {
  local password parent password_file
  password=$(superuser_password)
  parent=$(dirname "$data")
  mkdir -p "$parent" 2>/dev/null || true
  [ -w "$parent" ] || fail "cannot write to $parent: give the volume to user $(id -u)"
  [ -z "$(ls -A "$data" 2>/dev/null)" ] || fail "$data is neither empty nor a PostgreSQL cluster"
  rm -rf "$staged"
  mkdir -m 700 "$staged"

  password_file=$(mktemp)  # readable by us alone
  printf '%s\n' "$password" >"$password_file"
  initdb --pgdata="$staged" --username=postgres --pwfile="$password_file" --auth=scram-sha-256 \
    --data-checksums --locale-provider=builtin --locale=C.UTF-8 --encoding=UTF8 || { rm -f "$password_file"; fail 'initdb failed'; }
  rm -f "$password_file"

  echo 'host all all all scram-sha-256' >>"$staged/pg_hba.conf"
  printf "\n# written by the image's entrypoint at every start\ninclude 'l9-memory.conf'\n" >>"$staged/postgresql.conf"
  sync
  if [ -d "$data" ]; then rmdir "$data"; fi
  mv "$staged" "$data"
}

# Prints the value of a variable, or its default, after checking its form.
setting() {
  local name=$1 default=$2 form=$3 value
  value=${!name:-$default}
  [[ $value =~ ^$form$ ]] || fail "$name is '$value', which is not like $default"
  echo "$value"
}

write_settings() {
  local size='[0-9]+(kB|MB|GB)' buffers cache work maintenance wal connections
  buffers=$(setting POSTGRES_SHARED_BUFFERS 256MB "$size")
  cache=$(setting POSTGRES_EFFECTIVE_CACHE_SIZE 768MB "$size")
  work=$(setting POSTGRES_WORK_MEM 16MB "$size")
  maintenance=$(setting POSTGRES_MAINTENANCE_WORK_MEM 256MB "$size")
  wal=$(setting POSTGRES_MAX_WAL_SIZE 2GB "$size")
  connections=$(setting POSTGRES_MAX_CONNECTIONS 100 '[0-9]+')
  cat >"$1/l9-memory.conf" <<CONF
listen_addresses = '*'
unix_socket_directories = '/run/postgresql'
password_encryption = 'scram-sha-256'
shared_preload_libraries = 'pg_textsearch'
shared_buffers = '$buffers'
effective_cache_size = '$cache'
work_mem = '$work'
maintenance_work_mem = '$maintenance'
max_wal_size = '$wal'
max_connections = $connections
log_destination = 'stderr'
logging_collector = off
CONF
}

[ -s "$data/PG_VERSION" ] || make_cluster
write_settings "$data"
unset POSTGRES_PASSWORD POSTGRES_PASSWORD_FILE  # the server's environment holds no secret
exec postgres -D "$data" "$@"
