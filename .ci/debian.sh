# Which Debian packages docker/postgres/packages.txt lists, and where this machine gets Debian packages from. .ci/postgres and
# .ci/cluster read this file; `fail` and `here`, the folder of this file, are theirs.
packages=$here/../docker/postgres/packages.txt

# listed 'USE…': the packages with one of these uses, or the name of the suite.
listed() { awk -v kinds="$1" '!/^#/ && index(kinds, $2) { print $1 }' "$packages"; }

# The first Debian archive in the apt sources of this machine, in either of their formats.
mirror() {
  local uri
  if [ -n "${L9_CI_MIRROR:-}" ]; then echo "$L9_CI_MIRROR"; return; fi
  uri=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk '/^URIs:/ { print $2 } /^deb / { sub(/\[[^]]*\] */, ""); print $2 }' |
    grep -E '/debian/?$|^mirror[+]file:' | head -n 1) || true
  case $uri in
    mirror+file:*) uri=$(awk '!/^#/ && NF { print $1; exit }' "${uri#mirror+file:}") ;;  # as in Debian's cloud images
  esac
  [ -n "$uri" ] || fail 'no Debian archive among the apt sources; name one in L9_CI_MIRROR'
  echo "$uri"
}
