#!/usr/bin/env bash
# Makes the root file system of .build/Dockerfile's image without a registry: buildah runs the Dockerfile itself, on stand-ins for
# its two base images that are put together from Debian's packages and Node's binary out of npm. Needs root, buildah, mmdebstrap.
# Usage: .build/rootfs.sh FOLDER MIRROR   (of Debian; the folder is made; the image's configuration comes to lie beside it as FOLDER.json)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
target=$1
mirror=$2
mkdir -p "$target"

work=$(mktemp -d)
# Nothing of this host's own images is used or changed.
store=(--root "$work/store" --runroot "$work/run" --storage-driver vfs)
trap 'rm -rf "$work"' EXIT
arch=$(node -p process.arch)
bootstrap() { mmdebstrap --quiet --mode=root --keyring=/usr/share/keyrings "$@"; }

npm install --silent --no-save --ignore-scripts --prefix "$work/npm" "node-linux-$arch@24" npm@11 &
# As node:24-trixie-slim: a small Debian with Node and npm below /usr/local.
bootstrap --variant=essential --include=libstdc++6 trixie "$work/build" "$mirror" &
# As gcr.io/distroless/nodejs24-debian13:nonroot: some libraries, Node below /nodejs, and a user.
bootstrap --variant=extract --include=base-files,netbase,tzdata,ca-certificates,libc6,libgcc-s1,libgomp1,libssl3t64,libstdc++6 \
  trixie "$work/runtime" "$mirror" &
for each in $(jobs -p); do wait "$each"; done

node=$work/npm/node_modules/node-linux-$arch/bin/node
install -D "$node" "$work/build/usr/local/bin/node"
mkdir -p "$work/build/usr/local/lib/node_modules"
cp -r "$work/npm/node_modules/npm" "$work/build/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/build/usr/local/bin/npm"
# Where this host trusts certificates of its own, as behind a company's proxy, fetching packages needs them.
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -e "$certificates" ] || install -D "$certificates" "$work/build$certificates"

install -D "$node" "$work/runtime/nodejs/bin/node"
printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' >"$work/runtime/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$work/runtime/etc/group"
install -d -o 65532 -g 65532 "$work/runtime/home/nonroot"
# What a package brings for Debian's own tools is no part of such an image.
rm -rf "$work"/runtime/usr/{bin,sbin}/* "$work"/runtime/{etc/apt,var/lib/apt,var/lib/dpkg,var/cache/apt,usr/share/doc,usr/share/man}

image() {
  local made
  made=$(buildah "${store[@]}" from scratch)
  buildah "${store[@]}" add --quiet "$made" "$work/$1" / >/dev/null
  buildah "${store[@]}" config "${@:3}" "$made"
  buildah "${store[@]}" commit --quiet --rm "$made" "$2" >/dev/null
  rm -rf "${work:?}/$1"
}
image build localhost/build --env "PATH=/usr/local/bin:/usr/bin:/bin" --env "NODE_EXTRA_CA_CERTS=$certificates"
image runtime localhost/runtime --user 65532 --workingdir /home/nonroot

# Packages that this host has fetched already come from npm's cache.
cache=$(npm config get cache)
mkdir -p "$cache"
buildah "${store[@]}" bud --isolation chroot --network host --format docker --pull-never \
  --volume "$cache:/root/.npm" --build-arg BUILD_IMAGE=localhost/build --build-arg RUNTIME_IMAGE=localhost/runtime \
  --ignorefile "$root/.build/Dockerfile.dockerignore" -f "$root/.build/Dockerfile" -t localhost/helper-gateway "$root" >"$work/log" 2>&1 ||
  { grep -v "npm notice" "$work/log"; exit 1; }
buildah "${store[@]}" inspect --type image localhost/helper-gateway >"$target.json"
made=$(buildah "${store[@]}" from --pull-never localhost/helper-gateway)
cp -a "$(buildah "${store[@]}" mount "$made")/." "$target"
du -sh --apparent-size "$target" | cut -f 1
